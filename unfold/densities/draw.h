#pragma once
/// Internal: draws from a list of probabilities.

#include <span>

#include "unfold/numerics/random.h"

namespace unfold {

/// A place in the list, by inversion in its order; -1: no probability is positive.
template <class T>
Index draw_by_logs(std::span<const T> log_probabilities, Random& random);

}  // namespace unfold
