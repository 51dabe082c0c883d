#include <algorithm>
#include <memory>

#include "unfold/losses/ordered_density.h"
#include "unfold/losses/registry.h"

namespace unfold {
namespace {

/// o_d = b_d + sum_{j<d} U_dj x_j, of the first output of each number; its others are their biases. D (D - 1) / 2
/// weights, number by number. Of bits this is logistic autoregression (Frey, Hinton & Dayan 1996), of normal numbers a
/// Gaussian whose inverse covariance is factored.
template <class T>
class LinearNet final : public OrderedNet<T> {
 public:
  Index beside_biases() const override { return 0; }
  std::vector<NetBlock> blocks(Index numbers, Index) const override {
    return {{"U", 1, std::max<Index>(1, before(numbers)), Init::zero()}};
  }
  Index kept(const NetWeights<T>&, const T*) const override { return 0; }

  void value(const NetWeights<T>& w, const T* signal, const T* x, T*, T* o) const override {
    for (Index d = 0; d < w.numbers; ++d) outputs_of(w, signal, x, d, o + d * w.outputs);
  }
  void tangent(const NetWeights<T>&, const NetWeights<T>& direction, const T* signal, const T* x, const T*,
               T* out) const override {
    value(direction, signal, x, nullptr, out);
  }
  void adjoint(const NetWeights<T>& w, const T*, const T* slopes, T*, T* adjoint) const override {
    std::copy_n(slopes, w.all_outputs(), adjoint);
  }
  void gradient(const NetWeights<T>& w, std::span<const NetRow<T>> rows, Range numbers,
                const std::vector<T*>& out) const override {
    for (Index d = numbers.begin; d < numbers.end; ++d)
      for (const NetRow<T>& row : rows) add_scaled(row.slopes[d * w.outputs], row.x, out[0] + before(d), d);
  }
  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    std::copy_n(signal + d * w.outputs, w.outputs, o);
    o[0] += product(w.blocks[0] + before(d), x, d);
  }

 private:
  /// Weights of the numbers before d.
  static Index before(Index d) { return d * (d - 1) / 2; }
};

template <class T>
std::unique_ptr<Loss<T>> logistic_ar() {
  return ordered_density<T>("logistic-ar", std::make_unique<LinearNet<T>>(), bit_law<T>());
}
template <class T>
std::unique_ptr<Loss<T>> linear_ar() {
  return ordered_density<T>("linear-ar", std::make_unique<LinearNet<T>>(), normal_law<T>());
}

}  // namespace

LossEntry logistic_ar_entry() {
  return {.name = "logistic-ar",
          .help = "bits in their order, each by logistic regression on those before it",
          .of_symbols = false,
          .make_float = logistic_ar<float>,
          .make_double = logistic_ar<double>,
          .density = Density::bits};
}

LossEntry linear_ar_entry() {
  return {.name = "linear-ar",
          .help = "numbers in their order, each normal around a linear map of those before it",
          .of_symbols = false,
          .make_float = linear_ar<float>,
          .make_double = linear_ar<double>,
          .size_of_signal = [](Index n, const AnyOptions&) { return 2 * n; },
          .density = Density::numbers};
}

}  // namespace unfold
