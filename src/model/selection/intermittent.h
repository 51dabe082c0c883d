#pragma once
/// Series of intermittent demand, such as spare parts of which few are sold: most values are 0.
///
/// The forecast that minimizes the absolute error of such a series is its median, which is 0, so members are compared
/// by their squared errors, which the mean minimizes (Kolassa 2016). The last value says little about the next ones.

#include <span>
#include <string>
#include <vector>

#include "model/selection/backtest.h"

namespace unfold::forecasting {

/// Returns whether the demand is intermittent: no value is negative, and from the first positive value on, more than
/// half of the values are 0, at least a quarter of the later positive values follow a 0, and the season does not tell
/// which values are positive (it explains less than half of the variance). Values at the time of day or weekday at
/// which a shop is closed are thus not intermittent.
bool is_intermittent(const UnivariateSeries& series);

/// Returns why a member is not used by default for a series; empty if it is. Members that repeat values are not used
/// for intermittent demand, nor are networks, which predict the median. Members for intermittent demand ("sba", "tsb")
/// are not used for other series.
std::string unsuitable(const std::string& member, bool intermittent);

/// The names of the members for intermittent demand.
inline const std::vector<std::string> kIntermittentMembers = {"sba", "tsb"};

/// Quantiles of intermittent demand. A step has a demand with the probability p = mean / (mean size of the demands), or
/// 1 if the mean is larger; its size is distributed like the observed ones, multiplied by mean / (p mean size).
class DemandDistribution {
 public:
  explicit DemandDistribution(std::span<const double> values);
  /// Returns the quantile of a step with this mean.
  double quantile(double mean, double probability) const;

 private:
  std::vector<double> sizes_ = {};  ///< ascending
  double mean_size_ = 0;
};

}  // namespace unfold::forecasting
