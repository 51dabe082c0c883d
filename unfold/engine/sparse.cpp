/// Sparse terms in the passes, and the hand-fused kernel for a loop that is nothing but one sparse recurrence: over a
/// single chain it runs all steps in one call, with the bits of the generic walk (tests/engine/sparse_test.cpp).

#include <algorithm>

#include "unfold/engine/unfolding_body.h"

namespace unfold {
/// The kernel's view of a term for rows from `row` on; weights from any vector laid out like the parameters.
template <class T>
SparseTerm<T> Unfolding<T>::Body::sparse_term(const Node::AffineTerm& term, const T* flat, Index row) const {
  return {.edges = term.edges.get(),
          .activation = term.activation,
          .leaky = term.leaky,
          .weights = parameters->view(flat, term.parameter),
          .gates = term.gate >= 0 ? lookup(term.gate) + row : nullptr};
}

/// A sparse product or a vector map is not divided by columns: one member does the whole item.
template <class T>
bool Unfolding<T>::Body::whole_item(const Item& item, const Work& work) const {
  if (!work.by_columns) return false;
  return std::any_of(item.parts.begin(), item.parts.end(),
                     [&](const auto& part) { return !node(item.node).terms[at(part.term)].dense(); });
}

template <class T>
void Unfolding<T>::Body::sparse_gradient_of(Member& me, int i, const Node::AffineTerm& term, Matrix<T> g,
                                            const BackwardOptions& options) {
  const Range mine = me.share(g.cols, 16);
  if (!options.accumulate)
    for (Index r = 0; r < g.rows; ++r) std::fill(g.row(r) + mine.begin, g.row(r) + mine.end, T{0});
  if (mine.empty()) return;
  for (auto [first, last] : runs(plan->value_place(term.source).shift)) {
    const Range part{first_row(first, Corner::top_left), last == steps ? rows : first_row(last, Corner::top_left)};
    sparse_gradient<T>(sparse_term(term, parameters->flat().data(), part.begin),
                       matrix(What::value, term.source, first, part), matrix(What::adjoint, i, first, part), g, mine,
                       options.algebra == Algebra::squared, sparse_scratch[at(me.id())].data());
  }
}

// -------------------------------------------------------------------------------------------------------- chain loops

/// Loops of one affine map that reads itself one step earlier through one sparse term, beside at most one lookup.
template <class T>
void Unfolding<T>::Body::find_chain_loops() {
  Index widest = 0;
  for (const Node& n : plan->nodes())
    for (const auto& term : n.terms)
      if (term.sparse()) widest = std::max({widest, term.edges->inputs(), term.edges->outputs()});
  sparse_scratch.resize(at(team.size()));
  for (Buffer<T>& mine : sparse_scratch) mine.resize((3 + kSparseChainBlock) * widest);

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
      else if (term.sparse() && part.adjoint_sets && source.kind == Node::Kind::link && source.source == item.node &&
               source.delay == Delay::previous())
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
    const Matrix<const T> table =
        loop.lookup >= 0 ? (*parameters)[affine.terms[at(loop.lookup)].parameter] : Matrix<const T>{};
    const Symbol* read = loop.lookup >= 0 ? lookup(affine.terms[at(loop.lookup)].source) : nullptr;
    const T* bias = affine.bias >= 0 ? (*parameters)[affine.bias].data : nullptr;
    sparse_chain_forward<T>(sparse_term(affine.terms[at(loop.term)], parameters->flat().data(), 0), table, read, bias,
                            matrix(What::value, loop.affine, 0, {0, rows}), sparse_scratch[0].data());
  }
  me.sync();
}

template <class T>
void Unfolding<T>::Body::backward_chain(Member& me, std::size_t segment, Algebra algebra, const State<T>* end) {
  start_tail(me, segment, steps - 1, Division::rows, end);
  if (me.id() == 0) {
    const ChainLoop& loop = chain_loops[segment];
    const Matrix<const T> exit =
        loop.exit >= 0 ? Matrix<const T>(matrix(What::adjoint, loop.exit, 0, {0, rows})) : Matrix<const T>{};
    const auto& term = node(loop.affine).terms[at(loop.term)];
    sparse_chain_backward<T>(
        sparse_term(term, parameters->flat().data(), 0), matrix(What::value, loop.affine, 0, {0, rows}), exit,
        matrix(What::adjoint, loop.affine, 0, {0, rows}), algebra == Algebra::squared, sparse_scratch[0].data());
  }
  me.sync();
}

#define UNFOLD_INSTANTIATE(T)                                                                             \
  template SparseTerm<T> Unfolding<T>::Body::sparse_term(const Node::AffineTerm&, const T*, Index) const; \
  template bool Unfolding<T>::Body::whole_item(const Item&, const Work&) const;                           \
  template void Unfolding<T>::Body::sparse_gradient_of(Member&, int, const Node::AffineTerm&, Matrix<T>,  \
                                                       const BackwardOptions&);                           \
  template void Unfolding<T>::Body::find_chain_loops();                                                   \
  template bool Unfolding<T>::Body::runs_as_chain(std::size_t) const;                                     \
  template void Unfolding<T>::Body::forward_chain(Member&, std::size_t);                                  \
  template void Unfolding<T>::Body::backward_chain(Member&, std::size_t, Algebra, const State<T>*);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
