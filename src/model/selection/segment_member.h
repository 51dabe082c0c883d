#pragma once
/// A member of the backtest that is one network for all series: it reads windows of them in segments and predicts the
/// whole horizon at once (model/forecast/segments/segment_network.h).
///
///     const auto plan = plan_segments("segments", series, {.horizon = 48, .budget = 4e10});
///     if (plan) SegmentMember member(*plan, series, origins, 48, team);
///     member.backtest(0).error, member.forecast(0).mean
///
/// A network trained on the values before the first origin of each series forecasts from all origins. The last part of
/// these values decides when its training ends. A second network is trained on all values with that number of steps and
/// forecasts from the ends of the series. Widths are those between the quantiles 0.1, 0.5 and 0.9 that it predicts.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/forecast/segments/segment_training.h"
#include "model/selection/backtest.h"

namespace unfold::forecasting {

/// Returns whether a member of this name is a network: "segments", or "segments:W" with W values in a segment. Throws
/// UsageError if W is not an integer from 1 to 10,000.
bool is_segments(const std::string& name);

struct SegmentPlanOptions {
  Index horizon = 1;
  Index origins = 5;      ///< of the backtest
  double budget = 4e10;   ///< operations as in AutomaticOptions
  bool required = false;  ///< also if the series are too short for a network to be useful
};

/// Sizes of the network and of its training.
struct SegmentPlan {
  SegmentShape shape = {};
  SegmentTraining training = {};
  double operations = 0;  ///< of both trainings
};

/// Sizes that follow from the data: a segment is a season if that has 4 to 64 values, otherwise a multiple or a divisor
/// of it, and 8 values without a season; the window has seven segments and at least two horizons, or half of the values
/// before the first origin of the median series if these are fewer. The number of units grows with the number of
/// windows to train on, the number of steps is eight passes over these, within 600 to 1500, and both are reduced to
/// stay within the budget. Unless `required`, returns nothing if the window had to be shorter, if there are fewer than
/// 1000 windows before the first origins, or if the smallest network exceeds the budget. Without any window, always
/// returns nothing.
std::optional<SegmentPlan> plan_segments(const std::string& name, std::span<const UnivariateSeries> series,
                                         const SegmentPlanOptions& options);

/// A network that was trained before, for any series.
struct TrainedSegments {
  std::shared_ptr<const SegmentNetwork<float>> network;
  std::vector<Index> embeddings;  ///< of each series; -1: none
};

class SegmentMember {
 public:
  /// `origins`: of the backtest of each series; empty: the series takes no part. Trains both networks.
  SegmentMember(const SegmentPlan& plan, std::span<const UnivariateSeries> series,
                std::span<const std::vector<Index>> origins, Team& team);
  /// Trains nothing; the forecasts are the first `horizon` values of those of the network. Throws UsageError if it
  /// predicts fewer.
  SegmentMember(const TrainedSegments& trained, std::span<const UnivariateSeries> series,
                std::span<const std::vector<Index>> origins, Index horizon, Team& team);

  const MemberBacktest& backtest(Index series) const { return backtests_[at(series)]; }
  /// The forecast from the end of a series; throws DataError if it is too short.
  const PointsAndWidths& forecast(Index series) const;
  const std::string& form() const { return form_; }  ///< such as "segments:24,window=168,horizon=48,units=64"
  /// The network that was trained on all values.
  std::shared_ptr<const SegmentNetwork<float>> network() const { return network_; }

 private:
  struct Data;
  void train_before_origins(const Data& data, SegmentTraining& training, SegmentNetwork<float>& network);
  void train_on_all(const Data& data, const SegmentTraining& training, SegmentNetwork<float>& network);
  void run_backtest(const Data& data);
  void run_forecast(const Data& data);

  std::shared_ptr<const SegmentNetwork<float>> network_;
  std::vector<MemberBacktest> backtests_;
  std::vector<PointsAndWidths> forecasts_;  // empty: too short
  std::string form_;
};

}  // namespace unfold::forecasting
