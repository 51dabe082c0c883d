/// Special functions, compared with the C library, closed forms and identities.

#include "numerics/special/gamma.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "numerics/simd.h"

namespace unfold::gamma_test {
namespace {

const std::vector<double> kArguments = {4.6e-5, 1e-3, 0.02, 0.3, 0.5, 1,     1.4616, 2,   2.5, 3.7,
                                        7,      9.99, 15.9, 16,  42,  300.5, 2e4,    1e6, 3e9};

TEST(GammaFunctions, log_gamma_equals_the_function_of_the_c_library) {
  for (const double x : kArguments) {
    const double exact = std::lgamma(x);
    EXPECT_NEAR(log_gamma(x), exact, 2e-15 * std::max(16.0, std::fabs(x * std::log(x)))) << x;
  }
}

TEST(GammaFunctions, half_step_is_the_difference_of_log_gamma) {
  for (const double x : kArguments) {
    const auto wide = static_cast<long double>(x);
    const auto exact = static_cast<double>(std::lgamma(wide + 0.5L) - std::lgamma(wide));
    const double rounding = 1e-18 * std::fabs(x * std::log(x));  // of the difference
    EXPECT_NEAR(log_gamma_half_step(x), exact, 4e-15 * std::max(1.0, std::fabs(exact)) + rounding) << x;
  }
}

TEST(GammaFunctions, digamma_and_trigamma_are_derivatives_with_known_values) {
  constexpr double kEuler = std::numbers::egamma, kPi = std::numbers::pi;
  EXPECT_NEAR(digamma(1), -kEuler, 1e-14);
  EXPECT_NEAR(digamma(0.5), -kEuler - 2 * std::numbers::ln2, 1e-14);
  EXPECT_NEAR(trigamma(1), kPi * kPi / 6, 1e-14);
  EXPECT_NEAR(trigamma(0.5), kPi * kPi / 2, 1e-14);
  for (const double x : kArguments) {
    EXPECT_NEAR(digamma(x + 1) - digamma(x), 1 / x, 1e-13 * (1 + 1 / x)) << x;
    EXPECT_NEAR(trigamma(x) - trigamma(x + 1), 1 / (x * x), 1e-13 * (1 + 1 / (x * x))) << x;
    const long double wide = x, h = 1e-5L * wide;
    const auto slope = static_cast<double>((std::lgamma(wide + h) - std::lgamma(wide - h)) / (2 * h));
    EXPECT_NEAR(digamma(x), slope, 1e-8 * std::max(1.0, std::fabs(slope))) << x;
    const double step = 1e-4 * x, curve = (digamma(x + step) - digamma(x - step)) / (2 * step);
    EXPECT_NEAR(trigamma(x), curve, 1e-7 * std::max(1e-3, curve)) << x;
  }
}

TEST(GammaFunctions, shape_information_does_not_cancel) {
  double last = 1;
  for (const double x : kArguments) {
    if (x < 1000) {
      EXPECT_NEAR(shape_information(x), x * x * trigamma(x) - x, 1e-12);
    }
    EXPECT_LT(shape_information(x), last);
    EXPECT_GT(shape_information(x), 0.5);
    last = shape_information(x);
  }
  EXPECT_NEAR(shape_information(1e6) - 0.5, 1 / 6e6, 1e-15);
}

TEST(GammaFunctions, log_of_one_plus_is_accurate_for_small_numbers) {
  for (const double x : {0.0, 1e-300, 1e-17, 3e-9, 1e-3, 0.7, 5.0, 1e20})
    EXPECT_NEAR(log_of_one_plus(x), std::log1p(x), 4e-16 * std::log1p(x)) << x;
}

TEST(GammaFunctions, gamma_probability_equals_closed_forms) {
  for (const double x : {1e-8, 0.01, 0.3, 1.0, 2.9, 10.0, 40.0}) {
    EXPECT_NEAR(gamma_probability(1, x), -std::expm1(-x), 1e-14) << x;
    EXPECT_NEAR(gamma_probability(0.5, x), std::erf(std::sqrt(x)), 1e-14) << x;
    double poisson = 0;  // P(X <= x) = P(at least 7 events at rate x)
    for (int k = 0; k < 7; ++k) poisson += std::exp(k * std::log(x) - x - std::lgamma(k + 1.0));
    EXPECT_NEAR(gamma_probability(7, x), 1 - poisson, 1e-14) << x;
  }
  EXPECT_NEAR(gamma_probability(1e-5, 1e-30), std::exp(1e-5 * std::log(1e-30)), 1e-4);
  EXPECT_NEAR(gamma_probability(2e4, 2e4), 0.5, 1e-2);
  EXPECT_EQ(gamma_probability(3, 0), 0);
  EXPECT_EQ(gamma_probability(3, INFINITY), 1);
}

TEST(GammaFunctions, beta_probability_equals_sums_of_binomial_probabilities) {
  for (const double x : {1e-6, 0.04, 0.3, 0.5, 0.77, 0.999})
    for (const int a : {1, 2, 9})
      for (const int b : {1, 4, 11}) {
        const int n = a + b - 1;
        double sum = 0;
        for (int k = a; k <= n; ++k)
          sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) + k * std::log(x) +
                          (n - k) * std::log1p(-x));
        EXPECT_NEAR(beta_probability(a, b, x, 1 - x), sum, 3e-14) << x << " " << a << " " << b;
      }
  EXPECT_NEAR(beta_probability(0.5, 0.5, 0.3, 0.7), 2 / std::numbers::pi * std::asin(std::sqrt(0.3)), 1e-14);
  EXPECT_EQ(beta_probability(2, 3, 0, 1), 0);
  EXPECT_EQ(beta_probability(2, 3, 1, 0), 1);
}

TEST(GammaFunctions, results_do_not_depend_on_the_instruction_set) {
  std::vector<std::vector<double>> results;
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    std::vector<double>& found = results.emplace_back();
    for (const double x : kArguments) {
      found.insert(found.end(), {log_gamma(x), log_gamma_half_step(x), digamma(x), trigamma(x), shape_information(x),
                                 gamma_probability(2.3, x), beta_probability(2.3, x, 0.2, 0.8)});
    }
  }
  simd_limit(simd_available().front());
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

}  // namespace
}  // namespace unfold::gamma_test
