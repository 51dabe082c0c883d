#pragma once
/// Detection of outliers: values that are far from all nearby values, such as a reading of 1,000,000 among values near
/// 100.
///
///     for (const Outlier& outlier : find_outliers(series)) values[outlier.place] = outlier.expected;
///
/// A value is predicted from the line through its neighbors and from the values at the same position in other seasons;
/// the prediction that is closer to the value is used. It is an outlier if its distance from the prediction is more
/// than ten times the usual distance (1.4826 times the median) and more than three times the distance of every value
/// that is not an outlier. If all values are positive, the same must hold for their logarithms, so growth is not
/// mistaken for an outlier. The predictions are then repeated from the values without the outliers, so several outliers
/// close to each other do not hide one another.
///
/// These are not outliers:
/// - three and more adjacent values of this kind, or two at an end of the series: a change of the level
/// - values that recur, most of them at equal distances or after about a year: a regular event
/// - values of this kind if they are more than one in twenty: they are typical of the series

#include <vector>

#include "model/forecast/series.h"

namespace unfold::forecasting {

struct Outlier {
  Index place = 0;
  double value = 0, expected = 0;
};

/// Returns the outliers in ascending order of position. There are none in series of fewer than 12 observed values, or
/// if half of the values are equal.
std::vector<Outlier> find_outliers(const UnivariateSeries& series);

/// Returns the values of a series without its outliers, which are replaced with the expected values.
std::vector<double> without_outliers(const UnivariateSeries& series);

}  // namespace unfold::forecasting
