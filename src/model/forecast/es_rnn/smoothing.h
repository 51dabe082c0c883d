#pragma once
/// Exponential smoothing of one series with a multiplicative season, and its exact derivatives. A network over many
/// series learns the parameters of each series together with its weights (es_rnn_network.h; Smyl, "A hybrid method of
/// exponential smoothing and recurrent neural networks for time series forecasting", 2020).
///
///     l_t     = alpha y_t / s_t + (1 - alpha) l_{t-1}        l_{-1} = y_0 / s_0
///     s_{t+m} = gamma y_t / l_t + (1 - gamma) s_t            log s_0, ..., log s_{m-1} are parameters
///
/// After a missing value, the level and the season of this phase are unchanged.

#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold::forecasting {

/// Parameters of the recursion, or derivatives with respect to them.
struct SmoothingParameters {
  double alpha = 0, gamma = 0;
  std::vector<double> log_seasons = {};  ///< log s_0, ..., log s_{m-1}; empty: no season, all s_t are 1
};

/// The states, for n values.
struct SmoothedSeries {
  std::vector<double> level, log_level;    ///< n elements
  std::vector<double> season, log_season;  ///< n + m elements (m = 1 without a season)
};

/// `values`: positive, NaN if missing. REQUIRES: the first value is observed.
SmoothedSeries smooth(std::span<const double> values, const SmoothingParameters& parameters);

/// Returns the derivatives of a function of the states with respect to the parameters. The arguments contain its
/// derivatives with respect to `log_level` and `log_season`, and are overwritten.
SmoothingParameters smoothing_gradient(std::span<const double> values, const SmoothingParameters& parameters,
                                       const SmoothedSeries& states, std::span<double> level_adjoint,
                                       std::span<double> season_adjoint);

}  // namespace unfold::forecasting
