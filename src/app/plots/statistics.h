#pragma once
/// Summary statistics of a few runs.

#include <vector>

namespace unfold {

/// Returns the quantile q in [0, 1] by linear interpolation between the order statistics (position q (n - 1)). REQUIRES
/// at least one value and no NaN.
double quantile(std::vector<double> values, double q);

struct Quartiles {
  double lower = 0, median = 0, upper = 0;
};
Quartiles quartiles(const std::vector<double>& values);

struct MeanAndSpread {
  double mean = 0;
  double deviation = 0;  ///< standard deviation of single values: the root of the sum of squared differences from the
                         ///< mean over n - 1
  double error = 0;      ///< standard error of the mean: deviation / sqrt(n)
};
/// REQUIRES at least two values.
MeanAndSpread mean_and_spread(const std::vector<double>& values);

}  // namespace unfold
