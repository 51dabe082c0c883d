#include <cmath>
#include <memory>

#include "loss/distribution.h"
#include "loss/expected_target.h"
#include "numerics/functions.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/components.h"
#include "unfold/loss/registry.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class T>
class BernoulliLoss final : public NaturalLoss<T>, public ValueDistribution<T>, public ExpectedTarget<T> {
 public:
  std::string_view name() const override { return "bernoulli"; }
  Signal expected_target(Circuit&, Signal signal) const override { return sigmoid(signal); }

  void mean(std::span<const T> signal, std::span<T> mean) const override {
    require_size(*this, signal, mean);
    vector_sigmoid(signal.data(), mean.data(), static_cast<Index>(mean.size()));
  }
  void quantile(std::span<const T> signal, double level, std::span<T> values) const override {
    require_size(*this, signal, values);
    require_level(level);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = level <= probability(-signal[i]) ? T{0} : T{1};
  }
  /// (p - y)^2.
  void component_crps(std::span<const T> signal, std::span<const T> observed, std::span<double> scores) const override {
    require_size(*this, signal, observed);
    require_size(*this, signal, scores);
    for (std::size_t i = 0; i < observed.size(); ++i) {
      const double rest = probability(signal[i]) - observed[i];
      scores[i] = rest * rest;
    }
  }
  void sample(std::span<const T> signal, Random& random, std::span<T> values) const override {
    require_size(*this, signal, values);
    sample_bits<T>(signal, random, values.data());
  }

 protected:
  /// sum_i softplus(o_i) - y_i o_i, computed without cancellation for any y in [0, 1]: log(1 + exp(-|o|)) + |o| (o > 0
  /// ? 1 - y : y).
  T row_nats(const T* o, const T* y, Index n) const override {
    T* z = row_scratch<T>(n);
    for (Index i = 0; i < n; ++i) z[i] = -std::fabs(o[i]);
    vector_softplus(z, z, n);
    for (Index i = 0; i < n; ++i) z[i] += o[i] > 0 ? o[i] * (1 - y[i]) : -o[i] * y[i];
    return static_cast<T>(sum(span_of<T>(z, n)));
  }

  void row_slopes(const T* o, const T* y, Index n, T* out) const override {
    vector_sigmoid(o, out, n);
    for (Index i = 0; i < n; ++i) out[i] -= y[i];
  }

  /// p (1 - p).
  void row_fisher(const T* o, Index n, T* out) const override {
    vector_sigmoid(o, out, n);
    for (Index i = 0; i < n; ++i) out[i] *= 1 - out[i];
  }

 private:
  static double probability(double o) {
    vector_sigmoid(&o, &o, 1);
    return o;
  }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> bernoulli_loss() {
  return std::make_unique<BernoulliLoss<T>>();
}

template std::unique_ptr<Loss<float>> bernoulli_loss<float>();
template std::unique_ptr<Loss<double>> bernoulli_loss<double>();

LossEntry bernoulli_entry() {
  return {.name = "bernoulli",
          .help = "independent bits: p(y_i = 1) = sigmoid(o_i)",
          .of_symbols = false,
          .make_float = bernoulli_loss<float>,
          .make_double = bernoulli_loss<double>};
}

}  // namespace unfold
