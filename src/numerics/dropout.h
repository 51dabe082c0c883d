#pragma once
/// Dropout masks (Srivastava et al. 2014) from counter-based random numbers.

#include <cstdint>

#include "unfold/base/views.h"

namespace unfold {

/// Sets mask[r][c] to 0 with probability `rate`, else to 1/(1-rate). The mask is a function only of (seed, stream,
/// keys[r], c), so a sequence gets the same mask alone or in a batch. Throws UsageError unless 0 <= rate < 1.
template <class T>
void dropout_mask(std::uint64_t seed, std::uint64_t stream, const std::uint64_t* keys, double rate, Matrix<T> mask);

}  // namespace unfold
