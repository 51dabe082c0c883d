#pragma once
/// Loops that consist of a single recurrence whose operator has a specialized kernel (graph/circuit/operator.h). Over a
/// single chain the kernel runs all steps in one call, with results bit-identical to the generic traversal
/// (tests/graph/engine/sparse_test.cpp). Internal to engine/.

#include <vector>

#include "unfold/graph/plan/plan.h"

namespace unfold {

/// A loop of one affine map that reads its own value from the previous step through one term with such an operator,
/// plus at most one lookup.
struct ChainLoop {
  int affine = -1;  ///< -1 if the segment is not such a loop
  int term = -1, lookup = -1, exit = -1;
};

class ChainLoops {
 public:
  explicit ChainLoops(const Plan& plan);
  /// Returns whether the kernel runs the segment over this structure.
  bool run(std::size_t segment, const Structure& structure) const {
    return loops_[segment].affine >= 0 && structure.kind() == Structure::Kind::chains && structure.sequences() == 1;
  }
  const ChainLoop& operator[](std::size_t segment) const { return loops_[segment]; }

 private:
  std::vector<ChainLoop> loops_;  // one entry per segment
};

}  // namespace unfold
