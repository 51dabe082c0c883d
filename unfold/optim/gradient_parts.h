#pragma once
/// The parts that a gradient comes in: a backward pass goes from the last segment of a plan to the first, and the
/// gradients of the weights in a segment are complete behind it. What is complete may be sent while the rest is
/// computed.

#include <string>
#include <vector>

#include "unfold/engine/plan.h"

namespace unfold {

struct GradientPart {
  static constexpr int kEnd = -1;
  Range range;
  int segment;  ///< that it is complete after; kEnd: when the pass is over
};

/// Ranges of the parameters from multiples of `grain` on, in the order in which they are complete, of at least so many
/// numbers but for those in the end.
std::vector<GradientPart> gradient_parts(const Plan& plan, Index grain, Index least);

/// The parameters whose gradients are complete after each segment, by name.
std::vector<std::string> parameters_of_segments(const Plan& plan);

}  // namespace unfold
