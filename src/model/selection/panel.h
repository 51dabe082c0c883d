#pragma once
/// Typical errors of the members of a forecast: over a sample of many series, or in general.
///
/// The backtest of one short series has few origins, so its errors are a noisy estimate of the errors to come. If there
/// are many series, the errors of a member over all of them tell which member is usually better:
///
///     const std::vector<double> typical = typical_errors(backtests);       // backtests[series][member]
///     backtest_combination(backtests[0], series, origins, horizon,
///                          {.typical = typical, .exponent = kPanelExponent})
///
/// An expensive member is used for all series only if it reduces the error of the combination in the sample
/// (`members_that_pay`).

#include <span>
#include <vector>

#include "model/selection/combination.h"

namespace unfold::forecasting {

/// Returns for each member the geometric mean, over the series, of its error divided by the median error of the members
/// on that series. A ratio counts as at least 1/20 and at most 20. If the series have intermittent demand, returns the
/// root mean squares of `MemberBacktest::loss` instead. A member that failed on all series has +infinity.
std::vector<double> typical_errors(std::span<const std::vector<MemberBacktest>> backtests);

/// Returns typical errors for a series that is not one of many: 2 for the mean, 1.25 for other members with a fixed
/// form (naive, seasonal-naive, drift, seasonal-ar), 1 for the others. These are rounded ratios of the errors on series
/// of the M3 and tourism competitions. `calendar`: the series has an effect of the time of the year or of the day
/// of the week; the errors of members without it are 1.25 times as large. `intermittent`: the demand is intermittent
/// (intermittent.h); the mean has the error 1.
std::vector<double> usual_errors(std::span<const Member> members, bool calendar, bool intermittent = false);

/// A series of the sample with the backtests of all members.
struct SampledSeries {
  const UnivariateSeries* series = nullptr;
  std::span<const Index> origins;
  std::vector<MemberBacktest> backtests = {};
};
/// Returns which members are kept. Members are examined in the order of `optional`, which contains indices: a member is
/// not kept if the geometric mean over the series of the error of the combination increases by less than 0.5 % without
/// it. Other members are always kept.
std::vector<bool> members_that_pay(std::span<const SampledSeries> sample, std::span<const std::size_t> optional,
                                   Index horizon);

}  // namespace unfold::forecasting
