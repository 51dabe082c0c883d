/// The backward pass: adjoints of all signals in the reverse order of the plan, then the weight gradients, batched over
/// all positions.

#include <algorithm>

#include "graph/engine/passes.h"

namespace unfold {

template <class T>
void BackwardPass<T>::run(Member& me, T* gradient) {
  using Form = typename PackedWeights<T>::Form;
  parts_.weights.pack(me, squared_ ? Form::squared : Form::transposed, parameters(), parameters().flat().data(),
                      schedule_.account());
  prepare(me);
  if (options_.done != nullptr && me.id() == 0) (*options_.done)(static_cast<int>(plan_.segments().size()));
  for (std::size_t g = plan_.segments().size(); g-- > 0;) {
    const auto run = [&](std::size_t index, const Work& work) { run_item(g, index, work); };
    const auto begin_step = [&](Index step, Division how) { clear_tails(me, g, step, how); };
    if (parts_.chains.run(g, layout_.structure())) {
      clear_tails(me, g, layout_.steps(segment(g).part) - 1, Division::rows);
      ChainPass<T>(parts_, g).backward(me, squared_);
    } else if (segment(g).loop) {
      schedule_.walk_timed(me, g, Pass::backward, run, begin_step);
    } else {
      schedule_.walk_batched(me, segment(g), true, run);
    }
    if (options_.weights && options_.done != nullptr) {
      schedule_.sync(me);
      weights(me, gradient, static_cast<int>(g));
      schedule_.sync(me);
      if (me.id() == 0) (*options_.done)(static_cast<int>(g));
    }
  }
  if (options_.weights && options_.done == nullptr) weights(me, gradient, GradientPass<T>::kAll);
  schedule_.sync(me);
  if (me.id() == 0) parts_.boundary.initial_gradients(parameters(), gradient, options_.accumulate, false);
}

template <class T>
void BackwardPass<T>::weights(Member& me, T* gradient, int after) {
  const StageTimer timer(schedule_.account(), me.id(), Stage::deferred);
  GradientPass<T>(parts_, options_).run(me, gradient, after);
}

/// Zeroes the buffers that are accumulated into, and passes on the adjoints of the carried state that no step of this
/// window sets.
template <class T>
void BackwardPass<T>::prepare(Member& me) {
  const auto& outputs = plan_.outputs();
  for (int root = 0; root < static_cast<int>(plan_.nodes().size()); ++root) {
    const AdjointBuffer& buffer = plan_.adjoint_buffer(root);
    if (!buffer.exists) continue;
    const bool seeded = std::find(outputs.begin(), outputs.end(), root) != outputs.end();
    const Index n = node(root).size, history = plan_.history(root) * layout_.places(node(root).part);
    if (layout_.is_bound(What::adjoint, root)) {  // bound rows have no history
      const Matrix<T> bound = layout_.matrix(What::adjoint, root);
      const Range rows = me.share(buffer.zeroed ? bound.rows : 0);
      for (Index r = rows.begin; r < rows.end; ++r) std::fill_n(bound.row(r), n, T{0});
      continue;
    }
    const Index zeroed = buffer.zeroed ? (history + layout_.rows(node(root).part)) * n : seeded ? history * n : 0;
    const Range mine = me.share(zeroed, 64);
    T* data = layout_.buffer(What::adjoint, root).data();
    std::fill(data + mine.begin, data + mine.end, T{0});
  }
  me.sync();
  if (me.id() == 0) parts_.boundary.load_adjoints(end_);
  me.sync();
}

/// Initializes the rows of this step that no later step of the window writes to, with zero or the adjoints from a later
/// window.
template <class T>
void BackwardPass<T>::clear_tails(Member& me, std::size_t g, Index step, Division how) {
  const Corner corner = segment(g).corner;
  const int part = segment(g).part;
  bool any = false;
  for (int root : schedule_.tail_roots(g)) {
    const Index first = layout_.step_rows(step + plan_.adjoint_buffer(root).tail, corner, part);
    const Index last = layout_.step_rows(step, corner, part);
    if (first >= last) continue;
    any = true;
    Range places{first, last}, columns{0, node(root).size};
    if (by_columns(how))
      columns = me.share(columns.size(), how == Division::units ? Work::kUnitGrain : 16);
    else if (how == Division::rows && me.size() > 1)
      places = {std::max(first, schedule_.my_places(me, part).begin),
                std::min(last, schedule_.my_places(me, part).end)};
    start_tail(root, step, corner, places, columns);
  }
  if (any && how == Division::columns) me.sync();
}

template <class T>
void BackwardPass<T>::start_tail(int root, Index step, Corner corner, Range places, Range columns) {
  const Index n = node(root).size;
  const int part = node(root).part;
  const auto carried = std::find_if(plan_.carried().begin(), plan_.carried().end(),
                                    [&](const Plan::Carried& c) { return c.source == root; });
  for (Index p = places.begin; p < places.end; ++p) {
    T* row = layout_.address(What::adjoint, root, step, layout_.first_row(step, corner, part) + p);
    const Index back = layout_.length(p, part) - step;
    if (end_ != nullptr && part == 0) {
      const T* from = end_->row(layout_.slot(p)) + carried->offset + (back - 1) * n;
      std::copy(from + columns.begin, from + columns.end, row + columns.begin);
    } else {
      std::fill(row + columns.begin, row + columns.end, T{0});
    }
  }
}

template <class T>
void BackwardPass<T>::run_item(std::size_t g, std::size_t index, const Work& work) {
  const Item& item = segment(g).items[index];
  const StageTimer timer(schedule_.account(), work.member->id(), stage_of(segment(g), item));
  switch (item.kind) {
    case Item::Kind::pointwise: return run_program(parts_.programs.backward(g, index, squared_), work);
    case Item::Kind::affine:
      return for_each_active_range(node(item.node), work, [&](const Work& run, bool awake) {
        awake ? affine(segment(g), item, run) : leave_out(item, run);
      });
    case Item::Kind::gather:
      if (plan_.needs_adjoint(item.node)) LinkPass<T>(parts_).scatter(item.node, segment(g).loop, work);
      return;
    case Item::Kind::reorder: return LinkPass<T>(parts_).reorder_back(item.node, item.adjoint_sets, work);
    case Item::Kind::mask: return;
  }
}

template <class T>
void BackwardPass<T>::affine(const Segment& in, const Item& item, const Work& work) {
  using Form = typename PackedWeights<T>::Form;
  const bool whole = is_whole(item, work);
  if (whole && work.by_columns && work.member->id() != 0) return;
  const Matrix<const T> dz = matrix(What::adjoint, item.node, work);
  for (auto part = item.parts.rbegin(); part != item.parts.rend(); ++part) {
    const auto& t = term_of(item, *part);
    if (is_leaf_step(in, work, t)) continue;  // no reader needs the adjoints of absent children
    const bool moves = plan_.needs_adjoint(t.source);
    if (!moves && (t.keys < 0 || !(plan_.needs_adjoint(t.keys) || plan_.needs_adjoint(t.values)))) continue;
    const Matrix<T> dx = moves ? matrix(What::adjoint, t.source, work) : Matrix<T>{};
    if (!t.dense()) {
      t.op->transposed(with_adjoints(t, operator_rows(t, work)), dz, dx, part->adjoint_sets, squared_);
      continue;
    }
    const auto& w = parts_.weights(squared_ ? Form::squared : Form::transposed, t.parameter);
    multiply<T>(dz, w, dx, whole ? Panels{Range{0, w.panels()}} : work.panels(w.n(), PackedMatrix<T>::kPanel),
                part->adjoint_sets ? Start::zero : Start::accumulate);
  }
}

/// Rows at which an affine map is not computed contribute no adjoint.
template <class T>
void BackwardPass<T>::leave_out(const Item& item, const Work& work) {
  for (const auto& part : item.parts) {
    const int source = term_of(item, part).source;
    if (part.adjoint_sets && plan_.needs_adjoint(source))
      start_panels<T>(matrix(What::adjoint, source, work), work.panels(node(source).size, PackedMatrix<T>::kPanel),
                      Start::zero, nullptr);
  }
}

template class BackwardPass<float>;
template class BackwardPass<double>;

}  // namespace unfold
