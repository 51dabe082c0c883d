#include "loss/univariate_distributions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "numerics/functions.h"
#include "numerics/special/gamma.h"

namespace unfold {
namespace {

constexpr double kInverseRootTwoPi = 0.3989422804014326779;

double exp_of(double x) {
  vector_exp(&x, &x, 1);
  return x;
}

/// Returns exp(-z^2 / 2), with the square split into two parts so that the rounding error does not grow with z.
double bell(double z) {
  if (std::fabs(z) > 40) return 0;  // the result is below the smallest number
  const double coarse = std::trunc(z * 16) / 16, rest = (z - coarse) * (z + coarse);
  return exp_of(-0.5 * coarse * coarse) * exp_of(-0.5 * rest);
}

/// c[0] x^n + c[1] x^(n-1) + ... + c[n].
template <std::size_t size>
double horner(const std::array<double, size>& c, double x) {
  double result = 0;
  for (const double each : c) result = result * x + each;
  return result;
}

/// Phi(z) - 1/2 for |z| <= 0.66291.
double middle_probability(double z) {
  static constexpr std::array<double, 5> kAbove = {0.065682337918207449113, 2.2352520354606839287,
                                                   161.02823106855587881, 1067.6894854603709582, 18154.981253343561249};
  static constexpr std::array<double, 5> kBelow = {1, 47.20258190468824187, 976.09855173777669322,
                                                   10260.932208618978205, 45507.789335026729956};
  return z * horner(kAbove, z * z) / horner(kBelow, z * z);
}

/// Phi(-z) for z > 0.66291.
double tail_probability(double z) {
  static constexpr std::array<double, 9> kAbove = {
      1.0765576773720192317e-8, 0.39894151208813466764, 8.8831497943883759412,
      93.506656132177855979,    597.27027639480026226,  2494.5375852903726711,
      6848.1904505362823326,    11602.651437647350124,  9842.7148383839780218};
  static constexpr std::array<double, 9> kBelow = {1,
                                                   22.266688044328115691,
                                                   235.38790178262499861,
                                                   1519.377599407554805,
                                                   6485.558298266760755,
                                                   18615.571640885098091,
                                                   34900.952721145977266,
                                                   38912.003286093271411,
                                                   19685.429676859990727};
  static constexpr std::array<double, 6> kFarAbove = {0.02307344176494017303,  0.21589853405795699,
                                                      0.1274011611602473639,   0.022235277870649807,
                                                      0.001421619193227893466, 2.9112874951168792e-5};
  static constexpr std::array<double, 6> kFarBelow = {1,
                                                      1.28426009614491121,
                                                      0.468238212480865118,
                                                      0.0659881378689285515,
                                                      0.00378239633202758244,
                                                      7.29751555083966205e-5};
  constexpr double kFar = 5.656854249492380195;  // sqrt(32)
  if (z <= kFar) return bell(z) * horner(kAbove, z) / horner(kBelow, z);
  const double inverse = 1 / (z * z);
  return bell(z) * (kInverseRootTwoPi - inverse * horner(kFarAbove, inverse) / horner(kFarBelow, inverse)) / z;
}

/// E |N(m, d^2)|.
double mean_magnitude(double m, double d) {
  const double z = m / d;
  return 2 * d * normal_density(z) + m * (2 * normal_probability(z) - 1);
}

struct AtPoint {
  double probability = 0, density = 0;
};

AtPoint mixture_at(std::span<const WeightedNormal> mixture, double x) {
  AtPoint sum;
  for (const WeightedNormal& each : mixture) {
    const double z = (x - each.mean) / each.deviation;
    sum.probability += each.weight * normal_probability(z);
    sum.density += each.weight * normal_density(z) / each.deviation;
  }
  return sum;
}

/// Probabilities of the counts first, first + 1, ...; omitted probabilities are below 1e-20 of the largest.
struct Counts {
  double first = 0;
  std::vector<double> probabilities;
};

/// Computed outward from the mode by ratios of adjacent terms, then divided by the sum. This needs no factorials and
/// does not underflow. down(k) = p(k - 1) / p(k), 0 for k = 0; up(k) = p(k) / p(k - 1).
template <class Down, class Up>
Counts counts_around(double mode, const Down& down, const Up& up) {
  constexpr double kSmall = 1e-20;
  Counts counts;
  double weight = 1, total = 0;
  for (double k = mode; weight > kSmall; --k) {
    counts.probabilities.push_back(weight);
    counts.first = k;
    weight *= down(k);
  }
  std::ranges::reverse(counts.probabilities);
  weight = 1;
  for (double k = mode + 1; (weight *= up(k)) > kSmall; ++k) counts.probabilities.push_back(weight);
  for (const double each : counts.probabilities) total += each;
  for (double& each : counts.probabilities) each /= total;
  return counts;
}

Counts poisson_counts(double rate) {
  return counts_around(
      std::floor(rate), [&](double k) { return k / rate; }, [&](double k) { return rate / k; });
}

/// p(k) / p(k - 1) = (k - 1 + r) / k * q, where r = 1 / dispersion and q = mean / (mean + r).
Counts negative_binomial_counts(double mean, double dispersion) {
  const double r = 1 / dispersion, q = mean / (mean + r);
  const auto up = [&](double k) { return (k - 1 + r) / k * q; };
  return counts_around(
      std::floor(std::max(0.0, mean * (1 - dispersion))), [&](double k) { return k > 0 ? 1 / up(k) : 0; }, up);
}

double quantile_of(const Counts& counts, double level) {
  double sum = 0, count = counts.first;
  for (const double probability : counts.probabilities) {
    sum += probability;
    if (sum >= level) break;
    ++count;
  }
  return std::min(count, counts.first + static_cast<double>(counts.probabilities.size() - 1));
}

/// Returns the CRPS of an observed count. The distribution function is a step function: each interval between
/// consecutive counts contributes its parts before and after the observation. An observed count lies on the boundary of
/// two intervals.
double crps_of(const Counts& counts, double observed) {
  double sum = 0, probability = 0, count = counts.first;
  sum += std::max(0.0, count - observed);
  for (const double each : counts.probabilities) {
    probability += each;
    const double before = std::clamp(observed - count, 0.0, 1.0), rest = 1 - probability;
    sum += before * (probability * probability) + (1 - before) * (rest * rest);
    ++count;
  }
  return sum + std::max(0.0, observed - count);
}

constexpr double kLargestSummedRate = 1e6;

/// A Gamma distribution with the mean and the variance of a negative binomial distribution.
struct GammaApproximation {
  double shape, scale;

  /// Returns the smallest x with P(X <= x) >= level, by bisection.
  double quantile(double level) const {
    double low = 0, high = std::max(1.0, shape);
    while (gamma_probability(shape, high) < level && std::isfinite(high)) low = high, high *= 2;
    for (int step = 0; step < 200; ++step) {
      const double middle = 0.5 * (low + high);
      if (middle == low || middle == high) break;
      (gamma_probability(shape, middle) < level ? low : high) = middle;
    }
    return high * scale;
  }
  double crps(double observed) const {
    const double y = observed / scale;
    const double spread = exp_of(log_gamma_half_step(shape)) / std::sqrt(std::numbers::pi);  // 1 / B(1/2, shape)
    return scale *
           (y * (2 * gamma_probability(shape, y) - 1) - shape * (2 * gamma_probability(shape + 1, y) - 1) - spread);
  }
};

/// Returns the approximation if the distribution is too wide to be summed.
std::optional<GammaApproximation> wide_negative_binomial(double mean, double dispersion) {
  constexpr double kLargestVariance = 1e7, kLargestRatio = 1000;
  const double ratio = 1 + dispersion * mean;
  if (ratio <= kLargestRatio && ratio * mean <= kLargestVariance) return std::nullopt;
  return GammaApproximation{.shape = mean / ratio, .scale = ratio};
}

constexpr double kNearlyNormal = 1e6;  // degrees of freedom from which the normal distribution is used

double student_density(double t, double freedom) {
  if (freedom > kNearlyNormal) return normal_density(t);
  const double log_constant = log_gamma_half_step(0.5 * freedom);
  const double log_kernel = -0.5 * (freedom + 1) * log_of_one_plus(t * t / freedom);
  return exp_of(log_constant + log_kernel) / std::sqrt(freedom * std::numbers::pi);
}

/// P(T > t) for t >= 0.
double student_tail(double t, double freedom) {
  if (freedom > kNearlyNormal) return normal_probability(-t);
  const double square = t * t, sum = freedom + square;
  if (std::isinf(sum)) return 0;
  return 0.5 * beta_probability(0.5 * freedom, 0.5, freedom / sum, square / sum, t * student_density(t, freedom));
}

}  // namespace

double normal_density(double z) { return kInverseRootTwoPi * bell(z); }

double normal_probability(double z) {
  if (std::isnan(z)) return z;
  if (std::fabs(z) > 40) return z > 0 ? 1 : 0;
  if (std::fabs(z) <= 0.66291) return 0.5 + middle_probability(z);
  return z > 0 ? 1 - tail_probability(z) : tail_probability(-z);
}

double mixture_quantile(std::span<const WeightedNormal> mixture, double level) {
  const double z = normal_quantile(level);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const WeightedNormal& each : mixture) {
    low = std::min(low, each.mean + z * each.deviation);
    high = std::max(high, each.mean + z * each.deviation);
  }
  if (mixture.size() == 1) return low;
  // Newton's method within a shrinking bracket; uses bisection if a step leaves the bracket or gains little.
  constexpr double kPrecision = 1e-15;
  double x = 0.5 * (low + high);
  for (int step = 0; step < 200; ++step) {
    const AtPoint now = mixture_at(mixture, x);
    const double width = high - low;
    (now.probability < level ? low : high) = x;
    const double newton = x - (now.probability - level) / now.density;
    const bool trusted = newton > low && newton < high && (high - low < 0.75 * width || step % 2 == 0);
    const double next = trusted ? newton : 0.5 * (low + high);
    const bool found = std::fabs(next - x) <= kPrecision * std::fabs(x) || next == low || next == high;
    x = next;
    if (found) break;
  }
  return x;
}

double mixture_crps(std::span<const WeightedNormal> mixture, double observed) {
  double to_observed = 0, to_each_other = 0;
  for (const WeightedNormal& one : mixture) {
    to_observed += one.weight * mean_magnitude(observed - one.mean, one.deviation);
    for (const WeightedNormal& other : mixture) {
      const double deviation = std::sqrt(one.deviation * one.deviation + other.deviation * other.deviation);
      to_each_other += one.weight * other.weight * mean_magnitude(one.mean - other.mean, deviation);
    }
  }
  return to_observed - 0.5 * to_each_other;
}

double poisson_quantile(double rate, double level) {
  if (!std::isfinite(rate)) return rate;
  if (rate > kLargestSummedRate) return std::ceil(rate + std::sqrt(rate) * normal_quantile(level) - 0.5);
  return quantile_of(poisson_counts(rate), level);
}

double poisson_crps(double rate, double observed) {
  if (!std::isfinite(rate)) return rate;
  if (rate > kLargestSummedRate) {
    const WeightedNormal normal{.weight = 1, .mean = rate, .deviation = std::sqrt(rate)};
    return mixture_crps({&normal, 1}, observed);
  }
  return crps_of(poisson_counts(rate), observed);
}

double negative_binomial_quantile(double mean, double dispersion, double level) {
  if (!std::isfinite(mean)) return mean;
  if (const auto wide = wide_negative_binomial(mean, dispersion))
    return std::max(0.0, std::ceil(wide->quantile(level) - 0.5));
  return quantile_of(negative_binomial_counts(mean, dispersion), level);
}

double negative_binomial_crps(double mean, double dispersion, double observed) {
  if (!std::isfinite(mean)) return mean;
  if (const auto wide = wide_negative_binomial(mean, dispersion)) return wide->crps(observed);
  return crps_of(negative_binomial_counts(mean, dispersion), observed);
}

double student_probability(double t, double freedom) {
  return t > 0 ? 1 - student_tail(t, freedom) : student_tail(-t, freedom);
}

double student_quantile(double level, double freedom) {
  const bool upper = level > 0.5;
  const double tail = upper ? 1 - level : level;
  // The tail probability is convex, so Newton's method from 0 increases t up to the solution.
  double t = 0;
  for (int step = 0; step < 1000; ++step) {
    const double next = t + (student_tail(t, freedom) - tail) / student_density(t, freedom);
    if (!(next - t > 1e-16 * next)) break;
    t = next;
  }
  return upper ? t : -t;
}

double student_crps(double freedom, double observed) {
  if (freedom > kNearlyNormal) {
    const WeightedNormal normal{.weight = 1, .mean = 0, .deviation = 1};
    return mixture_crps({&normal, 1}, observed);
  }
  const double half_width = (freedom + observed * observed) / (freedom - 1) * student_density(observed, freedom);
  // B(1/2, freedom - 1/2) / B(1/2, freedom / 2)^2
  const double log_ratio = 2 * log_gamma_half_step(0.5 * freedom) - log_gamma_half_step(freedom - 0.5);
  const double spread = std::sqrt(freedom) / (freedom - 1) * exp_of(log_ratio) / std::sqrt(std::numbers::pi);
  return observed * (2 * student_probability(observed, freedom) - 1) + 2 * (half_width - spread);
}

}  // namespace unfold
