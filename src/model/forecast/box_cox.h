#pragma once
/// The Box-Cox transformation of positive values and the rule that chooses its exponent.
///
///     const BoxCox transform{box_cox_lambda(values, period)};
///     double z = transform(y), same = transform.inverse(z);

#include <span>

#include "unfold/base/types.h"

namespace unfold::forecasting {

/// (y^lambda - 1) / lambda; log y for lambda = 0; y itself for lambda = 1 (without the shift by 1, so that "no
/// transformation" changes no value).
struct BoxCox {
  double lambda = 1;

  bool identity() const { return lambda == 1; }
  double operator()(double y) const;  ///< y > 0 unless lambda is 1; NaN stays NaN
  double inverse(double z) const;     ///< 0 if z is below the range of the transformation
};

/// Returns lambda in {0, 0.1, ..., 1} by the rule of Guerrero (1993): the series is divided into blocks of max(2,
/// period) values, and lambda minimizes the coefficient of variation of deviation / mean^(1 - lambda) over the blocks.
/// Returns 1 if a value is not positive, if there are fewer than four blocks, or if the minimum is not below 0.8 times
/// the coefficient at 1, because a transformation must clearly reduce the variation.
double box_cox_lambda(std::span<const double> values, Index period);

}  // namespace unfold::forecasting
