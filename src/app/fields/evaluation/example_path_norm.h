#pragma once
/// The path norm of a network unfolded over examples (graph/paths/path_pass.h).

#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns the natural logarithm of the mean of gamma^2 over the examples, each with its own structure; paths end where
/// there are targets. Throws UsageError for units that are not positively homogeneous, and DivergedError if the sums
/// overflow.
template <class T>
double mean_log_path_norm(const NetworkModel<T>& model, const ExampleSet& examples, Team& team);

}  // namespace unfold
