#pragma once
/// Plots as plain SVG. The output depends only on the input, byte for byte. Colors adapt to light and dark mode.

#include <string>
#include <vector>

#include "app/plots/statistics.h"

namespace unfold {

struct CurvePoint {
  double x = 0;
  Quartiles y = {};  ///< quartiles over several runs; all three are equal for one run
};
struct Curve {
  std::string label;
  std::vector<CurvePoint> points;  ///< points in order of increasing x
};
struct AxisTick {
  double at = 0;
  std::string label = {};
};
struct Axis {
  std::string label;
  bool logarithmic = false;          ///< values of 0 and below are omitted
  std::vector<AxisTick> ticks = {};  ///< of a linear x axis; empty: chosen from the values, which label them
};

/// Maximum number of lines per frame; more lines are divided into several frames, one below the other.
inline constexpr std::size_t kMostCurves = 8;

/// Returns a plot of medians as lines with bands between the quartiles; each line is labeled at its end. Points that
/// are not finite are omitted. Positive values that span orders of magnitude are drawn on a logarithmic axis even if
/// the axis does not specify it. A line of one point is drawn as a dot; next to longer lines, it is clamped to their x
/// range.
std::string line_plot(const std::string& title, const Axis& x, const Axis& y, const std::vector<Curve>& curves);

/// Returns one image with the given plots (created by the functions in this header), one below the other.
std::string stacked_plots(const std::vector<std::string>& plots);

struct Bar {
  std::string label;
  Quartiles value;
};
/// Returns a plot of horizontal bars from 0 to the median, with a line between the quartiles. Values are non-negative.
/// If all values differ by less than a fifth of the largest, dots on an axis that does not start at 0 are drawn
/// instead.
std::string bar_plot(const std::string& title, const std::string& unit, const std::vector<Bar>& bars);

}  // namespace unfold
