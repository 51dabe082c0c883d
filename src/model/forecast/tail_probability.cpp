#include "model/forecast/tail_probability.h"

#include <algorithm>
#include <cmath>

#include "model/forecast/lanes.h"

namespace unfold::forecasting {

double chi_squared_tail(double x, Index freedom) {
  if (!(x > 0)) return 1;
  // exp(-x/2) sum_{i < freedom/2} (x/2)^i / i!; a term may be large where exp(-x/2) is 0, so its logarithm is summed.
  const double half = 0.5 * x, log_half = log_of(half);
  double sum = 0, log_term = -half;
  for (Index i = 0; i < freedom / 2; ++i) {
    if (i > 0) log_term += log_half - log_of(static_cast<double>(i));
    sum += exp_of(log_term);
  }
  return std::min(1.0, sum);
}

double student_tails(double t, Index freedom) {
  freedom = freedom / 2 * 2;
  if (freedom < 2) return 1;
  // P(|T| < t) = sin(a) (1 + 1/2 cos^2 a + 1/2 3/4 cos^4 a + ...), freedom / 2 terms, with tan(a) = t / sqrt(freedom).
  const double v = static_cast<double>(freedom), cosine_squared = v / (v + t * t);
  double term = 1, sum = 1;
  for (Index i = 1; i < freedom / 2; ++i) {
    const double k = static_cast<double>(i);
    term *= cosine_squared * (2 * k - 1) / (2 * k);
    sum += term;
  }
  return std::clamp(1 - std::fabs(t) / std::sqrt(v + t * t) * sum, 0.0, 1.0);
}

double f_tail(double f, Index numerator, Index denominator) {
  denominator = denominator / 2 * 2;
  if (numerator < 1 || denominator < 2 || !(f > 0)) return 1;
  // P(F < f) = x^a (1 + a (1 - x) + a (a + 1) / 2 (1 - x)^2 + ...), denominator / 2 terms, with a = numerator / 2 and
  // x = numerator f / (numerator f + denominator).
  const double a = 0.5 * static_cast<double>(numerator), rest = static_cast<double>(denominator);
  const double x = 2 * a * f / (2 * a * f + rest), below = rest / (2 * a * f + rest);
  double log_term = a * log_of(x), sum = exp_of(log_term);
  for (Index i = 1; i < denominator / 2; ++i) {
    const double k = static_cast<double>(i);
    log_term += log_of(below * (a + k - 1) / k);
    sum += exp_of(log_term);
  }
  return std::clamp(1 - sum, 0.0, 1.0);
}

}  // namespace unfold::forecasting
