#pragma once
/// The series of an EsRnnNetwork: logarithms of the values, and constants that do not depend on parameters.
///
///     const EsRnnSeries series({.values = values, .period = 12}, 100);
///
/// The scale is the mean absolute seasonal difference of the logarithms of the known values, so the errors of the
/// network have the unit of the MASE of the logarithms.

#include <span>
#include <vector>

#include "model/forecast/es_rnn/smoothing.h"
#include "model/forecast/series.h"

namespace unfold::forecasting {

struct EsRnnSeries {
  std::vector<double> values;        ///< NaN: missing
  std::vector<double> logs, filled;  ///< logarithms of the values; `filled`: interpolated
  std::vector<double> log_seasons;   ///< initial seasons of the initial parameters; empty: no season
  double scale = 1;

  /// `known`: number of values from which the scale and the initial seasons are computed. REQUIRES: the first value is
  /// observed, and all values are positive.
  EsRnnSeries(const UnivariateSeries& series, Index known);

  Index size() const { return static_cast<Index>(values.size()); }
  Index period() const { return log_seasons.empty() ? 1 : static_cast<Index>(log_seasons.size()); }
};

/// Returns whether there are observed values, and all of them are positive.
bool is_positive(std::span<const double> values);

}  // namespace unfold::forecasting
