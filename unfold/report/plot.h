#pragma once
/// Plots as plain SVG, in bytes that depend on nothing but the numbers. They follow the reader's choice of light or
/// dark.

#include <string>
#include <vector>

#include "unfold/report/statistics.h"

namespace unfold {

struct CurvePoint {
  double x = 0;
  Quartiles y = {};  ///< of several runs; all three equal for one
};
struct Curve {
  std::string label;
  std::vector<CurvePoint> points;  ///< by rising x
};
struct Axis {
  std::string label;
  bool logarithmic = false;  ///< values of 0 and below are left out
};

/// More lines than this make several pictures of one frame, one below the other.
inline constexpr std::size_t kMostLines = 8;

/// Lines of medians with bands between the quartiles, each labelled where it ends. Points that are not finite are left
/// out. Values above 0 that span orders of magnitude get a logarithmic axis, asked for or not. A line of one point is a
/// dot; beside longer ones it lies on the edge of their x axis where it is beyond.
std::string line_plot(const std::string& title, const Axis& x, const Axis& y, const std::vector<Curve>& curves);

/// Plots, each as the functions here make them, one below the other in one picture.
std::string stacked_plots(const std::vector<std::string>& plots);

struct Bar {
  std::string label;
  Quartiles value;
};
/// Horizontal bars from 0 to the median, with a line between the quartiles. Values are 0 or above. Where all lie within
/// a fifth of the largest, bars would look alike: they are dots over an axis of their own.
std::string bar_plot(const std::string& title, const std::string& unit, const std::vector<Bar>& bars);

}  // namespace unfold
