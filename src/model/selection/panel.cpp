#include "model/selection/panel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/forecast/lanes.h"

namespace unfold::forecasting {
namespace {

constexpr double kNoError = std::numeric_limits<double>::infinity();
constexpr double kLargestRatio = 20, kLeastGain = 0.005;
constexpr double kSimple = 1.25, kMean = 2;  // relative to the members that adapt to the series

bool is_usable(const MemberBacktest& member) { return member.error > 0 && std::isfinite(member.error); }

/// Returns the median of the usable errors; 0 if there are none.
double median_error(const std::vector<MemberBacktest>& members) {
  std::vector<double> errors;
  for (const MemberBacktest& member : members)
    if (is_usable(member)) errors.push_back(member.loss());
  if (errors.empty()) return 0;
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return *middle;
}

/// Returns the mean logarithm of the error of the combination over the series in which it is positive.
double combined_error(std::span<const std::vector<MemberBacktest>> backtests, std::span<const SampledSeries> sample,
                      Index horizon) {
  const std::vector<double> typical = typical_errors(backtests);
  double sum = 0, count = 0;
  for (std::size_t s = 0; s < sample.size(); ++s) {
    const CombinationBacktest result = backtest_combination(backtests[s], *sample[s].series, sample[s].origins, horizon,
                                                            {.typical = typical, .exponent = kPanelExponent});
    if (result.origins > 0 && result.loss > 0) sum += log_of(result.loss), ++count;
  }
  return count > 0 ? sum / count : kNoError;
}

/// Returns the root mean squares of the errors of each member. Geometric means would prefer a forecast of 0, which has
/// very small errors on the series whose held-out values are all 0.
std::vector<double> root_mean_squares(std::span<const std::vector<MemberBacktest>> backtests) {
  std::vector<double> result;
  result.reserve(backtests.front().size());
  for (std::size_t m = 0; m < backtests.front().size(); ++m) {
    double sum = 0, count = 0;
    for (const std::vector<MemberBacktest>& one : backtests)
      if (std::isfinite(one[m].error)) sum += one[m].loss() * one[m].loss(), ++count;
    result.push_back(count > 0 ? std::sqrt(sum / count) : kNoError);
  }
  return result;
}

}  // namespace

std::vector<double> typical_errors(std::span<const std::vector<MemberBacktest>> backtests) {
  const std::size_t members = backtests.empty() ? 0 : backtests.front().size();
  if (members > 0 && std::ranges::all_of(backtests, [](const auto& one) { return compares_squares(one); }))
    return root_mean_squares(backtests);
  std::vector<double> sums(members, 0), counts(members, 0);
  for (const std::vector<MemberBacktest>& one : backtests) {
    const double median = median_error(one);
    for (std::size_t m = 0; m < members; ++m)
      if (is_usable(one[m])) {
        sums[m] += log_of(std::clamp(one[m].loss() / median, 1 / kLargestRatio, kLargestRatio));
        ++counts[m];
      }
  }
  for (std::size_t m = 0; m < members; ++m) sums[m] = counts[m] > 0 ? exp_of(sums[m] / counts[m]) : kNoError;
  return sums;
}

std::vector<double> usual_errors(std::span<const Member> members, bool calendar, bool intermittent) {
  std::vector<double> errors;
  errors.reserve(members.size());
  for (const Member& member : members) {
    const std::string base = member.base();
    const bool is_simple = base == "naive" || base == "seasonal-naive" || base == "drift" || base == "seasonal-ar";
    errors.push_back(base == "mean" && !intermittent ? kMean : is_simple ? kSimple : 1);
    if (calendar && !member.uses_yearly() && !member.uses_weekly()) errors.back() *= kSimple;
  }
  return errors;
}

std::vector<bool> members_that_pay(std::span<const SampledSeries> sample, std::span<const std::size_t> optional,
                                   Index horizon) {
  std::vector<std::vector<MemberBacktest>> backtests;
  for (const SampledSeries& one : sample) backtests.push_back(one.backtests);
  std::vector<bool> kept(backtests.empty() ? 0 : backtests.front().size(), true);
  double error = combined_error(backtests, sample, horizon);
  for (const std::size_t member : optional) {
    std::vector<double> errors;
    for (std::vector<MemberBacktest>& one : backtests) {
      errors.push_back(one[member].error);
      one[member].error = kNoError;
    }
    const double without = combined_error(backtests, sample, horizon);
    kept[member] = !(without < error + kLeastGain);
    if (!kept[member])
      error = without;
    else
      for (std::size_t s = 0; s < backtests.size(); ++s) backtests[s][member].error = errors[s];
  }
  return kept;
}

}  // namespace unfold::forecasting
