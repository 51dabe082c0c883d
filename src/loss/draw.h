#pragma once
/// Internal: sampling from a list of log-probabilities.

#include <span>

#include "unfold/numerics/random.h"

namespace unfold {

/// Returns an index into the list, drawn by inversion in list order; -1 if no probability is positive.
template <class T>
Index draw_by_logs(std::span<const T> log_probabilities, Random& random);

}  // namespace unfold
