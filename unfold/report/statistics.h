#pragma once
/// Order statistics of a few runs.

#include <vector>

namespace unfold {

/// The quantile q in [0, 1] by linear interpolation between the order statistics (position q (n - 1)). REQUIRES values,
/// none of them NaN.
double quantile(std::vector<double> values, double q);

struct Quartiles {
  double lower = 0, median = 0, upper = 0;
};
Quartiles quartiles(const std::vector<double>& values);

}  // namespace unfold
