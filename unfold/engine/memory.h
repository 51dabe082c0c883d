#pragma once
/// What a plan needs to be laid over chains of one length, before anything is allocated.
///
///   bytes = rows * (values + adjoints that outlive their step) + chains * (histories + rings of adjoints) + weights
///
/// so memory grows linearly in the length and in the number of the chains. Packed weights count twice, once for each
/// direction. It is what Unfolding::memory_bytes() finds allocated after forward and backward.

#include "unfold/engine/plan.h"

namespace unfold {

struct PlannedMemory {
  Index row = 0;      ///< numbers for each position
  Index chain = 0;    ///< numbers for each chain besides
  Index weights = 0;  ///< numbers in packed weights
};
PlannedMemory planned_memory(const Plan& plan, std::size_t element_bytes);

/// In bytes, for `chains` chains of `length` positions.
std::size_t planned_bytes(const Plan& plan, Index chains, Index length, std::size_t element_bytes);

}  // namespace unfold
