#pragma once
/// The forward-backward algorithm of hidden Markov models (hmm.h) over many sequences in parallel. A *lane* processes
/// symbols one after another. The lanes of a group advance together. A forward or backward step is therefore one matrix
/// product over states, [lanes x N] [N x N], and the expected transitions are one product over steps and lanes.
///
/// All sequences, concatenated, are distributed over lanes of equal length; a sequence that is divided between two
/// lanes is *cut*. After a cut, the preceding context is unknown, so a lane starts `warm_up` symbols early (in the
/// backward pass: late) from the uniform distribution over states. Because an HMM forgets its initial state, the lane
/// should agree with the end of the preceding lane at the cut. This is checked at every cut with tolerance kSameStates;
/// by induction, the result is then the same as without cuts. If the check fails (chains with long memory), everything
/// is repeated with a longer warm-up, and finally without cuts.
///
/// The division into lanes depends only on the lengths of the sequences, so results do not depend on the number of
/// threads or on the available memory. Memory determines only how often the history is recomputed, with bit-identical
/// results.

#include <atomic>
#include <functional>
#include <vector>

#include "model/hmm/hmm.h"
#include "unfold/base/threads/team.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// The parameters in the layout of the passes: rows padded with zeros to whole vectors. Products skip padding of more
/// than half a vector.
struct HmmTables {
  explicit HmmTables(const HmmParameters& hmm);
  Matrix<const double> emissions() const { return {b.data(), alphabet, width, width}; }

  Index states, width, columns, alphabet;
  Buffer<double> initial, b;       ///< [width]; transposed, [V x width]
  PackedMatrix<double> a, a_back;  ///< [N x columns]; its transpose
};

/// Reads the symbols of a sequence, [range).
using SequenceReader = std::function<std::vector<Symbol>(Index text, Range range)>;

/// The part of a sequence that one lane processes.
struct Stretch {
  Index text = 0;
  Range range = {};
  /// Indices of the cuts at the two ends; -1: the end is the beginning or the end of the sequence.
  Index cut_before = -1, cut_after = -1;
};

/// Sequences distributed over lanes. The part before a cut is the last part of a lane, and the part after it is the
/// first part of a lane.
struct LaneAssignment {
  LaneAssignment(const std::vector<Index>& lengths, bool may_cut);
  /// Number of lanes per group: the size of a matrix product tile, small enough for the caches.
  static constexpr Index kLanes = 14;
  Index groups() const { return (static_cast<Index>(lanes.size()) + kLanes - 1) / kLanes; }
  std::vector<std::vector<Stretch>> lanes;
  Index cuts = 0;
};

/// The sums that the passes accumulate for one group. `steps` does not include the factor a(i,j).
struct HmmSums {
  Buffer<double> initial, steps, symbols;  ///< [width], [N x width], [V x width]
  double log_likelihood = 0;
};

/// Selects what the passes compute.
struct HmmPassOptions {
  bool backward = true;  ///< false: only the likelihood
  /// Called for every position of every sequence with g and beta, [N]: gamma = g * beta. Called in no particular order,
  /// from the threads of the team.
  std::function<void(Index text, Index position, const double* g, const double* beta)> posterior = {};
  const std::atomic<bool>* stop = nullptr;  ///< polled regularly; if set, InterruptedError is thrown
};

std::vector<HmmSums> run_lanes(const HmmTables& tables, const std::vector<Index>& lengths, const SequenceReader& read,
                               const HmmPassOptions& work, Team& team, HmmMemory& memory);

}  // namespace unfold
