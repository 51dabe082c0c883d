#include "graph/engine/chain_loop.h"

#include "graph/engine/passes.h"

namespace unfold {

ChainLoops::ChainLoops(const Plan& plan) {
  const auto node = [&](int i) -> const Node& { return plan.nodes()[at(i)]; };
  for (const Segment& segment : plan.segments()) {
    ChainLoop& loop = loops_.emplace_back();
    if (!segment.loop || segment.descending || segment.items.empty() || segment.items.size() > 2) continue;
    const Item& item = segment.items[0];
    if (item.kind != Item::Kind::affine || !item.start || item.parts.size() > 2) continue;
    ChainLoop found{.affine = item.node};
    for (const auto& part : item.parts) {
      const auto& term = node(item.node).terms()[at(part.term)];
      const Node& source = node(term.source);
      if (source.kind() == Node::Kind::symbols && term.dense())
        found.lookup = part.term;
      else if (!term.dense() && term.op->recurrence() != nullptr && part.adjoint_sets &&
               source.kind() == Node::Kind::link && source.link().source == item.node &&
               source.link().delay == Delay::previous())
        found.term = part.term;
    }
    const auto parts = static_cast<std::size_t>((found.term >= 0) + (found.lookup >= 0));
    if (found.term < 0 || parts != item.parts.size()) continue;
    if (segment.items.size() == 2) {
      const Item& exit = segment.items[1];
      if (exit.kind != Item::Kind::pointwise || exit.nodes.size() != 1 || !plan.is_exit(exit.nodes[0])) continue;
      found.exit = exit.nodes[0];
    }
    const AdjointBuffer& adjoint = plan.adjoint_buffer(item.node);
    if (plan.may_run_as_chain() && !adjoint.ring && adjoint.tail == 1) loop = found;
  }
}

/// Returns the data that the kernel of a loop's term reads.
template <class T>
Recurrence<T> ChainPass<T>::recurrence_of(const ChainLoop& loop) {
  const Node& affine = node(loop.affine);
  const auto& term = affine.terms()[at(loop.term)];
  Recurrence<T> result{.w = parameters()[term.parameter],
                       .gates = term.gate >= 0 ? layout_.lookup(term.gate) : nullptr,
                       .scratch = parts_.operator_scratch[0].data()};
  if (loop.lookup >= 0) {
    const auto& lookup = affine.terms()[at(loop.lookup)];
    result.lookup = parameters()[lookup.parameter];
    result.symbols = layout_.lookup(lookup.source);
  }
  if (affine.affine().bias >= 0) result.bias = parameters()[affine.affine().bias].data;
  return result;
}

template <class T>
void ChainPass<T>::forward(Member& me) {
  if (me.id() == 0) kernel().forward(recurrence_of(loop_), layout_.matrix(What::value, loop_.affine));
  me.sync();
}

template <class T>
void ChainPass<T>::backward(Member& me, bool squared) {
  if (me.id() == 0) {
    const Matrix<const T> exit =
        loop_.exit >= 0 ? Matrix<const T>(layout_.matrix(What::adjoint, loop_.exit)) : Matrix<const T>{};
    kernel().backward(recurrence_of(loop_), layout_.matrix(What::value, loop_.affine), exit,
                      layout_.matrix(What::adjoint, loop_.affine), squared);
  }
  me.sync();
}

template class ChainPass<float>;
template class ChainPass<double>;

}  // namespace unfold
