#pragma once
/// Partition of a gradient by completion: a backward pass goes from the last segment of a plan to the first, and the
/// weight gradients of a segment are complete after it. Complete parts can be exchanged while the rest is computed.

#include <string>
#include <vector>

#include "unfold/graph/plan/plan.h"

namespace unfold {

struct GradientPart {
  static constexpr int kEnd = -1;
  Range range;
  int segment;  ///< the segment after which the part is complete; kEnd: at the end of the pass
};

/// Returns ranges of the parameters that start at multiples of `grain`, in order of completion. Each range has at least
/// `least` numbers, except for those completed at the end.
std::vector<GradientPart> gradient_parts(const Plan& plan, Index grain, Index least);

/// Returns for each segment the names of the parameters whose gradients are complete after it.
std::vector<std::string> parameters_of_segments(const Plan& plan);

}  // namespace unfold
