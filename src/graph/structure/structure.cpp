#include "unfold/graph/structure/structure.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace unfold {
namespace {

/// Maximum number of positions for which row numbers and buffer sizes can be computed without overflow.
constexpr Index kMostPositions = Index{1} << 40;

}  // namespace

void Structure::number(std::vector<Index> sizes) {
  sizes_ = std::move(sizes);
  if (sizes_.empty()) throw UsageError("structure: there are no sequences; at least one is needed");
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    if (sizes_[s] < 1) throw UsageError("structure: sequence " + std::to_string(s) + " is empty");
    if (sizes_[s] > kMostPositions - positions_)
      throw UsageError("structure: more than 2^40 positions in total, from sequence " + std::to_string(s) + " on");
    first_item_.push_back(positions_);
    positions_ += sizes_[s];
    sequence_of_.insert(sequence_of_.end(), at(sizes_[s]), static_cast<Index>(s));
  }
  at_place_.resize(sizes_.size());
  std::iota(at_place_.begin(), at_place_.end(), 0);
  std::stable_sort(at_place_.begin(), at_place_.end(), [&](Index a, Index b) { return sizes_[at(a)] > sizes_[at(b)]; });
  place_.resize(sizes_.size());
  for (std::size_t p = 0; p < at_place_.size(); ++p) place_[at(at_place_[p])] = static_cast<Index>(p);
}

/// Sorts rows by level, then by the rank of the sequence, then by position.
Structure::Order Structure::sort(const std::vector<Index>& level) const {
  const Index levels = 1 + *std::max_element(level.begin(), level.end());
  Order order;
  order.step_begin.assign(at(levels + 1), 0);
  for (Index l : level) ++order.step_begin[at(l + 1)];
  for (Index l = 0; l < levels; ++l) order.step_begin[at(l + 1)] += order.step_begin[at(l)];
  std::vector<Index> next(order.step_begin.begin(), order.step_begin.end() - 1);
  order.rows.resize(at(positions_));
  order.items.resize(at(positions_));
  for (Index place = 0; place < sequences(); ++place) {
    const Index s = sequence_at(place);
    for (Index p = 0; p < size(s); ++p) {
      const Index i = item(s, p), row = next[at(level[at(i)])]++;
      order.rows[at(i)] = row;
      order.items[at(row)] = i;
    }
  }
  return order;
}

Structure Structure::chains(std::span<const Index> lengths) {
  Structure result;
  result.kind_ = Kind::chains;
  result.number({lengths.begin(), lengths.end()});
  std::vector<Index> level;
  for (Index length : lengths)
    for (Index t = 0; t < length; ++t) level.push_back(t);
  result.orders_.push_back(result.sort(level));
  return result;
}

Structure Structure::chains(Index count, Index length) {
  if (count < 1 || count > kMostPositions)
    throw UsageError("structure: " + std::to_string(count) + " chains; there must be between 1 and 2^40");
  const std::vector<Index> lengths(at(count), length);
  return chains(lengths);
}

Structure Structure::grids(std::span<const std::pair<Index, Index>> shapes) {
  Structure result;
  result.kind_ = Kind::grids;
  result.shapes_.assign(shapes.begin(), shapes.end());
  std::vector<Index> sizes;
  for (auto [height, width] : shapes) {
    if (height < 1 || width < 1 || height > kMostPositions / width)
      throw UsageError("structure: a grid of " + std::to_string(height) + " x " + std::to_string(width) +
                       " positions is not supported; both sides must be at least 1, with at most 2^40 positions");
    sizes.push_back(height * width);
  }
  result.number(std::move(sizes));
  for (int corner = 0; corner < 4; ++corner) {
    std::vector<Index> level;
    for (auto [height, width] : shapes)
      for (Index i = 0; i < height; ++i)
        for (Index j = 0; j < width; ++j)
          level.push_back((corner & 2 ? height - 1 - i : i) + (corner & 1 ? width - 1 - j : j));
    result.orders_.push_back(result.sort(level));
  }
  return result;
}

Structure Structure::grids(std::span<const std::pair<Index, Index>> shapes, std::span<const Index> sides) {
  Structure result = grids(shapes);
  for (const Index side : sides) {
    if (side < 1) throw UsageError("structure: blocks of side " + std::to_string(side) + "; it must be at least 1");
    if (side == 1) continue;
    std::vector<std::pair<Index, Index>> coarse = result.shapes_;
    for (auto& [height, width] : coarse) height = (height + side - 1) / side, width = (width + side - 1) / side;
    result = grids(coarse).with_source(std::move(result));
  }
  return result;
}

Structure Structure::trees(std::span<const Tree> trees) {
  Structure result;
  result.kind_ = Kind::trees;
  result.trees_.assign(trees.begin(), trees.end());
  std::vector<Index> sizes, level;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const auto& children = trees[t].children;
    const auto n = static_cast<Index>(children.size());
    const std::string where = "structure: tree " + std::to_string(t);
    std::vector<Index> parent(at(n), -1), height(at(n), 0), pending(at(n), 0), ready;
    for (Index v = 0; v < n; ++v)
      for (Index c : children[at(v)]) {
        if (c == -1) continue;
        if (c < 0 || c >= n)
          throw UsageError(where + ": node " + std::to_string(v) + " has child " + std::to_string(c) +
                           ", but the tree has " + std::to_string(n) + " nodes");
        if (parent[at(c)] >= 0) throw UsageError(where + ": node " + std::to_string(c) + " has two parents");
        parent[at(c)] = v;
        ++pending[at(v)];
      }
    for (Index v = 0; v < n; ++v)
      if (pending[at(v)] == 0) ready.push_back(v);
    for (std::size_t k = 0; k < ready.size(); ++k) {
      const Index p = parent[at(ready[k])];
      if (p < 0) continue;
      height[at(p)] = std::max(height[at(p)], height[at(ready[k])] + 1);
      if (--pending[at(p)] == 0) ready.push_back(p);
    }
    if (static_cast<Index>(ready.size()) != n) throw UsageError(where + " has a cycle");
    sizes.push_back(n);
    level.insert(level.end(), height.begin(), height.end());
    result.parents_.insert(result.parents_.end(), parent.begin(), parent.end());
  }
  result.number(std::move(sizes));
  result.orders_.push_back(result.sort(level));
  result.number_children();
  return result;
}

void Structure::number_children() {
  child_begin_ = {0};
  child_begin_.reserve(at(positions_ + 1));
  for (Index row = 0; row < positions_; ++row) {
    const Index i = order().items[at(row)], s = sequence_of_item(i);
    for (const Index child : trees_[at(s)].children[at(i - first_item_[at(s)])])
      child_rows_.push_back(child < 0 ? -1 : order().rows[at(item(s, child))]);
    child_begin_.push_back(static_cast<Index>(child_rows_.size()));
  }
}

const Structure::Order& Structure::order(Corner corner) const {
  return orders_[kind_ == Kind::grids ? static_cast<std::size_t>(corner) : 0];
}

Index Structure::predecessor(const Delay& delay, Index sequence, Index position) const {
  using Along = Delay::Along;
  const bool on_grid = delay.along == Along::left || delay.along == Along::up || delay.along == Along::right ||
                       delay.along == Along::down;
  const bool on_chain = delay.along == Along::previous || delay.along == Along::next || delay.to_end();
  const bool in_tree = delay.reads_children() || delay.along == Along::parent;
  if (delay.crosses()) throw UsageError("structure: " + describe(delay) + " refers to the source; use rows_seen");
  const bool fits = kind_ == Kind::chains ? on_chain : kind_ == Kind::grids ? on_grid : in_tree;
  if (!fits) {
    static constexpr const char* kKinds[] = {"chains", "grids", "trees"};
    throw UsageError("structure: " + std::string(kKinds[static_cast<int>(kind_)]) + " have no neighbors along " +
                     describe(delay));
  }
  const Index k = delay.steps;
  switch (delay.along) {
    case Along::previous: return position >= k ? position - k : -1;
    case Along::next: return position + k < size(sequence) ? position + k : -1;
    case Along::first: return 0;
    case Along::last: return size(sequence) - 1;
    case Along::child: {
      const auto& children = trees_[at(sequence)].children[at(position)];
      return k < static_cast<Index>(children.size()) ? children[at(k)] : -1;
    }
    case Along::children:
    case Along::each_child: {
      const auto& children = trees_[at(sequence)].children[at(position)];
      const auto first = std::find_if(children.begin(), children.end(), [](Index child) { return child >= 0; });
      return first == children.end() ? -1 : *first;
    }
    case Along::parent: return parents_[at(item(sequence, position))];
    default: break;
  }
  const auto [height, width] = shapes_[at(sequence)];
  const Index i = position / width, j = position % width;
  switch (delay.along) {
    case Along::left: return j >= k ? position - k : -1;
    case Along::right: return j + k < width ? position + k : -1;
    case Along::up: return i >= k ? position - k * width : -1;
    default: return i + k < height ? position + k * width : -1;
  }
}

std::vector<Index> Structure::predecessors(const Delay& delay, Corner corner) const {
  const Order& rows = order(corner);
  if (delay.steps < (delay.along == Delay::Along::child ? 0 : 1))
    throw UsageError("structure: " + describe(delay) + " needs a number of steps of at least " +
                     (delay.along == Delay::Along::child ? "0" : "1"));
  std::vector<Index> result(at(positions_));
  for (Index row = 0; row < positions_; ++row) {
    const Index i = rows.items[at(row)], s = sequence_of_item(i), p = i - first_item_[at(s)];
    const Index before = predecessor(delay, s, p);
    result[at(row)] = before < 0 ? -1 : rows.rows[at(item(s, before))];
  }
  return result;
}

Structure Structure::with_source(Structure source, std::vector<Index> chains) const {
  if (kind_ != source.kind_ || kind_ == Kind::trees)
    throw UsageError("structure: only chains can refer to chains of a source, and only grids to grids");
  const auto given = static_cast<Index>(chains.size());
  if (given != sequences() && given != positions_)
    throw UsageError("structure: " + std::to_string(given) + " chain references do not match " +
                     std::to_string(sequences()) + " sequences and " + std::to_string(positions_) + " positions");
  for (const Index c : chains)
    if (c < 0 || c >= source.sequences())
      throw UsageError("structure: there is no chain " + std::to_string(c) + " among the " +
                       std::to_string(source.sequences()) + " of the source");
  Structure result = *this;
  result.chain_of_.resize(at(positions_));
  const bool by_sequence = given == sequences();
  for (Index i = 0; i < positions_; ++i) result.chain_of_[at(i)] = chains[at(by_sequence ? sequence_of_item(i) : i)];
  result.source_ = std::make_shared<const Structure>(std::move(source));
  return result;
}

Structure Structure::with_source(Structure source) const {
  std::vector<Index> chains(at(sequences()));
  std::iota(chains.begin(), chains.end(), Index{0});
  return with_source(std::move(source), std::move(chains));
}

const Structure& Structure::part(int depth) const {
  if (depth == 0) return *this;
  if (source_ == nullptr || depth < 0)
    throw UsageError("structure: the circuit has a part over a source, but the chains have no source");
  return source_->part(depth - 1);
}

std::vector<Index> Structure::source_chains(int depth) const {
  std::vector<Index> seen(at(positions_));
  for (Index row = 0; row < positions_; ++row) {
    const Structure* here = this;
    Index item = order().items[at(row)], chain = sequence_of_item(item);
    for (int d = 0; d < depth; ++d) {
      part(depth);  // throws if the part does not exist
      chain = here->chain_of_[at(item)];
      here = here->source_.get();
      item = here->item(chain, 0);  // continue with the chain that the first position of this chain refers to
    }
    seen[at(row)] = chain;
  }
  return seen;
}

std::vector<Index> Structure::rows_seen(const Delay& delay, int depth) const {
  if (delay.along == Delay::Along::block) return block_rows(delay.steps, depth);
  const Structure& from = part(depth);
  if (from.kind_ != Kind::chains)
    throw UsageError("structure: grids have no ends, so they do not support links along " + describe(delay) +
                     "; use block");
  std::vector<Index> rows = source_chains(depth);
  for (Index row = 0; row < positions_; ++row) {
    const Index chain = rows[at(row)], item = order().items[at(row)];
    const bool first = item == this->item(sequence_of_item(item), 0);
    const Index position = delay.along == Delay::Along::source_first ? 0 : from.size(chain) - 1;
    rows[at(row)] = delay.along == Delay::Along::source_start && !first ? -1 : from.row(chain, position);
  }
  return rows;
}

std::vector<Index> Structure::block_rows(Index side, int depth) const {
  if (side < 1) throw UsageError("structure: blocks of side " + std::to_string(side) + "; it must be at least 1");
  const Structure& from = part(depth);
  if (kind_ != Kind::grids || from.kind_ != Kind::grids)
    throw UsageError("structure: " + describe(Delay::block(side)) + " requires grids");
  const std::vector<Index> seen = source_chains(depth);
  std::vector<Index> rows;
  rows.reserve(at(positions_ * side * side));
  for (Index row = 0; row < positions_; ++row) {
    const Index i = order().items[at(row)], s = sequence_of_item(i), p = i - first_item_[at(s)], grid = seen[at(row)];
    const auto [height, width] = shapes_[at(s)];
    const auto [fine_height, fine_width] = from.shapes_[at(grid)];
    if ((fine_height + side - 1) / side != height || (fine_width + side - 1) / side != width)
      throw UsageError("structure: a grid of " + std::to_string(height) + " x " + std::to_string(width) +
                       " does not match blocks of side " + std::to_string(side) + " of a grid of " +
                       std::to_string(fine_height) + " x " + std::to_string(fine_width));
    for (Index a = p / width * side, last = a + side; a < last; ++a)
      for (Index b = p % width * side, end = b + side; b < end; ++b)
        rows.push_back(a < fine_height && b < fine_width ? from.row(grid, a * fine_width + b) : -1);
  }
  return rows;
}

bool Structure::shares_sources() const {
  if (source_ == nullptr) return false;
  std::vector<Index> by(at(source_->sequences()), -1);
  for (Index i = 0; i < positions_; ++i) {
    Index& sequence = by[at(chain_of_[at(i)])];
    if (sequence >= 0 && sequence != sequence_of_item(i)) return true;
    sequence = sequence_of_item(i);
  }
  return source_->shares_sources();
}

bool Structure::same_layout(const Structure& other) const {
  if (kind_ == Kind::trees || kind_ != other.kind_ || sizes_ != other.sizes_ || shapes_ != other.shapes_) return false;
  if ((source_ == nullptr) != (other.source_ == nullptr) || chain_of_ != other.chain_of_) return false;
  return source_ == nullptr || source_ == other.source_ || source_->same_layout(*other.source_);
}

}  // namespace unfold
