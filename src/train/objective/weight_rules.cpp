#include "train/objective/weight_rules.h"

#include <algorithm>
#include <numeric>

#include "numerics/dropout.h"
#include "unfold/numerics/random.h"

namespace unfold {

template <class T>
WeightRules<T>::WeightRules(const Network<T>& network, Parameters<T>& parameters, std::uint64_t seed, Team& team)
    : network_(network), parameters_(parameters), seen_(parameters), seed_(seed), team_(team) {
  for (const WeightDropout& drop : network.drops)
    masks_.emplace_back(parameters[drop.parameter].rows * (drop.rows ? 1 : parameters[drop.parameter].cols));
  for (const WeightTie& tie : network.ties) {
    const Matrix<T> own = parameters[tie.parameter], other = parameters[tie.transposed];
    for (Index r = 0; r < own.rows; ++r)
      for (Index c = 0; c < own.cols; ++c) own(r, c) = other(c, r);
  }
}

/// Each row has a separate key, so any thread can draw any part of the mask.
template <class T>
void WeightRules<T>::draw(const WeightDropout& drop, std::uint64_t step, Matrix<T> mask) const {
  std::vector<std::uint64_t> keys(at(mask.rows));
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  const std::uint64_t stream = stream_of("weights/" + parameters_.info()[at(drop.parameter)].name) + step;
  team_.run([&](Member& me) {
    const Range mine = me.share(mask.rows, 8);
    if (!mine.empty())
      dropout_mask<T>(seed_, stream, keys.data() + mine.begin, drop.rate, mask.rows_from(mine.begin, mine.size()));
  });
}

template <class T>
void WeightRules<T>::multiply(std::span<T> values) const {
  for (std::size_t d = 0; d < network_.drops.size(); ++d) {
    const WeightDropout& drop = network_.drops[d];
    const Matrix<T> of = parameters_.view(values.data(), drop.parameter);
    const T* mask = masks_[d].data();
    team_.run([&](Member& me) {
      const Range mine = me.share(of.rows, 8);
      for (Index r = mine.begin; r < mine.end; ++r)
        for (Index c = 0; c < of.cols; ++c) of(r, c) *= drop.rows ? mask[r] : mask[r * of.cols + c];
    });
  }
}

template <class T>
const Parameters<T>& WeightRules<T>::seen(std::uint64_t step) {
  if (network_.drops.empty()) return parameters_;
  std::ranges::copy(parameters_.flat(), seen_.flat().begin());
  for (std::size_t d = 0; d < network_.drops.size(); ++d) {
    const WeightDropout& drop = network_.drops[d];
    const Index cols = drop.rows ? 1 : parameters_[drop.parameter].cols;
    draw(drop, step, {masks_[d].data(), parameters_[drop.parameter].rows, cols, cols});
  }
  multiply(seen_.flat());
  return seen_;
}

template <class T>
void WeightRules<T>::turn(std::span<T> gradient) {
  multiply(gradient);
  for (const WeightTie& tie : network_.ties) add_up(tie, gradient);
}

template <class T>
void WeightRules<T>::add_up(const WeightTie& tie, std::span<T> gradient) const {
  const Matrix<T> own = parameters_.view(gradient.data(), tie.parameter);
  const Matrix<T> other = parameters_.view(gradient.data(), tie.transposed);
  team_.run([&](Member& me) {
    // Elements per cache line of the transposed matrix, which is accessed in whole lines.
    constexpr Index kLine = 64 / sizeof(T);
    const Range mine = me.share(own.rows, kLine);
    for (Index first = mine.begin; first < mine.end; first += kLine)
      for (Index c = 0; c < own.cols; ++c)
        for (Index r = first; r < std::min(first + kLine, mine.end); ++r)
          own(r, c) = other(c, r) = own(r, c) + other(c, r);
  });
}

template class WeightRules<float>;
template class WeightRules<double>;

}  // namespace unfold
