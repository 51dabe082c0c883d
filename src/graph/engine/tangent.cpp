/// The tangent pass: the derivative of every signal in a parameter direction, in the order of the plan.

#include <algorithm>

#include "graph/engine/passes.h"

namespace unfold {

template <class T>
void TangentPass<T>::run(Member& me) {
  using Form = typename PackedWeights<T>::Form;
  PackedWeights<T>& weights = parts_.weights;
  weights.pack(me, Form::plain, parameters(), parameters().flat().data(), schedule_.account());
  if (me.id() == 0) weights.mark_direction_changed();
  me.sync();
  weights.pack(me, Form::direction, parameters(), direction_, schedule_.account());
  if (me.id() == 0) parts_.boundary.load_tangents(parameters(), direction_, state_);
  me.sync();
  for (std::size_t g = 0; g < plan_.segments().size(); ++g) {
    const auto run = [&](std::size_t index, const Work& work) { run_item(g, index, work); };
    if (segment(g).loop)
      schedule_.walk_loop(me, segment(g), schedule_.division(segment(g)), false, run, [](Index, Division) {});
    else
      schedule_.walk_batched(me, segment(g), false, run);
  }
}

template <class T>
void TangentPass<T>::run_item(std::size_t g, std::size_t index, const Work& work) {
  const Item& item = segment(g).items[index];
  switch (item.kind) {
    case Item::Kind::affine:
      return for_each_active_range(node(item.node), work, [&](const Work& run, bool awake) {
        awake ? affine(item, run) : leave_out(item, run);
      });
    case Item::Kind::pointwise: return run_program(parts_.programs.tangent(g, index), work);
    case Item::Kind::gather: {
      if (!plan_.needs_adjoint(item.node)) return;
      const int initial = node(item.node).link().initial;
      const T* beyond = initial >= 0 ? moved(initial).data : nullptr;
      return LinkPass<T>(parts_).gather(What::tangent, item.node, work, beyond);
    }
    case Item::Kind::reorder:
      if (plan_.needs_adjoint(item.node)) LinkPass<T>(parts_).reorder(What::tangent, item.node, work);
      return;
    case Item::Kind::mask: return;
  }
}

template <class T>
Matrix<const T> TangentPass<T>::tangent_of(int source, const Work& work) {
  if (!plan_.needs_adjoint(source)) return {};
  return matrix(What::tangent, source, work);
}

template <class T>
void TangentPass<T>::leave_out(const Item& item, const Work& work) {
  if (item.start)
    start_panels<T>(matrix(What::tangent, item.node, work), work.panels(node(item.node).size, PackedMatrix<T>::kPanel),
                    Start::zero, nullptr);
}

/// d(b + sum x W) = db + sum (x dW + dx W)
template <class T>
void TangentPass<T>::affine(const Item& item, const Work& work) {
  using Form = typename PackedWeights<T>::Form;
  const Node& n = node(item.node);
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  const bool whole = is_whole(item, work);
  if (whole && work.by_columns && work.member->id() != 0) return;
  const Range panels =
      whole ? Range{0, (n.size + kPanel - 1) / kPanel} : work.panels(n.size, kPanel).range;  // never divided by units
  if (panels.empty()) return;
  const Range columns{panels.begin * kPanel, std::min(n.size, panels.end * kPanel)};
  Matrix<T> y = matrix(What::tangent, item.node, work);
  const T* bias = n.affine().bias >= 0 ? moved(n.affine().bias).data : nullptr;
  Start start = !item.start ? Start::accumulate : bias != nullptr ? Start::bias : Start::zero;
  for (const auto& part : item.parts) {
    const auto& t = term_of(item, part);
    if (!t.dense()) {
      start_rows(y, start, bias);
      t.op->tangent(with_tangents(t, operator_rows(t, work)), moved(t.parameter), tangent_of(t.source, work), y);
    } else if (const Symbol* read = layout_.lookup(t.source)) {
      add_rows<T>(moved(t.parameter), read + work.rows.begin, y, columns, start, bias);
    } else {
      multiply<T>(matrix(What::value, t.source, work), parts_.weights(Form::direction, t.parameter), y, panels, start,
                  bias);
      if (plan_.needs_adjoint(t.source))
        multiply<T>(matrix(What::tangent, t.source, work), parts_.weights(Form::plain, t.parameter), y, panels,
                    Start::accumulate);
    }
    start = Start::accumulate;
  }
}

template class TangentPass<float>;
template class TangentPass<double>;

}  // namespace unfold
