#include "numerics/special/gamma.h"

#include <algorithm>
#include <cmath>

#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr double kSeriesFrom = 16;  // from here on, the asymptotic series are exact to double precision
constexpr double kHalfLogTwoPiOfGamma = 0.91893853320467274178;
constexpr double kTiny = 1e-300, kRelative = 1e-16;
constexpr int kMostTerms = 200'000;

double log_at(double x) {
  vector_log(&x, &x, 1);
  return x;
}

double exp_at(double x) {
  vector_exp(&x, &x, 1);
  return x;
}

/// Returns a number other than 0, as the method of Lentz requires.
double not_zero(double x) { return std::fabs(x) < kTiny ? kTiny : x; }

/// Returns x^a e^-x / Gamma(a + 1).
double gamma_term(double a, double x) { return exp_at(a * log_at(x) - x - log_gamma(a + 1)); }

/// Returns the continued fraction of I_x(a, b), which converges quickly for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d), c = not_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d), c = not_zero(1 + odd / c);
    h *= d * c;
    if (std::fabs(d * c - 1) < kRelative) break;
  }
  return h;
}

}  // namespace

double log_of_one_plus(double x) {
  const double sum = 1 + x;
  if (sum == 1) return x;
  return std::isinf(sum) ? sum : log_at(sum) * (x / (sum - 1));
}

double log_gamma(double x) {
  double product = 1;
  for (; x < kSeriesFrom; ++x) product *= x;
  const double r = 1 / x, q = r * r;
  const double series =
      r * (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680 - q * (1.0 / 1188 - q * 691.0 / 360360)))));
  return (x - 0.5) * log_at(x) - x + kHalfLogTwoPiOfGamma + series - log_at(product);
}

double log_gamma_half_step(double x) {
  double ratio = 1;
  for (; x < kSeriesFrom; ++x) ratio *= x / (x + 0.5);
  const double r = 1 / x, q = r * r;
  const double series = r * (1.0 / 8 - q * (1.0 / 192 - q * (1.0 / 640 - q * (17.0 / 14336 - q * 31.0 / 18432))));
  return 0.5 * log_at(x) - series + log_at(ratio);
}

double digamma(double x) {
  double sum = 0;
  for (; x < kSeriesFrom; ++x) sum += 1 / x;
  const double r = 1 / x, q = r * r;
  const double series = q * (1.0 / 12 - q * (1.0 / 120 - q * (1.0 / 252 - q * (1.0 / 240 - q * (1.0 / 132)))));
  return log_at(x) - 0.5 * r - series - sum;
}

double trigamma(double x) {
  double sum = 0;
  for (; x < kSeriesFrom; ++x) sum += 1 / (x * x);
  const double r = 1 / x, q = r * r;
  const double series = q * r * (1.0 / 6 - q * (1.0 / 30 - q * (1.0 / 42 - q * (1.0 / 30 - q * (5.0 / 66)))));
  return sum + r + 0.5 * q + series;
}

double shape_information(double x) {
  if (x < kSeriesFrom) return x * (x * trigamma(x) - 1);
  const double r = 1 / x, q = r * r;
  return 0.5 + r * (1.0 / 6 - q * (1.0 / 30 - q * (1.0 / 42 - q * (1.0 / 30 - q * (5.0 / 66)))));
}

double gamma_probability(double shape, double x) {
  if (!(x > 0)) return 0;
  if (std::isinf(x)) return 1;
  if (x < shape + 1) {
    double term = 1, sum = 1;
    for (int k = 1; k <= kMostTerms && term > kRelative * sum; ++k) sum += term *= x / (shape + k);
    return std::min(1.0, gamma_term(shape, x) * sum);
  }
  double b = x + 1 - shape, c = 1 / kTiny, d = 1 / not_zero(b), h = d;
  for (int k = 1; k <= kMostTerms; ++k) {
    const double a = -k * (k - shape);
    b += 2;
    d = 1 / not_zero(a * d + b), c = not_zero(b + a / c);
    h *= d * c;
    if (std::fabs(d * c - 1) < kRelative) break;
  }
  return std::max(0.0, 1 - shape * gamma_term(shape, x) * h);
}

double beta_probability(double a, double b, double x, double rest) {
  if (!(x > 0)) return 0;
  if (!(rest > 0)) return 1;
  const double log_front = log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log_at(x) + b * log_at(rest);
  return beta_probability(a, b, x, rest, exp_at(log_front));
}

double beta_probability(double a, double b, double x, double rest, double front) {
  if (!(x > 0)) return 0;
  if (!(rest > 0)) return 1;
  if (x < (a + 1) / (a + b + 2)) return std::min(1.0, front * beta_fraction(a, b, x) / a);
  return std::max(0.0, 1 - front * beta_fraction(b, a, rest) / b);
}

}  // namespace unfold
