#pragma once
/// Internal: Adam for parameters whose gradient is zero in most steps, such as the rows of an embedding that a batch
/// does not read. The steps are taken later, all at once, while the parameters are in registers; the results are
/// bit-identical to adam_step with a gradient of zero in each step.

#include <span>

#include "numerics/adam.h"
#include "unfold/base/types.h"

namespace unfold {

/// Takes the given steps, in order, with a gradient of zero. REQUIRES spans of equal length; none of the steps is lazy.
template <class T>
void skipped_adam_steps(std::span<T> p, std::span<T> m, std::span<T> v, std::span<const AdamFactors<T>> steps);

/// Returns sum_of_squares(x) for at most kSumChunk elements that are zero outside the given ranges, with the same bits.
/// REQUIRES ranges in ascending order that begin at multiples of 16, do not overlap, and end at multiples of 16 or at
/// the end of x.
template <class T>
double sum_of_squares_within(std::span<const T> x, std::span<const Range> ranges);

}  // namespace unfold
