#pragma once
/// The path metric at the current parameters of an objective, for the path-normalized direction and the path penalty.

#include <span>

#include "graph/paths/path_pass.h"
#include "unfold/optim/direction/direction.h"
#include "unfold/optim/direction/objective.h"

namespace unfold {

/// Sets kappa [parameters] over the graph of the reading, as the options change it. A tied weight is one parameter with
/// two uses: both copies receive the sum of both derivatives. Throws UsageError for an option that the graph does not
/// support.
template <class T>
PathSums path_sums(PathPass<T>& pass, Objective<T>& objective, const PathReading& reading,
                   const PathMetricOptions& options, std::span<double> kappa);

}  // namespace unfold
