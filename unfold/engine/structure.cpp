#include "unfold/engine/structure.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace unfold {
void Structure::number(std::vector<Index> sizes) {
  sizes_ = std::move(sizes);
  if (sizes_.empty()) throw UsageError("structure: no sequences");
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    if (sizes_[s] < 1) throw UsageError("structure: sequence " + std::to_string(s) + " is empty");
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

/// Rows by level, within a level by place of the sequence, then by position.
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
  const std::vector<Index> lengths(at(count), length);
  return chains(lengths);
}

Structure Structure::grids(std::span<const std::pair<Index, Index>> shapes) {
  Structure result;
  result.kind_ = Kind::grids;
  result.shapes_.assign(shapes.begin(), shapes.end());
  std::vector<Index> sizes;
  for (auto [height, width] : shapes) {
    if (height < 1 || width < 1)
      throw UsageError("structure: a grid of " + std::to_string(height) + " x " + std::to_string(width));
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
        if (c < 0) continue;
        if (c >= n)
          throw UsageError(where + ": node " + std::to_string(v) + " has child " + std::to_string(c) + " of " +
                           std::to_string(n));
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
  }
  result.number(std::move(sizes));
  result.orders_.push_back(result.sort(level));
  return result;
}

const Structure::Order& Structure::order(Corner corner) const {
  return orders_[kind_ == Kind::grids ? static_cast<std::size_t>(corner) : 0];
}

Index Structure::predecessor(const Delay& delay, Index sequence, Index position) const {
  using Along = Delay::Along;
  const bool on_grid = delay.along == Along::left || delay.along == Along::up || delay.along == Along::right ||
                       delay.along == Along::down;
  const bool on_chain = delay.along == Along::previous || delay.along == Along::next || delay.to_end();
  const bool fits = kind_ == Kind::chains ? on_chain : kind_ == Kind::grids ? on_grid : delay.along == Along::child;
  if (!fits) {
    static constexpr const char* kKinds[] = {"chains", "grids", "trees"};
    throw UsageError("structure: " + std::string(kKinds[static_cast<int>(kind_)]) + " have no neighbours along " +
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
  std::vector<Index> result(at(positions_));
  for (Index row = 0; row < positions_; ++row) {
    const Index i = rows.items[at(row)], s = sequence_of_item(i), p = i - first_item_[at(s)];
    const Index before = predecessor(delay, s, p);
    result[at(row)] = before < 0 ? -1 : rows.rows[at(item(s, before))];
  }
  return result;
}

}  // namespace unfold
