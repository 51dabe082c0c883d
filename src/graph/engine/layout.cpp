#include "unfold/graph/engine/layout.h"

#include <algorithm>

namespace unfold {

template <class T>
Layout<T>::Layout(const Plan& plan)
    : plan_(plan),
      symbols_(plan.nodes().size()),
      predecessors_(plan.nodes().size()),
      reorder_from_(plan.nodes().size()) {
  for (Group& group : groups_) {
    group.buffers.resize(plan.nodes().size());
    for (const Node& node : plan.nodes()) group.memory.push_back({.stride = node.size});
    group.bound.resize(plan.nodes().size());
  }
  for (std::size_t i = 0; i < plan.nodes().size(); ++i)
    if (plan.live(static_cast<int>(i))) parts_ = std::max(parts_, plan.nodes()[i].part + 1);
}

template <class T>
bool Layout<T>::is_laid_over(const Structure& structure) const {
  return structure_ != nullptr && structure_->same_layout(structure);
}

template <class T>
bool Layout<T>::lay(const Structure& structure, std::span<const Index> slots) {
  const bool unchanged = is_laid_over(structure);
  if (!unchanged) structure_ = std::make_unique<Structure>(structure);
  slots_.resize(at(structure_->sequences()));
  for (Index p = 0; p < structure_->sequences(); ++p) {
    const Index s = structure_->sequence_at(p);
    slots_[at(p)] = slots.empty() ? s : slots[at(s)];
  }
  if (unchanged) return false;
  lay_levels();
  for (Group& group : groups_) group.roomy = false;
  make_room(What::value);
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i)
    if (plan_.live(i)) lay_node(i);
  return true;
}

template <class T>
void Layout<T>::lay_levels() {
  levels_.clear();
  longest_source_ = 0;
  for (int p = 0; p < parts_; ++p) {
    const Structure& s = structure_->part(p);
    Level& level =
        levels_.emplace_back(Level{&s, s.positions(), s.sequences(), s.order().steps(), s.rectangular(), {}, {}, {}});
    for (int deeper = p + 1; deeper < parts_; ++deeper) level.seen.push_back(s.source_chains(deeper - p));
    if (p == 0) continue;
    level.chain_begin = {0};
    for (Index chain = 0; chain < s.sequences(); ++chain) {
      longest_source_ = std::max(longest_source_, s.size(chain));
      for (Index t = 0; t < s.size(chain); ++t) level.chain_rows.push_back(s.row(chain, t));
      level.chain_begin.push_back(static_cast<Index>(level.chain_rows.size()));
    }
  }
}

template <class T>
MemoryRows<T> Layout<T>::memory_of(int part, const Node::AffineTerm& term, Index row) const {
  const int deeper = node(term.keys).part;
  const Level& of = level(deeper);
  return {.chain = level(part).seen[at(deeper - part - 1)].data() + row,
          .chain_begin = of.chain_begin.data(),
          .rows = of.chain_rows.data()};
}

template <class T>
void Layout<T>::lay_node(int i) {
  const Node& it = node(i);
  const Index rows = this->rows(it.part);
  if (it.kind() == Node::Kind::symbols || it.kind() == Node::Kind::reorder) symbols_[at(i)].assign(at(rows), kNoSymbol);
  if (it.kind() == Node::Kind::reorder) {
    const auto &to = order(plan_.corner(i), it.part), &from = order(plan_.corner(it.reorder().operand), it.part);
    reorder_from_[at(i)].resize(at(rows));
    for (Index r = 0; r < rows; ++r) reorder_from_[at(i)][at(r)] = from.rows[at(to.items[at(r)])];
  }
  if (it.kind() != Node::Kind::link) return;
  const Delay& delay = it.link().delay;
  const bool shifted = delay.along == Delay::Along::previous;
  const Structure& own = structure(it.part);
  if (shifted && own.kind() == Structure::Kind::chains) return;
  // `predecessors` throws if the sources do not match the delay.
  std::vector<Index> found = delay.crosses() ? own.rows_seen(delay, part(it.link().source) - it.part)
                                             : own.predecessors(delay, plan_.corner(i));
  if (!shifted) predecessors_[at(i)] = std::move(found);
}

template <class T>
void Layout<T>::make_room(What what) {
  if (group(what).roomy) return;
  allocate(what);
  group(what).roomy = true;
}

/// Returns whether a root has a buffer.
template <class T>
bool Layout<T>::is_stored(What what, int root) const {
  if (!plan_.live(root) || position_in_total(plan_, what, root).root != root) return false;
  return what == What::value ? node(root).kind() != Node::Kind::symbols : plan_.needs_adjoint(root);
}

/// Allocates the buffers of the roots: history rows first, then one row per position (adjoint rings: 1 + history
/// steps).
template <class T>
void Layout<T>::allocate(What what) {
  auto& into = group(what).buffers;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const int root = static_cast<int>(i);
    if (!is_stored(what, root)) continue;
    const Index width = node(root).size, history = history_rows(root);
    if (is_bound(what, root) || (what == What::value && outside_)) {
      memory(what, root) = {.stride = width};
      continue;
    }
    const bool ring = what == What::adjoint && plan_.adjoint_buffer(root).ring;
    const Index count = ring ? history + places(part(root)) : history + rows(part(root));
    if (into[i].size() < count * width) into[i].resize(count * width);
    T* const first = into[i].data() + (ring ? 0 : history * width);
    memory(what, root) = {first, first, width};
  }
}

template <class T>
bool Layout<T>::can_bind(What what, int i) const {
  const Place& place = position_in_total(plan_, what, i);
  if (place.scratch() || place.column != 0 || place.shift != 0 || node(place.root).size != node(i).size) return false;
  if (what == What::value) return node(place.root).kind() != Node::Kind::input || plan_.history(place.root) == 0;
  if (plan_.history(place.root) > 0 || plan_.adjoint_buffer(place.root).ring) return false;
  return node(i).kind() == Node::Kind::input || !is_read(i);  // readers would add to the caller's seed
}

/// Returns whether another node reads a node.
template <class T>
bool Layout<T>::is_read(int i) const {
  for (int reader = 0; reader < static_cast<int>(plan_.nodes().size()); ++reader)
    if (plan_.live(reader) && std::ranges::count(node(reader).reads(), i) > 0) return true;
  return false;
}

template <class T>
void Layout<T>::bind(What what, int i, Matrix<T> rows) {
  const int root = position_in_total(plan_, what, i).root;
  Buffer<T>& own = group(what).buffers[at(root)];
  const Index history = what == What::value ? history_rows(root) * rows.stride : 0;
  group(what).bound[at(root)] = 1;
  if (outside_ && what == What::value) {  // bind_outside places the history
    memory(what, root) = {rows.data, memory(what, root).history, rows.stride};
    return;
  }
  if (own.size() < history || history == 0) own.resize(history);
  memory(what, root) = {rows.data, history > 0 ? own.data() + history : rows.data, rows.stride};
}

template <class T>
void Layout<T>::keep_values_outside(bool outside) {
  if (std::exchange(outside_, outside) == outside) return;
  group(What::value).roomy = false;
  if (!laid()) return;
  if (outside)
    for (Buffer<T>& own : group(What::value).buffers) own.resize(0);
  make_room(What::value);
}

namespace {

constexpr Index kLine = 16;  ///< number of elements to which the parts of a block are aligned

Index whole_lines(Index numbers) { return (numbers + kLine - 1) / kLine * kLine; }

}  // namespace

/// For bound roots, the block contains only their history.
template <class T>
Index Layout<T>::outside_numbers() const {
  Index numbers = 0;
  for (int root = 0; root < static_cast<int>(plan_.nodes().size()); ++root) {
    if (!is_stored(What::value, root)) continue;
    const Index rows = history_rows(root) + (is_bound(What::value, root) ? 0 : this->rows(part(root)));
    numbers += whole_lines(rows * memory(What::value, root).stride);
  }
  return numbers;
}

template <class T>
void Layout<T>::bind_outside(T* block) {
  for (int root = 0; root < static_cast<int>(plan_.nodes().size()); ++root) {
    if (!is_stored(What::value, root)) continue;
    Memory& m = memory(What::value, root);
    const Index history = history_rows(root) * m.stride;
    const bool bound = is_bound(What::value, root);
    m.history = bound && history == 0 ? m.rows : block + history;
    if (!bound) m.rows = m.history;
    block += whole_lines(history + (bound ? 0 : rows(part(root)) * m.stride));
  }
}

template <class T>
bool Layout<T>::is_complete(What what) const {
  for (int root = 0; root < static_cast<int>(plan_.nodes().size()); ++root)
    if (is_stored(what, root) && (memory(what, root).rows == nullptr || memory(what, root).history == nullptr))
      return false;
  return true;
}

template <class T>
Index Layout<T>::step_rows(Index step, Corner corner, int part) const {
  return step < order(corner, part).steps() ? order(corner, part).step(step).size() : 0;
}

template <class T>
std::vector<std::pair<Index, Range>> Layout<T>::runs(const Place& place, int part) const {
  const Index shift = place.shift;
  const bool contiguous = place.scratch() || is_contiguous(place.root);
  if (shift == 0 || (rectangular(part) && contiguous)) return {{0, {0, rows(part)}}};
  std::vector<std::pair<Index, Range>> result;
  const auto source_rows = [&](Index step) {
    return step >= shift ? step_rows(step - shift, Corner::top_left, part) : places(part);
  };
  const auto begin = [&](Index step) { return first_row(step, Corner::top_left, part); };
  Index last = steps(part);
  for (Index step = last - 1; step >= 0; --step) {
    // `step - 1` can join the group only if its source rows end where those of `step` begin.
    if (step > 0 && source_rows(step - 1) == step_rows(step - 1, Corner::top_left, part) &&
        (contiguous || step != shift))
      continue;
    result.push_back({step, {begin(step), begin(last)}});
    last = step;
  }
  return result;
}

template <class T>
T* Layout<T>::address(What what, const Place& here, Index step, Index row) {
  if (here.scratch()) return nullptr;
  const Memory& m = memory(what, here.root);
  const Index places = this->places(part(here.root));
  const auto begin = [&](Index s) { return first_row(s, Corner::top_left, part(here.root)); };
  if (what == What::adjoint && plan_.adjoint_buffer(here.root).ring) {
    const Index within = row - begin(step), count = 1 + plan_.history(here.root);
    const Index from = step - here.shift + count;  // shifts do not exceed the history
    const Index slot = count <= 2 ? from & (count - 1) : from % count;
    return m.rows + here.column + (slot * places + within) * m.stride;
  }
  if (here.shift > 0) {
    const Index within = row - begin(step);
    const Index source = step >= here.shift ? begin(step - here.shift) : (step - here.shift) * places;
    row = source + within;
  }
  return (row < 0 ? m.history : m.rows) + here.column + row * m.stride;
}

template <class T>
Matrix<T> Layout<T>::matrix(What what, int i, Index step, Range part) {
  return {address(what, i, step, part.begin), part.size(), node(i).size, stride(what, i)};
}

template <class T>
T* Layout<T>::history_row(What what, int i, Index steps_back, Index place) {
  const Place here = position_in_total(plan_, what, i);
  const Memory& m = memory(what, here.root);
  const Index count = 1 + plan_.history(here.root);
  const bool ring = what == What::adjoint && plan_.adjoint_buffer(here.root).ring;
  const Index block = ring ? ((-steps_back) % count + count) % count : -steps_back;
  return (ring ? m.rows : m.history) + here.column + (block * places(part(i)) + place) * m.stride;
}

template <class T>
const Symbol* Layout<T>::lookup(int source) const {
  return plan_.is_symbols(source) ? symbols_[at(source)].data() : nullptr;
}

template <class T>
std::size_t Layout<T>::memory_bytes() const {
  Index numbers = 0;
  for (const Group& group : groups_)
    for (const auto& buffer : group.buffers) numbers += buffer.size();
  return at(numbers) * sizeof(T);
}

template class Layout<float>;
template class Layout<double>;

}  // namespace unfold
