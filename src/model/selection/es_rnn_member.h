#pragma once
/// A member of the backtest that smooths every series and forecasts with a network over all series, trained together
/// (ES-RNN; model/forecast/es_rnn/es_rnn_network.h). It is used like SegmentMember, and trained in the same way: the
/// backtest uses a network and parameters of smoothing from the values before the first origin of each series.

#include <optional>

#include "model/forecast/es_rnn/es_rnn_training.h"
#include "model/selection/network_member.h"

namespace unfold::forecasting {

/// Returns whether a member of this name is this network: "es-rnn".
bool is_es_rnn(const std::string& name);

/// Derives the sizes from the data: segments as in plan_segments, and a window of two segments and at least the
/// horizon, or half of the values before the first origin of the median series if these are fewer. Only series of
/// positive values are counted. Unless `required`, returns nothing for fewer than 20 such series, if the window had to
/// be shorter than the horizon, for fewer than 1000 windows before the first origins, or if the smallest network
/// exceeds the budget. Without any window, always returns nothing.
std::optional<SegmentPlan> plan_es_rnn(std::span<const UnivariateSeries> series, const SegmentPlanOptions& options);

class EsRnnMember final : public NetworkMember {
 public:
  /// `origins` are the backtest origins of each series; a series with an empty list is not used. Trains both networks.
  /// If training diverges, the member fails for all series.
  EsRnnMember(const SegmentPlan& plan, std::span<const UnivariateSeries> series,
              std::span<const std::vector<Index>> origins, Team& team);

  const MemberBacktest& backtest(Index series) const override { return backtests_[at(series)]; }
  const PointsAndWidths& forecast(Index series) const override;
  const std::string& form() const override { return form_; }  ///< such as "es-rnn:12,window=24,horizon=18,units=32"

 private:
  void run(const SegmentPlan& plan, std::span<const UnivariateSeries> series,
           std::span<const std::vector<Index>> origins, Team& team);

  std::vector<MemberBacktest> backtests_;
  std::vector<PointsAndWidths> forecasts_;  // empty for a series that is not used
  std::string form_;
};

}  // namespace unfold::forecasting
