#pragma once
/// Sums and updates of gated linear mixing: one row of inputs and several rows of weights, selected by contexts. Sums
/// use kMixingLanes virtual lanes, which are added pairwise at the end; products are rounded before they are added.
/// Results are bit-identical for every vector width.

#include "unfold/base/types.h"

namespace unfold {

inline constexpr Index kMixingLanes = 16;

/// sums[r] = sum_i x[i] weights[r][i] for r < rows, i < n. REQUIRES: n is a multiple of kMixingLanes.
void gated_sums(const float* x, Index n, const float* const* weights, Index rows, float* sums);

/// weights[r][i] += steps[r] x[i]; rows whose step is 0 are not changed.
void gated_steps(const float* x, Index n, float* const* weights, const float* steps, Index rows);

}  // namespace unfold
