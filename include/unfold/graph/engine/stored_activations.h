#pragma once
/// Forward values that a backward pass needs, stored in half the memory: activations and the values before the first
/// position, rounded to bfloat16 (numerics/bf16.h). Outputs are stored exactly because losses read them. As a result,
/// the rounded activations of a sequence do not depend on how it is divided into windows. Values that can be reproduced
/// are not stored: the caller supplies inputs and symbols again, and masks are drawn again. Rounding uses ordinary
/// instructions, so the results are bit-identical on every processor.

#include <cstdint>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/graph/engine/layout.h"

namespace unfold {

template <class T>
class StoredActivations {
 public:
  /// Stores all values of a layout, using a team.
  void take(const Plan& plan, Layout<T>& layout, Team& team);
  /// Restores the values. REQUIRES: `layout` is over the structure from which the values were taken.
  void give(Layout<T>& layout, Team& team) const;
  /// Throws UsageError if nothing was stored, or if the structure or plan differs.
  void require_for(const Plan& plan, const Layout<T>& layout) const;

  std::size_t memory_bytes() const;

 private:
  /// Location of a buffer's values: `count` values from `begin` on, in `exact_` or in `rounded_`.
  struct Part {
    int root;
    bool exact;
    Index begin, count;
    bool operator==(const Part&) const = default;
  };
  /// Returns the locations of all values, and counts how many numbers are stored exactly and how many are rounded.
  static std::vector<Part> parts_of(const Plan& plan, const Layout<T>& layout, Index& exact, Index& rounded);

  std::vector<Part> parts_;
  Buffer<T> exact_;
  Buffer<std::uint16_t> rounded_;
};

}  // namespace unfold
