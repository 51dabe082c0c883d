#pragma once
/// Single values that are far from everything around them, such as a reading of 1,000,000 among values near 100.
///
///     for (const Outlier& outlier : find_outliers(series)) values[outlier.place] = outlier.expected;
///
/// A value is expected to continue the line through its neighbors, or the values at the same place of other seasons,
/// whichever is closer. It is an outlier if its distance from there is more than ten times the usual one (1.4826 times
/// the median) and more than three times that of every value that is not an outlier. If all values are positive, this
/// must hold for their logarithms too, so that growth is not taken for an outlier. Two neighbors are a change of the
/// level, not outliers, and if there are more than one in a hundred values, the series is like that: there are none.

#include <vector>

#include "model/forecast/series.h"

namespace unfold::forecasting {

struct Outlier {
  Index place = 0;
  double value = 0, expected = 0;
};

/// Ascending by place. None in series of less than 12 observed values, or if half of the values are equal.
std::vector<Outlier> find_outliers(const UnivariateSeries& series);

}  // namespace unfold::forecasting
