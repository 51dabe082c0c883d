#include <algorithm>
#include <limits>
#include <memory>
#include <numbers>

#include "loss/deviation.h"
#include "loss/distribution.h"
#include "loss/expected_target.h"
#include "loss/univariate_distributions.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/components.h"
#include "unfold/loss/registry.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// With z = (y - m) / d: nats = log(2 pi) / 2 + log d + z^2 / 2; the derivatives are -z / d for m and 1 - z^2 for log
/// d. Their squares have means 1 / d^2 and 2, and their product has mean 0.
template <class T>
class NormalNumbers : public NaturalLoss<T>, public ValueDistribution<T> {
 public:
  std::string_view name() const override { return "normal"; }
  Index target_size(Index signal_size) const override {
    if (signal_size % 2 != 0)
      throw UsageError(std::string(this->name()) + " loss: the signal has " + std::to_string(signal_size) +
                       " numbers; it must have a mean and a standard deviation for each predicted number");
    return signal_size / 2;
  }
  void mean(std::span<const T> signal, std::span<T> mean) const override {
    require_size(*this, signal, mean);
    std::ranges::copy(signal.first(mean.size()), mean.begin());
  }
  void quantile(std::span<const T> signal, double level, std::span<T> values) const override {
    require_size(*this, signal, values);
    require_level(level);
    const double z = normal_quantile(level);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const WeightedNormal law = component(signal, i);
      values[i] = static_cast<T>(law.mean + law.deviation * z);
    }
  }
  void component_crps(std::span<const T> signal, std::span<const T> observed, std::span<double> scores) const override {
    require_size(*this, signal, observed);
    require_size(*this, signal, scores);
    for (std::size_t i = 0; i < observed.size(); ++i) {
      const WeightedNormal law = component(signal, i);
      scores[i] = mixture_crps({&law, 1}, observed[i]);
    }
  }
  void sample(std::span<const T> signal, Random& random, std::span<T> values) const override {
    require_size(*this, signal, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const WeightedNormal law = component(signal, i);
      values[i] = static_cast<T>(law.mean + law.deviation * random.normal());
    }
  }

 protected:
  T row_nats(const T* o, const T* y, Index size) const override {
    const Index n = size / 2;
    const Deviations d = deviations_of(o, n);
    T* each = d.scratch;
    for (Index i = 0; i < n; ++i) {
      const T z = (y[i] - o[i]) * d.inverse[i];
      each[i] = d.log[i] + T{0.5} * (z * z);
    }
    return static_cast<T>(static_cast<double>(n) * kHalfLogTwoPi + sum(span_of<T>(each, n)));
  }

  void row_slopes(const T* o, const T* y, Index size, T* out) const override {
    const Index n = size / 2;
    const Deviations d = deviations_of(o, n);
    for (Index i = 0; i < n; ++i) {
      const T z = (y[i] - o[i]) * d.inverse[i];
      out[i] = -z * d.inverse[i];
      out[n + i] = (1 - z * z) * d.slope[i];
    }
  }

  void row_fisher(const T* o, Index size, T* out) const override {
    const Index n = size / 2;
    const Deviations d = deviations_of(o, n);
    for (Index i = 0; i < n; ++i) {
      out[i] = d.inverse[i] * d.inverse[i];
      out[n + i] = 2 * (d.slope[i] * d.slope[i]);
    }
  }

  static WeightedNormal component(std::span<const T> signal, std::size_t i) {
    return {.weight = 1, .mean = signal[i], .deviation = deviation(signal[signal.size() / 2 + i])};
  }

 private:
  struct Deviations {
    T *log, *inverse, *slope, *scratch;
  };
  static Deviations deviations_of(const T* o, Index n) {
    T* memory = row_scratch<T>(4 * n);
    const Deviations d{memory, memory + n, memory + 2 * n, memory + 3 * n};
    deviations(o + n, n, d.log, d.inverse, d.slope);
    return d;
  }
};

template <class T>
class NormalLoss final : public NormalNumbers<T>, public ExpectedTarget<T> {
 public:
  Signal expected_target(Circuit& circuit, Signal signal) const override {
    return circuit.map(Map::copy, circuit.slice(signal, 0, signal.size() / 2));
  }
};

/// Positive numbers whose logarithms are normal: with x = log y, nats = log y + the nats of x, and the derivatives are
/// those of the normal loss for x. The mean of y is exp(m + d^2 / 2) and its median exp(m).
template <class T>
class LogNormalLoss final : public NormalNumbers<T> {
 public:
  std::string_view name() const override { return "log-normal"; }

  void mean(std::span<const T> signal, std::span<T> mean) const override {
    require_size(*this, signal, mean);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = static_cast<T>(mean_of(this->component(signal, i)));
  }
  void quantile(std::span<const T> signal, double level, std::span<T> values) const override {
    require_size(*this, signal, values);
    require_level(level);
    const double z = normal_quantile(level);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const WeightedNormal law = this->component(signal, i);
      values[i] = static_cast<T>(bounded_exp(law.mean + law.deviation * z));
    }
  }
  /// Closed form (Baran & Lerch 2015).
  void component_crps(std::span<const T> signal, std::span<const T> observed, std::span<double> scores) const override {
    require_size(*this, signal, observed);
    require_size(*this, signal, scores);
    for (std::size_t i = 0; i < observed.size(); ++i) {
      const WeightedNormal law = this->component(signal, i);
      const double y = observed[i], d = law.deviation;
      double log_y = std::max(y, std::numeric_limits<double>::min());
      vector_log(&log_y, &log_y, 1);
      const double w = (log_y - law.mean) / d;
      scores[i] = y * (2 * normal_probability(w) - 1) -
                  2 * mean_of(law) * (normal_probability(w - d) - normal_probability(-d / std::numbers::sqrt2));
    }
  }
  void sample(std::span<const T> signal, Random& random, std::span<T> values) const override {
    require_size(*this, signal, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const WeightedNormal law = this->component(signal, i);
      values[i] = static_cast<T>(bounded_exp(law.mean + law.deviation * random.normal()));
    }
  }

 protected:
  T row_nats(const T* o, const T* y, Index size) const override {
    const T* x = logarithms(y, size / 2);
    return NormalNumbers<T>::row_nats(o, x, size) + static_cast<T>(sum(span_of<T>(x, size / 2)));
  }
  void row_slopes(const T* o, const T* y, Index size, T* out) const override {
    NormalNumbers<T>::row_slopes(o, logarithms(y, size / 2), size, out);
  }

 private:
  /// Returns e^x, at most a number that T can represent.
  static double bounded_exp(double x) {
    constexpr double kMost = sizeof(T) == sizeof(float) ? 80 : 700;
    x = std::min(x, kMost);
    vector_exp(&x, &x, 1);
    return x;
  }
  static double mean_of(const WeightedNormal& law) { return bounded_exp(law.mean + law.deviation * law.deviation / 2); }
  static const T* logarithms(const T* y, Index n) {
    T* x = row_scratch<T, 2>(n);
    for (Index i = 0; i < n; ++i)
      if (!(y[i] > 0)) throw UsageError("log-normal loss: the number " + std::to_string(y[i]) + " is not above 0");
    vector_log(y, x, n);
    return x;
  }
};

template <class T>
std::unique_ptr<Loss<T>> log_normal_loss() {
  return std::make_unique<LogNormalLoss<T>>();
}

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> normal_loss() {
  return std::make_unique<NormalLoss<T>>();
}

template std::unique_ptr<Loss<float>> normal_loss<float>();
template std::unique_ptr<Loss<double>> normal_loss<double>();

LossEntry normal_entry() {
  return {.name = "normal",
          .help = "real vectors with their deviations: y_i ~ N(m_i, d_i^2)",
          .of_symbols = false,
          .make_float = normal_loss<float>,
          .make_double = normal_loss<double>,
          .size_of_signal = [](Index field_size, const AnyOptions&) { return 2 * field_size; }};
}

LossEntry log_normal_entry() {
  return {.name = "log-normal",
          .help = "positive numbers with their deviations: log y_i ~ N(m_i, d_i^2)",
          .of_symbols = false,
          .make_float = log_normal_loss<float>,
          .make_double = log_normal_loss<double>,
          .size_of_signal = [](Index field_size, const AnyOptions&) { return 2 * field_size; }};
}

}  // namespace unfold
