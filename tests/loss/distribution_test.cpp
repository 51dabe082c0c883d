/// Distributions of numbers, compared with explicit densities, numeric integrals and frequencies.

#include "loss/distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "loss/univariate_distributions.h"
#include "numerics/simd.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using Reals = std::vector<double>;

double normal_cdf_written_out(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

struct Law {
  const char* name;
  std::unique_ptr<Loss<double>> (*make)();
  std::unique_ptr<Loss<float>> (*make_float)();
  Reals signal;
  std::size_t values;
  /// P(Y_i <= x).
  std::function<double(std::size_t, double)> cdf;
  bool counts = false;  ///< integers >= 0
};

void PrintTo(const Law& law, std::ostream* out) { *out << law.name; }

/// Inverse of log d = 10 tanh(s / 10): returns the signal that has this deviation.
double signal_of_deviation(double d) { return 10 * std::atanh(std::log(d) / 10); }

double poisson_cdf_written_out(double rate, double x) {
  double sum = 0;
  for (int k = 0; k <= x; ++k) sum += std::exp(k * std::log(rate) - rate - std::lgamma(k + 1.0));
  return sum;
}

/// P(Y <= x) as a sum of probabilities by the gamma function.
double negative_binomial_cdf_written_out(double mean, double dispersion, double x) {
  const double r = 1 / dispersion;
  double sum = 0;
  for (int k = 0; k <= x; ++k)
    sum += std::exp(std::lgamma(k + r) - std::lgamma(r) - std::lgamma(k + 1.0) - r * std::log1p(mean / r) -
                    k * std::log1p(r / mean));
  return sum;
}

/// P(T <= t) of Student's distribution with an even number of degrees of freedom, a finite sum (Abramowitz & Stegun,
/// 26.7.4).
double student_cdf_written_out(int freedom, double t) {
  const double cosine_squared = freedom / (freedom + t * t);
  double term = 1, sum = 1;
  for (int k = 1; k < freedom / 2; ++k) sum += term *= cosine_squared * (2 * k - 1) / (2 * k);
  return 0.5 + 0.5 * t / std::sqrt(freedom + t * t) * sum;
}

/// Inverse of f = 2 + log(1 + exp(u)).
double signal_of_freedom(double f) { return std::log(std::expm1(f - 2)); }

std::vector<Law> all_laws() {
  const Reals weights = {0.2, 0.5, 0.3};  // a mixture of two numbers
  const Reals means = {-4, 1, 0, 0, 3, -1}, deviations = {0.5, 1, 1, 2, 0.1, 0.25};
  Reals mixture;
  for (const double w : weights) mixture.push_back(std::log(w) + 7);
  mixture.insert(mixture.end(), means.begin(), means.end());
  for (const double d : deviations) mixture.push_back(signal_of_deviation(d));
  const auto mixture_cdf = [=](std::size_t i, double x) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k)
      sum += weights[k] * normal_cdf_written_out((x - means[2 * k + i]) / deviations[2 * k + i]);
    return sum;
  };
  const auto normal_cdf = [](std::size_t i, double x) {
    return normal_cdf_written_out(i == 0 ? (x - 1.5) / 0.3 : (x + 2) / 4);
  };
  return {{"gaussian",
           gaussian_loss<double>,
           gaussian_loss<float>,
           {1, -2},
           2,
           [](std::size_t i, double x) { return normal_cdf_written_out(x - (i == 0 ? 1 : -2)); }},
          {"normal",
           normal_loss<double>,
           normal_loss<float>,
           {1.5, -2, signal_of_deviation(0.3), signal_of_deviation(4)},
           2,
           normal_cdf},
          {"log_normal",
           [] { return choose_loss("log-normal").make<double>(); },
           [] { return choose_loss("log-normal").make<float>(); },
           {0.2, -1, signal_of_deviation(0.3), signal_of_deviation(0.7)},
           2,
           [](std::size_t i, double x) {
             if (x <= 0) return 0.0;
             return normal_cdf_written_out(i == 0 ? (std::log(x) - 0.2) / 0.3 : (std::log(x) + 1) / 0.7);
           }},
          {"student_t",
           [] { return choose_loss("student-t").make<double>(); },
           [] { return choose_loss("student-t").make<float>(); },
           {1.5, -2, signal_of_deviation(0.3), signal_of_deviation(0.5), signal_of_freedom(4), signal_of_freedom(6)},
           2,
           [](std::size_t i, double x) {
             return i == 0 ? student_cdf_written_out(4, (x - 1.5) / 0.3) : student_cdf_written_out(6, (x + 2) / 0.5);
           }},
          {"negative_binomial",
           [] { return choose_loss("negative-binomial").make<double>(); },
           [] { return choose_loss("negative-binomial").make<float>(); },
           {std::log(0.4), std::log(6.5), signal_of_deviation(0.5), signal_of_deviation(0.05)},
           2,
           [](std::size_t i, double x) {
             if (x < 0) return 0.0;
             return i == 0 ? negative_binomial_cdf_written_out(0.4, 0.5, x)
                           : negative_binomial_cdf_written_out(6.5, 0.05, x);
           },
           true},
          {"mixture", [] { return mixture_loss<double>(3); }, [] { return mixture_loss<float>(3); }, mixture, 2,
           mixture_cdf},
          {"bernoulli",
           bernoulli_loss<double>,
           bernoulli_loss<float>,
           {std::log(0.3 / 0.7), 2},
           2,
           [](std::size_t i, double x) {
             const double p = i == 0 ? 0.3 : 1 / (1 + std::exp(-2.0));
             return x < 0 ? 0.0 : x < 1 ? 1 - p : 1.0;
           },
           true},
          {"poisson",
           poisson_loss<double>,
           poisson_loss<float>,
           {std::log(0.4), std::log(6.5)},
           2,
           [](std::size_t i, double x) { return x < 0 ? 0.0 : poisson_cdf_written_out(i == 0 ? 0.4 : 6.5, x); },
           true}};
}

constexpr double kReach = 40;  // no probability beyond

/// Integrates f over (-kReach, kReach) by the midpoint rule; the intervals end at whole numbers.
double integral(const std::function<double(double)>& f) {
  constexpr int kSteps = 128;
  double sum = 0;
  for (int i = 0; i < 2 * static_cast<int>(kReach) * kSteps; ++i) sum += f(-kReach + (i + 0.5) / kSteps) / kSteps;
  return sum;
}

class EveryDistribution : public testing::TestWithParam<Law> {
 protected:
  const Law& law_ = GetParam();
  std::unique_ptr<Loss<double>> loss_ = law_.make();
  const ValueDistribution<double>& distribution_ = loss_->need<ValueDistribution<double>>("test");

  Reals quantile(double level) const {
    Reals result(law_.values);
    distribution_.quantile(law_.signal, level, result);
    return result;
  }
  Reals mean() const {
    Reals result(law_.values);
    distribution_.mean(law_.signal, result);
    return result;
  }
};

TEST_P(EveryDistribution, distribution_has_its_mean) {
  const Reals found = mean();
  for (std::size_t i = 0; i < law_.values; ++i)
    EXPECT_NEAR(found[i], integral([&](double x) { return (x > 0 ? 1 : 0) - law_.cdf(i, x); }), 1e-5);
}

TEST_P(EveryDistribution, quantiles_are_exceeded_with_their_probability) {
  for (const double level : {1e-6, 0.01, 0.1, 0.2, 0.5, 0.7, 0.9, 0.999, 1 - 1e-9}) {
    const Reals found = quantile(level);
    for (std::size_t i = 0; i < law_.values; ++i) {
      if (law_.counts) {
        EXPECT_GE(law_.cdf(i, found[i]), level - 1e-15);
        EXPECT_LT(law_.cdf(i, found[i] - 1), level);
        EXPECT_EQ(found[i], std::floor(found[i]));
      } else {
        EXPECT_NEAR(law_.cdf(i, found[i]), level, 1e-13);
      }
    }
  }
}

TEST_P(EveryDistribution, score_equals_the_numeric_integral) {
  const std::vector<Reals> seen =
      law_.counts ? std::vector<Reals>{{0, 1}, {1, 0}} : std::vector<Reals>{{0, 1}, {-5, 2.5}, {3, -1}, {1.5, 17}};
  for (const Reals& y : seen) {
    double expected = 0;
    for (std::size_t i = 0; i < law_.values; ++i)
      expected += integral([&](double x) { return std::pow(law_.cdf(i, x) - (x >= y[i] ? 1 : 0), 2); });
    EXPECT_NEAR(distribution_.crps(law_.signal, y), expected, 1e-5);
  }
}

TEST_P(EveryDistribution, samples_have_their_probabilities) {
  constexpr int kDraws = 20000;
  Random random(1, "distribution");
  Reals drawn(law_.values), total(law_.values), square(law_.values);
  const std::vector<Reals> levels = {quantile(0.1), quantile(0.5), quantile(0.9)};
  std::vector<Reals> at_most(levels.size(), Reals(law_.values));
  for (int n = 0; n < kDraws; ++n) {
    distribution_.sample(law_.signal, random, drawn);
    for (std::size_t i = 0; i < law_.values; ++i) {
      total[i] += drawn[i], square[i] += drawn[i] * drawn[i];
      for (std::size_t l = 0; l < levels.size(); ++l) at_most[l][i] += drawn[i] <= levels[l][i] ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < law_.values; ++i) {
    const double average = total[i] / kDraws, spread = std::sqrt(square[i] / kDraws - average * average);
    EXPECT_NEAR(average, mean()[i], 5 * spread / std::sqrt(kDraws));
    for (std::size_t l = 0; l < levels.size(); ++l)
      EXPECT_NEAR(at_most[l][i] / kDraws, law_.cdf(i, levels[l][i]), 5 * 0.5 / std::sqrt(kDraws));
  }
}

TEST_P(EveryDistribution, float_double_and_instruction_sets_agree) {
  const auto single = law_.make_float();
  const auto& distribution = single->need<ValueDistribution<float>>("test");
  const std::vector<float> signal(law_.signal.begin(), law_.signal.end()), seen(law_.values, 1);
  const Reals seen_exactly(law_.values, 1), exact = quantile(0.83), exact_mean = mean();
  std::vector<float> found(law_.values), first(law_.values);
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    distribution.quantile(signal, 0.83, found);
    if (simd == simd_available().front()) first = found;
    EXPECT_EQ(found, first) << simd;
    EXPECT_EQ(quantile(0.83), exact) << simd;
  }
  simd_limit(simd_available().front());
  for (std::size_t i = 0; i < law_.values; ++i) EXPECT_NEAR(found[i], exact[i], 3e-6);
  distribution.mean(signal, found);
  for (std::size_t i = 0; i < law_.values; ++i) EXPECT_NEAR(found[i], exact_mean[i], 3e-6);
  EXPECT_NEAR(distribution.crps(signal, seen), distribution_.crps(law_.signal, seen_exactly), 1e-5);
  Random random(2, "distribution"), same(2, "distribution");
  Reals drawn(law_.values);
  distribution.sample(signal, random, found);
  distribution_.sample(law_.signal, same, drawn);
  for (std::size_t i = 0; i < law_.values; ++i) EXPECT_NEAR(found[i], drawn[i], 1e-5);
}

TEST_P(EveryDistribution, invalid_sizes_and_levels_are_rejected) {
  Reals more(law_.values + 1), right(law_.values);
  Random random(1, "distribution");
  EXPECT_THROW(distribution_.mean(law_.signal, more), UsageError);
  EXPECT_THROW(distribution_.quantile(law_.signal, 0.5, more), UsageError);
  EXPECT_THROW(distribution_.crps(law_.signal, more), UsageError);
  EXPECT_THROW(distribution_.sample(law_.signal, random, more), UsageError);
  for (const double level : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_THROW(distribution_.quantile(law_.signal, level, right), UsageError);
}

INSTANTIATE_TEST_SUITE_P(, EveryDistribution, testing::ValuesIn(all_laws()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(ValueDistribution, symbol_losses_have_no_value_distribution) {
  try {
    softmax_loss<double>()->need<ValueDistribution<double>>("forecast");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "forecast requires a distribution of numbers, which the loss softmax does not support");
  }
}

TEST(ValueDistribution, mixture_sample_takes_all_numbers_from_one_component) {
  // Components at (-3, -3) and (3, 3): the signs of the two numbers always agree.
  const double s = signal_of_deviation(0.1);
  const Reals signal = {0, 0, -3, -3, 3, 3, s, s, s, s};
  const auto loss = mixture_loss<double>(2);
  Random random(3, "distribution");
  int above = 0;
  for (int n = 0; n < 1000; ++n) {
    Reals drawn(2);
    loss->need<ValueDistribution<double>>("test").sample(signal, random, drawn);
    EXPECT_GT(drawn[0] * drawn[1], 0);
    above += drawn[0] > 0 ? 1 : 0;
  }
  EXPECT_NEAR(above, 500, 5 * std::sqrt(250));
}

TEST(NormalProbability, normal_probability_equals_the_error_function) {
  for (double z = -37; z < 9; z += 0.0037) {
    // In long double, because rounding z / sqrt(2) alone would affect the thirteenth digit.
    const long double exact = 0.5L * std::erfc(-static_cast<long double>(z) / std::numbers::sqrt2_v<long double>);
    EXPECT_NEAR(static_cast<double>(normal_probability(z) / exact), 1, 3e-15) << z;
  }
  EXPECT_EQ(normal_probability(0), 0.5);
  EXPECT_EQ(normal_probability(50), 1);
  EXPECT_EQ(normal_probability(-50), 0);
  EXPECT_TRUE(std::isnan(normal_probability(std::nan(""))));
  for (double z = -8; z < 5; z += 0.31) EXPECT_NEAR(normal_quantile(normal_probability(z)), z, 2e-11);
}

TEST(MixtureQuantile, mixture_quantile_is_found_for_distant_and_equal_components) {
  const std::vector<std::vector<WeightedNormal>> mixtures = {{{0.5, -1e6, 1e-4}, {0.5, 1e6, 1e-4}},
                                                             {{0.25, 3, 2}, {0.75, 3, 2}},
                                                             {{1 - 1e-12, 0, 1}, {1e-12, 1e4, 1}},
                                                             {{0.9, 0, 1e-4}, {0.1, 0, 1e4}}};
  for (const auto& mixture : mixtures)
    for (const double level : {1e-9, 0.3, 0.4999, 0.6, 0.95, 1 - 1e-6}) {
      const double x = mixture_quantile(mixture, level);
      double below = 0, above = 0;  // the floating-point neighbors of x
      const double width = 1e-13 * std::fabs(x) + 1e-18;
      for (const WeightedNormal& each : mixture) {
        below += each.weight * normal_cdf_written_out((x - width - each.mean) / each.deviation);
        above += each.weight * normal_cdf_written_out((x + width - each.mean) / each.deviation);
      }
      EXPECT_LE(below, level * (1 + 1e-12));
      EXPECT_GE(above, level * (1 - 1e-12));
    }
}

TEST(PoissonLaw, poisson_quantiles_and_scores_are_correct_at_every_rate) {
  for (const double rate : {1e-9, 0.01, 0.7, 3.0, 40.0, 900.0, 20000.0}) {
    const auto most = static_cast<int>(rate + 12 * std::sqrt(rate) + 20);
    Reals cdf;
    double sum = 0;
    for (int k = 0; k <= most; ++k) cdf.push_back(sum += std::exp(k * std::log(rate) - rate - std::lgamma(k + 1.0)));
    for (const double level : {1e-3, 0.25, 0.5, 0.9, 0.9999}) {
      const auto q = static_cast<std::size_t>(poisson_quantile(rate, level));
      EXPECT_GE(cdf[q], level - 1e-9);
      EXPECT_TRUE(q == 0 || cdf[q - 1] < level + 1e-9);
    }
    for (const double y : {0.0, 1.0, std::floor(rate), std::floor(rate) + 5, 2.0 * most}) {
      double expected = 0;
      for (int k = 0; k < 2 * most; ++k) expected += std::pow((k <= most ? cdf[at(k)] : 1) - (k >= y ? 1 : 0), 2);
      EXPECT_NEAR(poisson_crps(rate, y), expected, 1e-7 * (1 + expected));
    }
  }
}

TEST(PoissonLaw, poisson_approaches_a_gaussian_and_is_valid_at_every_rate) {
  const double below = 0.9999e6, above = 1.0001e6;
  EXPECT_NEAR(poisson_crps(above, above + 1000) / poisson_crps(below, below + 1000), 1, 1e-3);
  EXPECT_NEAR(poisson_quantile(above, 0.9) - above, poisson_quantile(below, 0.9) - below, 2);
  EXPECT_EQ(poisson_quantile(0, 0.9), 0);
  EXPECT_EQ(poisson_crps(0, 3), 3);
  EXPECT_EQ(poisson_quantile(INFINITY, 0.1), INFINITY);
  EXPECT_EQ(poisson_crps(INFINITY, 0), INFINITY);
}

TEST(NegativeBinomialLaw, negative_binomial_quantiles_and_scores_are_correct_at_every_mean) {
  for (const double mean : {1e-9, 0.01, 0.7, 3.0, 40.0, 900.0})
    for (const double dispersion : {1e-4, 0.2, 1.0, 30.0}) {
      const double ratio = 1 + mean * dispersion;
      if (ratio > 1000) continue;  // approximated
      const auto most = static_cast<int>(40 * ratio + mean + 12 * std::sqrt(mean * ratio) + 20);
      const double r = 1 / dispersion;
      Reals cdf;
      double sum = 0;
      for (int k = 0; k <= most; ++k)
        cdf.push_back(sum += std::exp(std::lgamma(k + r) - std::lgamma(r) - std::lgamma(k + 1.0) -
                                      r * std::log1p(mean / r) - k * std::log1p(r / mean)));
      for (const double level : {1e-3, 0.25, 0.5, 0.9, 0.9999}) {
        const auto q = static_cast<std::size_t>(negative_binomial_quantile(mean, dispersion, level));
        EXPECT_GE(cdf[q], level - 1e-9) << mean << " " << dispersion;
        EXPECT_TRUE(q == 0 || cdf[q - 1] < level + 1e-9) << mean << " " << dispersion;
      }
      for (const double y : {0.0, 1.0, std::floor(mean), std::floor(mean) + 5, 2.0 * most}) {
        double expected = 0;
        for (int k = 0; k < 2 * most; ++k) expected += std::pow((k <= most ? cdf[at(k)] : 1) - (k >= y ? 1 : 0), 2);
        EXPECT_NEAR(negative_binomial_crps(mean, dispersion, y), expected, 1e-7 * (1 + expected)) << mean;
      }
    }
}

/// Compares distributions just below and above the limits of the variance and of its ratio to the mean.
TEST(NegativeBinomialLaw, negative_binomial_approaches_a_gamma_distribution_and_is_valid_at_every_mean) {
  struct Limit {
    double mean, dispersion;
  };
  for (const auto [mean, dispersion] :
       {Limit{99501.2, 1e-3}, Limit{1998, 0.5}, Limit{49.95, 20}, Limit{450780, 4.7e-5}}) {
    const double below = mean * 0.9999, above = mean * 1.0001;
    for (const double y : {0.0, std::floor(0.7 * mean), std::floor(1.3 * mean), std::floor(5 * mean)})
      EXPECT_NEAR(negative_binomial_crps(above, dispersion, y) / negative_binomial_crps(below, dispersion, y), 1, 5e-3);
    for (const double level : {0.01, 0.2, 0.5, 0.9, 0.999}) {
      const double summed = negative_binomial_quantile(below, dispersion, level);
      EXPECT_NEAR(negative_binomial_quantile(above, dispersion, level), summed, 1.5 + 1e-3 * summed) << mean;
    }
  }
  EXPECT_EQ(negative_binomial_quantile(0, 0.3, 0.9), 0);
  EXPECT_EQ(negative_binomial_crps(0, 0.3, 3), 3);
  EXPECT_EQ(negative_binomial_quantile(1e12, 2e4, 0.1), 0);
  EXPECT_EQ(negative_binomial_quantile(INFINITY, 0.3, 0.1), INFINITY);
  EXPECT_EQ(negative_binomial_crps(INFINITY, 0.3, 0), INFINITY);
  EXPECT_TRUE(std::isfinite(negative_binomial_quantile(1e34, 2e4, 1 - 1e-9)));
}

TEST(StudentLaw, student_quantiles_and_scores_are_correct_for_all_degrees_of_freedom) {
  for (const int freedom : {4, 10, 100, 1000}) {
    for (const double level : {1e-12, 1e-3, 0.3, 0.5, 0.8, 0.999})
      EXPECT_NEAR(student_cdf_written_out(freedom, student_quantile(level, freedom)), level, 1e-13) << freedom;
    for (double t = -6; t < 6; t += 0.37)
      EXPECT_NEAR(student_probability(t, freedom), student_cdf_written_out(freedom, t), 1e-13) << freedom;
  }
  for (const double freedom : {2.0, 2.7, 5.3, 1e4, 9.9e5, 1.1e6, 1e13}) {
    for (const double level : {1e-9, 0.1, 0.5, 0.97})
      EXPECT_NEAR(student_probability(student_quantile(level, freedom), freedom), level, 1e-13) << freedom;
    for (const double y : {-3.0, 0.0, 0.4, 50.0}) {
      // The score grows as the observation moves: d CRPS / d y = 2 P(T <= y) - 1.
      const double slope = (student_crps(freedom, y + 1e-4) - student_crps(freedom, y - 1e-4)) / 2e-4;
      EXPECT_NEAR(slope, 2 * student_probability(y, freedom) - 1, 1e-7) << freedom;
    }
  }
  EXPECT_NEAR(student_crps(9.9e5, 0.7), student_crps(1.1e6, 0.7), 1e-6);
  EXPECT_EQ(student_quantile(0.5, 3), 0);
}

}  // namespace
}  // namespace unfold
