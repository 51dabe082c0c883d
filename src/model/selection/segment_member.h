#pragma once
/// A member of the backtest that is one network for all series: it reads windows of the series in segments and predicts
/// the whole horizon at once (model/forecast/segments/segment_network.h).
///
///     const auto plan = plan_segments("segments", series, {.horizon = 48, .budget = 4e10});
///     if (plan) SegmentMember member(*plan, series, origins, 48, team);
///     member.backtest(0).error, member.forecast(0).mean
///
/// A network trained on the values before the first origin of each series forecasts from all origins. The last part of
/// these values determines when its training ends. A second network is trained on all values with the same number of
/// steps and forecasts from the ends of the series. Widths are the distances between the predicted quantiles 0.1, 0.5
/// and 0.9.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/selection/network_member.h"

namespace unfold::forecasting {

/// Returns whether a member of this name is a network: "segments", or "segments:W" with W values in a segment. Throws
/// UsageError if W is not an integer from 1 to 10,000.
bool is_segments(const std::string& name);

/// Derives the sizes from the data. A segment is a season if the season has 4 to 64 values, otherwise a multiple or a
/// divisor of the season, and 8 values without a season. The window has seven segments and at least two horizons, or
/// half of the values before the first origin of the median series if these are fewer. The number of units grows with
/// the number of training windows; the number of steps corresponds to eight passes over these windows, within 600 to
/// 1500. Both are reduced to stay within the budget. Unless `required`, returns nothing if the window had to be
/// shorter, if there are fewer than 1000 windows before the first origins, or if the smallest network exceeds the
/// budget. Without any window, always returns nothing.
std::optional<SegmentPlan> plan_segments(const std::string& name, std::span<const UnivariateSeries> series,
                                         const SegmentPlanOptions& options);

/// A network that was trained before, for any series.
struct TrainedSegments {
  std::shared_ptr<const SegmentNetwork<float>> network;
  std::vector<Index> embeddings;  ///< index for each series; -1: none
};

class SegmentMember final : public NetworkMember {
 public:
  /// `origins` are the backtest origins of each series; a series with an empty list is not used. Trains both networks.
  SegmentMember(const SegmentPlan& plan, std::span<const UnivariateSeries> series,
                std::span<const std::vector<Index>> origins, Team& team);
  /// Trains nothing; the forecasts are the first `horizon` values that the network predicts. Throws UsageError if it
  /// predicts fewer values.
  SegmentMember(const TrainedSegments& trained, std::span<const UnivariateSeries> series,
                std::span<const std::vector<Index>> origins, Index horizon, Team& team);

  const MemberBacktest& backtest(Index series) const override { return backtests_[at(series)]; }
  const PointsAndWidths& forecast(Index series) const override;
  const std::string& form() const override { return form_; }  ///< such as "segments:24,window=168,horizon=48,units=64"
  /// Returns the network that was trained on all values.
  std::shared_ptr<const SegmentNetwork<float>> network() const { return network_; }

 private:
  struct Data;
  void train_before_origins(const Data& data, SegmentTraining& training, SegmentNetwork<float>& network);
  void train_on_all(const Data& data, const SegmentTraining& training, SegmentNetwork<float>& network);
  void run_backtest(const Data& data);
  void run_forecast(const Data& data);

  std::shared_ptr<const SegmentNetwork<float>> network_;
  std::vector<MemberBacktest> backtests_;
  std::vector<PointsAndWidths> forecasts_;  // one forecast per series; empty for a series that is too short
  std::string form_;
};

}  // namespace unfold::forecasting
