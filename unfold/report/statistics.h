#pragma once
/// What a few runs have in common, and how far they lie apart.

#include <vector>

namespace unfold {

/// The quantile q in [0, 1] by linear interpolation between the order statistics (position q (n - 1)). REQUIRES values,
/// none of them NaN.
double quantile(std::vector<double> values, double q);

struct Quartiles {
  double lower = 0, median = 0, upper = 0;
};
Quartiles quartiles(const std::vector<double>& values);

struct MeanAndSpread {
  double mean = 0;
  double deviation = 0;  ///< of single values: the root of the sum of squared differences from the mean over n - 1
  double error = 0;      ///< of the mean: deviation / sqrt(n)
};
/// REQUIRES two values or more.
MeanAndSpread mean_and_spread(const std::vector<double>& values);

}  // namespace unfold
