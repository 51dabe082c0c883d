#pragma once
/// Forecasts of one or many series with automatic model selection: members are compared in a rolling-origin backtest,
/// the best members are fitted to all values and combined, and intervals are calibrated on the held-out values.
///
///     Team team(2);
///     const auto forecasts = forecast_automatically(series, {.horizon = 12, .coverage = {0.8, 0.95}}, team);
///     forecasts[0].mean, forecasts[0].lower[0], forecasts[0].upper[0]
///
/// Special cases. A series without observed values has missing forecasts. If all observed values are equal, the
/// forecast is this value with width 0, or without an interval if there is only one value. A series with fewer than
/// four values up to the last observed value has a naive forecast, with widths derived from its differences. Outliers
/// (outliers.h) are replaced with their predicted values, unless there are known covariates that may explain them. If
/// no value is negative, forecasts and limits are not below 0. A member whose forecast leaves the range that the
/// differences of the history allow (forecaster.h) is omitted, which `notes` reports. If the demand is intermittent
/// (intermittent.h), default members that repeat values are omitted, members are compared by squared errors, and limits
/// are quantiles of the demands.
///
/// Results do not depend on the number of threads. With fewer than 20 series, they do not depend on the other series
/// either, except for the choice of members within the budget. With 20 or more series, the weights also depend on the
/// errors of the members over a sample of at most 100 series (panel.h), and the intervals on the scores of all series.
/// With more than 200 series, ets and arima are used only if they improve the combination in this sample.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/forecast/outliers.h"
#include "model/forecast/series.h"
#include "model/selection/residual_diagnostics.h"
#include "model/selection/segment_member.h"
#include "unfold/base/threads/team.h"

namespace unfold::forecasting {

inline constexpr double kEsRnnShare = 0.25;

struct AutomaticOptions {
  Index horizon = 1;
  std::vector<double> coverage = {0.8};   ///< probabilities of central intervals, in (0, 1)
  std::vector<std::string> members = {};  ///< members, as in backtest.h; empty: `default_members` within the budget
  Index origins = 0;                      ///< number of backtest origins; 0: five, or fewer if the budget is small
  /// Operations for all series (about 1e9 take one second on one processor); 0: `default_budget`.
  double budget = 0;
  /// Operations for the network "segments" over all series (segment_member.h). "es-rnn" (es_rnn_member.h) uses at most
  /// a quarter of this number in addition.
  double network_budget = 4e10;
  /// If set, the member "segments" uses this network instead of training a new one; the members must be specified
  /// explicitly.
  std::shared_ptr<const TrainedSegments> trained = nullptr;
  /// Called with the member "segments" after it was trained.
  std::function<void(const SegmentMember&)> on_network = {};
  /// Called with the members that were tried only on a sample of the series, because they do not improve the
  /// combination enough (panel.h).
  std::function<void(const std::vector<std::string>&)> on_dropped = {};
};

/// Returns the budget of operations for a number of series: 2e10, or 5e8 per series up to 3e11 if this is more.
double default_budget(std::size_t series);

struct MemberReport {
  std::string name;       ///< name of the member, as in backtest.h
  std::string form = {};  ///< the form fitted to all values, such as "ets:A,Ad,N"; empty if none was fitted
  double error = 0;       ///< MASE in the backtest; +infinity if the member failed, NaN if there was no backtest
  double weight = 0;
  std::string note = {};  ///< reason why the member failed or was omitted
};

struct AutomaticForecast {
  std::vector<double> mean = {};                            ///< NaN if there is no observed value
  std::vector<std::vector<double>> lower = {}, upper = {};  ///< [coverage][horizon]
  std::vector<MemberReport> members = {};                   ///< members, sorted by error
  double error = 0;                      ///< MASE of the combination in the backtest; NaN without a backtest
  Index origins = 0;                     ///< number of origins in the backtest
  std::string note = {};                 ///< not empty if the forecast of the series is defined without a backtest
  ResidualDiagnostics diagnostics = {};  ///< of the weighted mean of the residuals of the members that have residuals
  std::vector<Outlier> outliers = {};    ///< values that were replaced; positions refer to the series as given
  bool intermittent = false;             ///< whether the forecast is the mean of intermittent demand (intermittent.h)
  Index week = 0;                        ///< steps of a week if the day of the week has an effect; 0: none
};

/// The plan that the budget allows.
struct AutomaticPlan {
  std::vector<std::string> members = {};
  std::vector<std::string> left_out = {};  ///< members that exceed the budget
  std::vector<std::string> dropped = {};   ///< members of AutomaticOptions::on_dropped; `plan_members` sets none
  Index origins = 5;
  double operations = 0;  ///< estimated number of operations; 0 if the members are stated
};
AutomaticPlan plan_members(std::span<const UnivariateSeries> series, const AutomaticOptions& options);

/// Returns the names of the members that are compared by default (except networks over all series), in the order in
/// which a small budget uses them. With `known`, includes members with covariates; with `yearly`, members with an
/// effect of the time of the year; with `weekly` instead, members with an effect of the day of the week.
std::vector<std::string> default_members(bool known = false, bool yearly = false, bool weekly = false);
/// Returns the estimated number of operations of one fit and forecast of a member. `has_missing`: some values are
/// missing; arima then uses a Kalman filter instead of conditional sums.
double member_operations(const std::string& name, Index values, Index period, bool has_missing = false);

/// Throws UsageError for a horizon below 1, a coverage outside (0, 1), and unknown members.
std::vector<AutomaticForecast> forecast_automatically(std::span<const UnivariateSeries> series,
                                                      const AutomaticOptions& options, Team& team);

}  // namespace unfold::forecasting
