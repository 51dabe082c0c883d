/// Loops that are nothing but one recurrence whose operator has a kernel for it (numerics/operator.h): over a single
/// chain it runs all steps in one call, with the bits of the generic walk (tests/engine/sparse_test.cpp).

#include <algorithm>

#include "unfold/engine/unfolding_body.h"

namespace unfold {

/// Loops of one affine map that reads itself one step earlier through one such term, beside at most one lookup.
template <class T>
void Unfolding<T>::Body::find_chain_loops() {
  for (const Segment& segment : plan->segments()) {
    ChainLoop& loop = chain_loops.emplace_back();
    if (!segment.loop || segment.descending || segment.items.empty() || segment.items.size() > 2) continue;
    const Item& item = segment.items[0];
    if (item.kind != Item::Kind::affine || !item.start || item.parts.size() > 2) continue;
    ChainLoop found{.affine = item.node};
    for (const auto& part : item.parts) {
      const auto& term = node(item.node).terms[at(part.term)];
      const Node& source = node(term.source);
      if (source.kind == Node::Kind::symbols)
        found.lookup = part.term;
      else if (!term.dense() && term.op->recurrence() != nullptr && part.adjoint_sets &&
               source.kind == Node::Kind::link && source.source == item.node && source.delay == Delay::previous())
        found.term = part.term;
    }
    const auto parts = static_cast<std::size_t>((found.term >= 0) + (found.lookup >= 0));
    if (found.term < 0 || parts != item.parts.size()) continue;
    if (segment.items.size() == 2) {
      const Item& exit = segment.items[1];
      if (exit.kind != Item::Kind::pointwise || exit.nodes.size() != 1 || !plan->is_exit(exit.nodes[0])) continue;
      found.exit = exit.nodes[0];
    }
    const AdjointBuffer& adjoint = plan->adjoint_buffer(item.node);
    if (plan->may_run_as_chain() && !adjoint.ring && adjoint.tail == 1) loop = found;
  }
}

template <class T>
bool Unfolding<T>::Body::runs_as_chain(std::size_t segment) const {
  return chain_loops[segment].affine >= 0 && structure->kind() == Structure::Kind::chains && places == 1;
}

template <class T>
void Unfolding<T>::Body::forward_chain(Member& me, std::size_t segment) {
  if (me.id() == 0) {
    const ChainLoop& loop = chain_loops[segment];
    const Node& affine = node(loop.affine);
    const auto& term = affine.terms[at(loop.term)];
    Recurrence<T> recurrence = recurrence_of(term);
    if (loop.lookup >= 0) {
      recurrence.lookup = (*parameters)[affine.terms[at(loop.lookup)].parameter];
      recurrence.symbols = lookup(affine.terms[at(loop.lookup)].source);
    }
    if (affine.bias >= 0) recurrence.bias = (*parameters)[affine.bias].data;
    term.op->recurrence()->forward(recurrence, matrix(What::value, loop.affine, 0, {0, rows}));
  }
  me.sync();
}

template <class T>
Recurrence<T> Unfolding<T>::Body::recurrence_of(const Node::AffineTerm& term) {
  return {.w = (*parameters)[term.parameter], .gates = gates_of(term, 0), .scratch = operator_scratch[0].data()};
}

template <class T>
void Unfolding<T>::Body::backward_chain(Member& me, std::size_t segment, Algebra algebra, const State<T>* end) {
  start_tail(me, segment, steps - 1, Division::rows, end);
  if (me.id() == 0) {
    const ChainLoop& loop = chain_loops[segment];
    const Matrix<const T> exit =
        loop.exit >= 0 ? Matrix<const T>(matrix(What::adjoint, loop.exit, 0, {0, rows})) : Matrix<const T>{};
    const auto& term = node(loop.affine).terms[at(loop.term)];
    term.op->recurrence()->backward(recurrence_of(term), matrix(What::value, loop.affine, 0, {0, rows}), exit,
                                    matrix(What::adjoint, loop.affine, 0, {0, rows}), algebra == Algebra::squared);
  }
  me.sync();
}

#define UNFOLD_INSTANTIATE(T)                                            \
  template void Unfolding<T>::Body::find_chain_loops();                  \
  template bool Unfolding<T>::Body::runs_as_chain(std::size_t) const;    \
  template void Unfolding<T>::Body::forward_chain(Member&, std::size_t); \
  template void Unfolding<T>::Body::backward_chain(Member&, std::size_t, Algebra, const State<T>*);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
