#pragma once
/// What a backward pass reads of a forward pass, put away in half the memory: activities, and those before the first
/// position, rounded to bfloat16 (numerics/bf16.h), but for the outputs, which losses read and which stay as they are.
/// So the rounded activities of a sequence are the same wherever it is cut into pieces. What can be had again is not
/// put away: inputs and symbols are given anew, masks drawn anew. Ordinary instructions round: every processor has the
/// same bits.

#include <cstdint>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/engine/layout.h"

namespace unfold {

template <class T>
class KeptValues {
 public:
  /// All values of a layout, by a team.
  void take(const Plan& plan, Layout<T>& layout, Team& team);
  /// Puts them back. REQUIRES: a layout over the structure that they were taken from.
  void give(Layout<T>& layout, Team& team) const;
  /// Throws UsageError: nothing was taken, or over another structure or plan.
  void require_for(const Plan& plan, const Layout<T>& layout) const;

  std::size_t memory_bytes() const;

 private:
  /// Where the numbers of a buffer are: from `begin` on in one of the two.
  struct Part {
    int root;
    bool exact;
    Index begin, count;
    bool operator==(const Part&) const = default;
  };
  /// Of all values, and how many numbers of either kind there are.
  static std::vector<Part> parts_of(const Plan& plan, const Layout<T>& layout, Index& exact, Index& rounded);

  std::vector<Part> parts_;
  Buffer<T> exact_;
  Buffer<std::uint16_t> rounded_;
};

}  // namespace unfold
