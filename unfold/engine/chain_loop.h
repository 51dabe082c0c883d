#pragma once
/// Loops that are nothing but one recurrence whose operator has a kernel for it (circuit/operator.h): over a single
/// chain it runs all steps in one call, with the bits of the generic walk (tests/engine/sparse_test.cpp). Internal to
/// engine/.

#include <vector>

#include "unfold/engine/plan.h"

namespace unfold {

/// A loop of one affine map that reads itself one step earlier through one such term, beside at most one lookup.
struct ChainLoop {
  int affine = -1;  ///< -1: the segment is no such loop
  int term = -1, lookup = -1, exit = -1;
};

class ChainLoops {
 public:
  explicit ChainLoops(const Plan& plan);
  /// Whether the kernel runs the segment over this structure.
  bool run(std::size_t segment, const Structure& structure) const {
    return loops_[segment].affine >= 0 && structure.kind() == Structure::Kind::chains && structure.sequences() == 1;
  }
  const ChainLoop& operator[](std::size_t segment) const { return loops_[segment]; }

 private:
  std::vector<ChainLoop> loops_;  // per segment
};

}  // namespace unfold
