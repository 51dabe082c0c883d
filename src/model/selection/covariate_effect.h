#pragma once
/// The linear effect of covariates that are known for the future (holidays, prices, promotions): a forecaster reads the
/// values minus the effect, and the effect of the future covariates is added to its forecast.
///
/// The coefficients come from a regression of the differenced values on covariates that are differenced in the same
/// way, so trends and seasons of both are not mistaken for an effect. The numbers of differences are chosen as in
/// `arima` (decomposition.h).

#include <vector>

#include "model/forecast/series.h"

namespace unfold::forecasting {

class CovariateEffect {
 public:
  /// Estimates the coefficients from the values of the series. They are 0 if there are too few values.
  explicit CovariateEffect(const UnivariateSeries& series);
  /// Returns the effect at a position of the series or after its end. A missing covariate has no effect. Throws
  /// DataError if the covariates end before the position.
  double effect(const UnivariateSeries& series, Index position) const;
  const std::vector<double>& coefficients() const { return coefficients_; }

 private:
  std::vector<double> coefficients_, means_;
};

}  // namespace unfold::forecasting
