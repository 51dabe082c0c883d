#pragma once
/// A small deterministic minimizer for the objectives of classical models: BFGS with numerical gradients (central
/// differences) and a line search over fixed step lengths. All points of a gradient or a line search are evaluated in
/// batches of `kLanes`. It uses neither random numbers nor the clock.
///
///     minimize([&](const double* points, double* values) { ... }, {0.5, 0.0}, {});
///
/// Parameters should be scaled so that a change of about 1 matters. Nocedal and Wright, "Numerical Optimization",
/// chapter 6.

#include <functional>
#include <vector>

#include "model/forecast/lanes.h"

namespace unfold::forecasting {

/// Evaluates kLanes points of n numbers each, stored one after the other; a value of +infinity or NaN means that a
/// point is not feasible.
using BatchObjective = std::function<void(const double* points, double* values)>;

struct MinimizeOptions {
  Index iterations = 200;
  double tolerance = 1e-8;  ///< stops after two steps that reduce the value by less than this, relative to 1 + |value|
};

struct Minimum {
  std::vector<double> x = {};
  double value = 0;
  Index iterations = 0;
};

/// Minimizes from the best of `starts` (at least one, at most kLanes). The value is +infinity if none of them is
/// feasible.
Minimum minimize(const BatchObjective& objective, const std::vector<std::vector<double>>& starts,
                 const MinimizeOptions& options = {});

}  // namespace unfold::forecasting
