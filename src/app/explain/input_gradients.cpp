#include "app/explain/input_gradients.h"

#include <cmath>

#include "unfold/numerics/random.h"

namespace unfold {

template <class T>
Gradients<T>::Gradients(const Watched<T>& watched, Team& team)
    : watched_(watched), unfolding_(watched.network().plan, team), gradient_(at(watched.parameters().size())) {
  unfolding_.set_parameters(watched.parameters());
}

template <class T>
void Gradients<T>::read(const Batch& batch, State<T>* state) {
  unfolding_.lay(batch.structure);
  upload_inputs(batch, 0, batch.structure.positions(), watched_.network(), unfolding_);
  unfolding_.forward(state);
  unfolding_.clear_adjoints();
}

template <class T>
template <class Use>
std::vector<std::vector<double>> Gradients<T>::sums(const Use& use) {
  unfolding_.backward(gradient_, {.weights = false});
  const Structure& structure = unfolding_.structure();
  std::vector<std::vector<double>> found(at(structure.sequences()));
  for (Index c = 0; c < structure.sequences(); ++c) {
    found[at(c)].assign(at(structure.size(c)), 0.0);
    for (const Signal reader : watched_.readers()) {
      const Matrix<const T> adjoint = unfolding_.affine_adjoint(reader);
      // A map in a loop that starts from another corner of a grid has its rows in the order of this corner.
      const std::vector<Index>& rows = structure.order(watched_.network().plan->corner(reader.id)).rows;
      for (Index p = 0; p < structure.size(c); ++p) {
        const T* row = adjoint.row(rows[at(structure.item(c, p))]);
        for (Index i = 0; i < adjoint.cols; ++i)
          found[at(c)][at(p)] += use(reader, structure.row(c, p), i, static_cast<double>(row[i]));
      }
    }
  }
  unfolding_.clear_adjoints();
  return found;
}

template <class T>
std::vector<std::vector<double>> Gradients<T>::squares() {
  return sums([](Signal, Index, Index, double adjoint) { return adjoint * adjoint; });
}

template <class T>
std::vector<std::vector<double>> Gradients<T>::contributions() {
  return sums([&](Signal reader, Index row, Index i, double adjoint) {
    return adjoint * static_cast<double>(unfolding_.value(reader).row(row)[i]);
  });
}

template <class T>
std::vector<std::vector<T>> state_seeds(Index n, std::uint64_t seed) {
  const Index count = std::min(n, kStateSeeds);
  std::vector<std::vector<T>> seeds(at(count), std::vector<T>(at(n), T{0}));
  if (count == n) {
    for (Index i = 0; i < n; ++i) seeds[at(i)][at(i)] = T{1};
    return seeds;
  }
  Random random(seed, "state seeds");
  const auto scale = static_cast<T>(1 / std::sqrt(static_cast<double>(count)));
  for (std::vector<T>& row : seeds)
    for (T& x : row) x = random.below(2) == 0 ? -scale : scale;
  return seeds;
}

template class Gradients<float>;
template class Gradients<double>;
template std::vector<std::vector<float>> state_seeds(Index, std::uint64_t);
template std::vector<std::vector<double>> state_seeds(Index, std::uint64_t);

}  // namespace unfold
