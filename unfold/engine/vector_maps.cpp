/// Vector maps in the passes (numerics/vector_map.h). Like sparse terms they are not divided by columns.

#include <algorithm>

#include "unfold/engine/unfolding_body.h"

namespace unfold {

template <class T>
void Unfolding<T>::Body::prepare_vector_maps() {
  Index most = 0;
  for (const Node& n : plan->nodes())
    for (const auto& term : n.terms)
      if (term.map != nullptr) most = std::max(most, term.map->scratch());
  map_scratch.resize(at(team.size()));
  for (Buffer<T>& mine : map_scratch) mine.resize(most);
}

/// Any parameter may take part in any component, so nothing of the gradient can be divided: one member computes it.
template <class T>
void Unfolding<T>::Body::map_gradient_of(Member& me, int i, const Node::AffineTerm& term, Matrix<T> g,
                                         const BackwardOptions& options) {
  if (me.id() != 0) return;
  if (!options.accumulate) std::fill_n(g.data, g.rows * g.cols, T{0});
  for (auto [first, last] : runs(plan->value_place(term.source).shift)) {
    const Range part{first_row(first, Corner::top_left), last == steps ? rows : first_row(last, Corner::top_left)};
    term.map->gradient((*parameters)[term.parameter], matrix(What::value, term.source, first, part),
                       matrix(What::adjoint, i, first, part), g, map_scratch_of(me));
  }
}

template void Unfolding<float>::Body::prepare_vector_maps();
template void Unfolding<double>::Body::prepare_vector_maps();
template void Unfolding<float>::Body::map_gradient_of(Member&, int, const Node::AffineTerm&, Matrix<float>,
                                                      const BackwardOptions&);
template void Unfolding<double>::Body::map_gradient_of(Member&, int, const Node::AffineTerm&, Matrix<double>,
                                                       const BackwardOptions&);

}  // namespace unfold
