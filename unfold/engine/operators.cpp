/// Operators in the passes (numerics/operator.h). They are not divided by columns: their members would only wait for
/// each other.

#include <algorithm>

#include "unfold/engine/unfolding_body.h"

namespace unfold {

template <class T>
void Unfolding<T>::Body::prepare_operators() {
  Index most = 0;
  for (const Node& n : plan->nodes())
    for (const auto& term : n.terms)
      if (!term.dense()) most = std::max(most, term.op->scratch());
  operator_scratch.resize(at(team.size()));
  for (Buffer<T>& mine : operator_scratch) mine.resize(most);
}

/// What the rules of a term read at some rows of a step.
template <class T>
OperatorRows<T> Unfolding<T>::Body::operator_rows(const Member& me, const Node::AffineTerm& term, Index step,
                                                  Range part) {
  return {.w = (*parameters)[term.parameter],
          .x = matrix(What::value, term.source, step, part),
          .gates = gates_of(term, part.begin),
          .scratch = operator_scratch[at(me.id())].data()};
}

template <class T>
const Symbol* Unfolding<T>::Body::gates_of(const Node::AffineTerm& term, Index row) const {
  return term.gate >= 0 ? lookup(term.gate) + row : nullptr;
}

/// Whether one member does the whole item, where members divide columns.
template <class T>
bool Unfolding<T>::Body::whole_item(const Item& item, const Work& work) const {
  if (!work.by_columns) return false;
  return std::any_of(item.parts.begin(), item.parts.end(),
                     [&](const auto& part) { return !node(item.node).terms[at(part.term)].dense(); });
}

template <class T>
void Unfolding<T>::Body::operator_gradient(Member& me, int i, const Node::AffineTerm& term, Matrix<T> g,
                                           const BackwardOptions& options) {
  const bool divided = term.op->gradient_by_columns();
  if (!divided && me.id() != 0) return;
  const Range mine = divided ? me.share(g.cols, 16) : Range{0, g.cols};
  if (mine.empty()) return;
  if (!options.accumulate)
    for (Index r = 0; r < g.rows; ++r) std::fill(g.row(r) + mine.begin, g.row(r) + mine.end, T{0});
  for (auto [first, last] : runs(plan->value_place(term.source).shift)) {
    const Range part{first_row(first, Corner::top_left), last == steps ? rows : first_row(last, Corner::top_left)};
    term.op->gradient(operator_rows(me, term, first, part), matrix(What::adjoint, i, first, part), g, mine,
                      options.algebra == Algebra::squared);
  }
}

#define UNFOLD_INSTANTIATE(T)                                                                                       \
  template void Unfolding<T>::Body::prepare_operators();                                                            \
  template OperatorRows<T> Unfolding<T>::Body::operator_rows(const Member&, const Node::AffineTerm&, Index, Range); \
  template const Symbol* Unfolding<T>::Body::gates_of(const Node::AffineTerm&, Index) const;                        \
  template bool Unfolding<T>::Body::whole_item(const Item&, const Work&) const;                                     \
  template void Unfolding<T>::Body::operator_gradient(Member&, int, const Node::AffineTerm&, Matrix<T>,             \
                                                      const BackwardOptions&);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
