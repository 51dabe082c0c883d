#pragma once
/// The sums of a gated mixer: one row of inputs, several rows of weights that contexts have chosen, and their steps.
/// Sums run in kMixingLanes virtual lanes, which are added pairwise at the end, products are rounded before they are
/// added: the same bits for every vector width.

#include "unfold/base/types.h"

namespace unfold {

inline constexpr Index kMixingLanes = 16;

/// sums[r] = sum_i x[i] weights[r][i] for r < rows, i < n. REQUIRES: n is a multiple of kMixingLanes.
void gated_sums(const float* x, Index n, const float* const* weights, Index rows, float* sums);

/// weights[r][i] += steps[r] x[i]; rows with a step of 0 are left alone.
void gated_steps(const float* x, Index n, float* const* weights, const float* steps, Index rows);

}  // namespace unfold
