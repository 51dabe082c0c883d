#pragma once
/// Members of the backtest that are one network for all series: their interface, and what they share.

#include <span>
#include <string>
#include <vector>

#include "model/forecast/segments/segment_training.h"
#include "model/selection/backtest.h"

namespace unfold::forecasting {

class NetworkMember {
 public:
  virtual ~NetworkMember() = default;
  virtual const MemberBacktest& backtest(Index series) const = 0;
  /// Returns the forecast from the end of a series; throws DataError if the network cannot forecast this series.
  virtual const PointsAndWidths& forecast(Index series) const = 0;
  virtual const std::string& form() const = 0;  ///< its sizes, such as "segments:24,window=168,horizon=48,units=64"
};

/// Returns whether a member of this name is a network over all series. Throws UsageError like is_segments.
bool is_network(const std::string& name);

struct SegmentPlanOptions {
  Index horizon = 1;
  Index origins = 5;      ///< number of backtest origins
  double budget = 4e10;   ///< operations as in AutomaticOptions
  bool required = false;  ///< train even if the series are too few or too short for a network to be useful
};

/// Sizes of the network and of its training.
struct SegmentPlan {
  SegmentShape shape = {};
  SegmentTraining training = {};
  double operations = 0;  ///< number of operations of both trainings
};

/// Returns the number of values of a segment for a seasonal period: the season if it has 4 to 64 values, otherwise a
/// multiple or a divisor of it; 8 without a season.
Index segment_of(Index period);
/// Returns the most frequent seasonal period, weighted by the number of values; 1 without series.
Index common_period(std::span<const UnivariateSeries> series);
/// Returns the number of values of a series before its first origin.
Index known_values(const UnivariateSeries& series, const SegmentPlanOptions& options);

/// Sets the units and the training for a number of windows, within the budget. `outside`: operations of a step besides
/// those of the network. Returns whether the budget allows the smallest network, or `options.required`.
bool plan_training(SegmentPlan& plan, Index windows, const SegmentPlanOptions& options, double outside = 0);

/// Returns the end of the values to train on; the values from there to the first origin are for validation.
Index training_end(Index known, Index horizon);
/// Returns the last origin of the windows of a series with `end` values: the last targets may be missing, but not more
/// than half of them.
Index last_origin(Index end, Index horizon);
/// Returns a backtest that states why a network cannot forecast a series.
MemberBacktest failed_backtest(const std::string& reason);

/// Limits the training and validation windows, to bound time and memory.
void thin_out(SegmentSplit& split);

/// Returns the first `wanted` values of the quantiles 0.1, 0.5 and 0.9, each with `horizon` values.
PointsAndWidths points_of(std::span<const double> quantiles, Index horizon, Index wanted);
/// Marks a forecast that no path with steps of observed size can reach (forecaster.h).
void check_range(std::span<const double> history, PointsAndWidths& forecast);

}  // namespace unfold::forecasting
