#pragma once
/// Tail probabilities of the distributions of test statistics, as finite sums that are equal on all machines.

#include "unfold/base/types.h"

namespace unfold::forecasting {

/// Returns P(X >= x) of the chi-squared distribution with an even number of degrees of freedom.
double chi_squared_tail(double x, Index freedom);

/// Returns P(|T| >= |t|) of Student's distribution. Odd degrees of freedom are reduced by one, which increases the
/// probability; 1 for fewer than two.
double student_tails(double t, Index freedom);

/// Returns P(F >= f) of the F distribution, within about 1e-14 of the exact value. Odd degrees of freedom of the
/// denominator are reduced by one, which increases the probability; 1 for fewer than two.
double f_tail(double f, Index numerator, Index denominator);

}  // namespace unfold::forecasting
