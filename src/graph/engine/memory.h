#pragma once
/// Memory that a plan needs over chains of equal length, computed before anything is allocated.
///
///   bytes = rows * (values + adjoints that outlive their step) + chains * (histories + rings of adjoints) + weights
///
/// Memory therefore grows linearly with the length and the number of the chains. Packed weights count twice, once for
/// each direction. The result equals Unfolding::memory_bytes() after forward and backward.

#include "unfold/graph/plan/plan.h"

namespace unfold {

struct PlannedMemory {
  Index row = 0;      ///< values per position
  Index chain = 0;    ///< additional values per chain
  Index weights = 0;  ///< values in packed weights
};
PlannedMemory planned_memory(const Plan& plan, std::size_t element_bytes);

/// Returns the bytes for `chains` chains of `length` positions.
std::size_t planned_bytes(const Plan& plan, Index chains, Index length, std::size_t element_bytes);

}  // namespace unfold
