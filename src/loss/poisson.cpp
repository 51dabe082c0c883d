#include <algorithm>
#include <memory>

#include "loss/expected_target.h"
#include "loss/inverted_distribution.h"
#include "loss/univariate_distributions.h"
#include "numerics/functions.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/components.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

template <class T>
class PoissonLoss final : public NaturalLoss<T>, public InvertedDistribution<T>, public ExpectedTarget<T> {
 public:
  std::string_view name() const override { return "poisson"; }
  Signal expected_target(Circuit&, Signal signal) const override { return exp(signal); }

  void mean(std::span<const T> signal, std::span<T> mean) const override {
    require_size(*this, signal, mean);
    vector_exp(signal.data(), mean.data(), static_cast<Index>(mean.size()));
  }

 protected:
  double quantile_at(std::span<const T> signal, std::size_t i, double level) const override {
    return poisson_quantile(rate(signal[i]), level);
  }
  double crps_at(std::span<const T> signal, std::size_t i, double observed) const override {
    return poisson_crps(rate(signal[i]), observed);
  }

  T row_nats(const T* o, const T* y, Index n) const override {
    T* z = row_scratch<T>(n);
    vector_exp(o, z, n);
    for (Index i = 0; i < n; ++i) {
      if (y[i] < 0)
        throw UsageError("poisson loss: the count " + std::to_string(y[i]) + " is negative; counts are at least 0");
      z[i] -= y[i] * o[i];
    }
    return static_cast<T>(sum(span_of<T>(z, n)));
  }

  void row_slopes(const T* o, const T* y, Index n, T* out) const override {
    vector_exp(o, out, n);
    for (Index i = 0; i < n; ++i) out[i] -= y[i];
  }

  void row_fisher(const T* o, Index n, T* out) const override { vector_exp(o, out, n); }

 private:
  static double rate(double o) {
    vector_exp(&o, &o, 1);
    return o;
  }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> poisson_loss() {
  return std::make_unique<PoissonLoss<T>>();
}

template std::unique_ptr<Loss<float>> poisson_loss<float>();
template std::unique_ptr<Loss<double>> poisson_loss<double>();

LossEntry poisson_entry() {
  return {.name = "poisson",
          .help = "counts: y ~ Poisson(exp(o))",
          .of_symbols = false,
          .make_float = poisson_loss<float>,
          .make_double = poisson_loss<double>};
}

}  // namespace unfold
