#include <algorithm>
#include <cmath>
#include <memory>

#include "loss/deviation.h"
#include "loss/expected_target.h"
#include "loss/inverted_distribution.h"
#include "loss/univariate_distributions.h"
#include "numerics/special/gamma.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/components.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

/// Counts with mean e^o and variance e^o + a e^2o. The signal is (o, s); the dispersion a has log a = 10 tanh(s / 10),
/// as the deviation of the normal loss. With r = 1 / a and x = o + log a, the logarithm of mean / r:
///
///   nats        = log Gamma(r) + log Gamma(y + 1) - log Gamma(y + r) + r softplus(x) + y softplus(-x)
///   d / d o     = r sigma(x) - y sigma(-x)
///   d / d log a = r (psi(y + r) - psi(r)) - r softplus(x) + r sigma(x) - y sigma(-x)
///
/// No term grows exponentially with the signal. The Fisher matrix is diagonal. Its entry r sigma(x) for o is exact. Its
/// entry for log a is an infinite sum. Therefore the entry of the pair (rate, y) is used, where y ~ Poisson(rate) and
/// the rate has a Gamma distribution of shape r: r^2 psi'(r) - r, between 1/2 and 1. It is an upper bound, because
/// observing the rate adds information (as in the mixture loss).
struct CountComponent {
  double log_a, r, slope, x, probability, rest;  ///< slope: d log a / d s; probability: sigma(x); rest: sigma(-x)
};

template <class T>
CountComponent count_component(const T* o, Index n, Index i) {
  CountComponent c{};
  const double s = o[n + i];
  deviations(&s, 1, &c.log_a, &c.r, &c.slope);
  c.x = static_cast<double>(o[i]) + c.log_a;
  vector_sigmoid(&c.x, &c.probability, 1);
  const double opposite = -c.x;
  vector_sigmoid(&opposite, &c.rest, 1);
  return c;
}

double softplus_at(double x) {
  vector_softplus(&x, &x, 1);
  return x;
}

template <class T>
class NegativeBinomialLoss final : public NaturalLoss<T>, public InvertedDistribution<T>, public ExpectedTarget<T> {
 public:
  std::string_view name() const override { return "negative-binomial"; }
  Index target_size(Index signal_size) const override {
    if (signal_size % 2 != 0)
      throw UsageError("negative-binomial loss: the signal has " + std::to_string(signal_size) +
                       " numbers; it must have a mean and a dispersion for each predicted count");
    return signal_size / 2;
  }
  Signal expected_target(Circuit& circuit, Signal signal) const override {
    return exp(circuit.slice(signal, 0, signal.size() / 2));
  }

  void mean(std::span<const T> signal, std::span<T> mean) const override {
    require_size(*this, signal, mean);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = static_cast<T>(mean_of(signal[i]));
  }

 protected:
  double quantile_at(std::span<const T> signal, std::size_t i, double level) const override {
    return negative_binomial_quantile(mean_of(signal[i]), dispersion_of(signal, i), level);
  }
  double crps_at(std::span<const T> signal, std::size_t i, double observed) const override {
    return negative_binomial_crps(mean_of(signal[i]), dispersion_of(signal, i), observed);
  }

  T row_nats(const T* o, const T* y, Index size) const override {
    const Index n = size / 2;
    double sum = 0;
    for (Index i = 0; i < n; ++i) {
      const CountComponent c = count_component(o, n, i);
      const double k = count(y[i]);
      sum += log_gamma(c.r) + log_gamma(k + 1) - log_gamma(k + c.r) + c.r * softplus_at(c.x) + k * softplus_at(-c.x);
    }
    return static_cast<T>(sum);
  }

  void row_slopes(const T* o, const T* y, Index size, T* out) const override {
    const Index n = size / 2;
    for (Index i = 0; i < n; ++i) {
      const CountComponent c = count_component(o, n, i);
      const double k = count(y[i]), by_mean = c.r * c.probability - k * c.rest;
      const double by_dispersion = c.r * (digamma(k + c.r) - digamma(c.r) - softplus_at(c.x)) + by_mean;
      out[i] = static_cast<T>(by_mean);
      out[n + i] = static_cast<T>(by_dispersion * c.slope);
    }
  }

  void row_fisher(const T* o, Index size, T* out) const override {
    const Index n = size / 2;
    for (Index i = 0; i < n; ++i) {
      const CountComponent c = count_component(o, n, i);
      out[i] = static_cast<T>(c.r * c.probability);
      out[n + i] = static_cast<T>(shape_information(c.r) * (c.slope * c.slope));
    }
  }

 private:
  static double count(T y) {
    const double k = y;
    if (!(k >= 0) || k != std::floor(k))
      throw UsageError("negative-binomial loss: " + std::to_string(y) + " is not a count; counts are integers from 0");
    return k;
  }
  /// Returns e^o, at most a number that T can represent.
  static double mean_of(double o) {
    constexpr double kMost = sizeof(T) == sizeof(float) ? 80 : 700;
    o = std::min(o, kMost);
    vector_exp(&o, &o, 1);
    return o;
  }
  static double dispersion_of(std::span<const T> signal, std::size_t i) {
    return deviation(signal[signal.size() / 2 + i]);
  }
};

template <class T>
std::unique_ptr<Loss<T>> negative_binomial_loss() {
  return std::make_unique<NegativeBinomialLoss<T>>();
}

}  // namespace

LossEntry negative_binomial_entry() {
  return {.name = "negative-binomial",
          .help =
              "counts whose variance exceeds their mean: mean exp(o), variance exp(o) + a exp(2 o), with a learned "
              "dispersion a",
          .of_symbols = false,
          .make_float = negative_binomial_loss<float>,
          .make_double = negative_binomial_loss<double>,
          .size_of_signal = [](Index field_size, const AnyOptions&) { return 2 * field_size; }};
}

}  // namespace unfold
