#include "unfold/engine/layout.h"

namespace unfold {

template <class T>
Layout<T>::Layout(const Plan& plan)
    : plan_(plan),
      symbols_(plan.nodes().size()),
      predecessors_(plan.nodes().size()),
      reorder_from_(plan.nodes().size()) {
  for (Group& group : groups_) group.buffers.resize(plan.nodes().size());
}

template <class T>
bool Layout<T>::is_laid_over(const Structure& structure) const {
  if (!structure_ || structure_->kind() != structure.kind() || structure_->sequences() != structure.sequences())
    return false;
  if (structure.kind() != Structure::Kind::chains) return false;
  for (Index s = 0; s < structure.sequences(); ++s)
    if (structure_->size(s) != structure.size(s)) return false;
  return true;
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
  rows_ = structure_->positions();
  places_ = structure_->sequences();
  steps_ = order().steps();
  rectangular_ = structure_->kind() == Structure::Kind::chains && length(0) == length(places_ - 1);
  for (Group& group : groups_) group.rows = -1;
  make_room(What::value);
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i)
    if (plan_.live(i)) lay_node(i);
  return true;
}

template <class T>
void Layout<T>::lay_node(int i) {
  const Node& it = node(i);
  if (it.kind == Node::Kind::symbols || it.kind == Node::Kind::reorder) symbols_[at(i)].assign(at(rows_), kNoSymbol);
  if (it.kind == Node::Kind::reorder) {
    const auto &to = order(plan_.corner(i)), &from = order(plan_.corner(it.operands[0]));
    reorder_from_[at(i)].resize(at(rows_));
    for (Index r = 0; r < rows_; ++r) reorder_from_[at(i)][at(r)] = from.rows[at(to.items[at(r)])];
  }
  if (it.kind != Node::Kind::link) return;
  const bool shifted = it.delay.along == Delay::Along::previous;
  if (shifted && structure_->kind() == Structure::Kind::chains) return;
  std::vector<Index> found = structure_->predecessors(it.delay, plan_.corner(i));  // says what does not fit
  if (!shifted) predecessors_[at(i)] = std::move(found);
}

template <class T>
void Layout<T>::make_room(What what) {
  if (group(what).rows == rows_) return;
  allocate(what);
  group(what).rows = rows_;
}

/// Buffers of the roots: history rows first, then one row per position (adjoint rings: 1 + history steps).
template <class T>
void Layout<T>::allocate(What what) {
  auto& into = group(what).buffers;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const int root = static_cast<int>(i);
    if (!plan_.live(root) || place_of(plan_, what, root).root != root) continue;
    if (what == What::value && (node(root).kind == Node::Kind::symbols)) continue;
    if (what != What::value && !plan_.needs_adjoint(root)) continue;
    const bool ring = what == What::adjoint && plan_.adjoint_buffer(root).ring;
    const Index count = ring ? (1 + plan_.history(root)) * places_ : plan_.history(root) * places_ + rows_;
    if (into[i].size() < count * node(root).size) into[i].resize(count * node(root).size);
  }
}

template <class T>
Index Layout<T>::step_rows(Index step, Corner corner) const {
  return step < order(corner).steps() ? order(corner).step(step).size() : 0;
}

template <class T>
std::vector<std::pair<Index, Range>> Layout<T>::runs(Index shift) const {
  if (shift == 0 || rectangular_) return {{0, {0, rows_}}};
  std::vector<std::pair<Index, Range>> result;
  const auto source_rows = [&](Index step) {
    return step >= shift ? step_rows(step - shift, Corner::top_left) : places_;
  };
  Index last = steps_;
  for (Index step = steps_ - 1; step >= 0; --step) {
    // Joining `step - 1` to the run needs its source rows to end where those of `step` begin.
    if (step > 0 && source_rows(step - 1) == step_rows(step - 1, Corner::top_left)) continue;
    result.push_back({step, {first_row(step), first_row(last)}});
    last = step;
  }
  return result;
}

template <class T>
T* Layout<T>::address(What what, int i, Index step, Index row) {
  const Place here = place_of(plan_, what, i);
  if (here.scratch()) return nullptr;
  const Index width = node(here.root).size, history = plan_.history(here.root);
  T* base = buffer(what, here.root).data() + here.column;
  if (what == What::adjoint && plan_.adjoint_buffer(here.root).ring) {
    const Index within = row - first_row(step), count = 1 + history;
    const Index slot = (step - here.shift + count) % count;  // shifts reach no further than the history
    return base + (slot * places_ + within) * width;
  }
  if (here.shift > 0) {
    const Index within = row - first_row(step);
    const Index source = step >= here.shift ? first_row(step - here.shift) : (step - here.shift) * places_;
    row = source + within;
  }
  return base + (history * places_ + row) * width;
}

template <class T>
Matrix<T> Layout<T>::matrix(What what, int i, Index step, Range part) {
  return {address(what, i, step, part.begin), part.size(), node(i).size, stride(what, i)};
}

template <class T>
T* Layout<T>::history_row(What what, int i, Index steps_back, Index place) {
  const Place here = place_of(plan_, what, i);
  const Index width = node(here.root).size, history = plan_.history(here.root);
  T* base = buffer(what, here.root).data() + here.column;
  const Index count = 1 + history;
  const bool ring = what == What::adjoint && plan_.adjoint_buffer(here.root).ring;
  const Index block = ring ? ((-steps_back) % count + count) % count : history - steps_back;
  return base + (block * places_ + place) * width;
}

template <class T>
const Symbol* Layout<T>::lookup(int source) const {
  int s = source;
  while (node(s).kind == Node::Kind::reorder) s = node(s).operands[0];
  return node(s).kind == Node::Kind::symbols ? symbols_[at(source)].data() : nullptr;
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
