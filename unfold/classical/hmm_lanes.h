#pragma once
/// Forward and backward of hidden Markov models (hmm.h) over many sequences at once. A *lane* walks through symbols one
/// after the other; the lanes of a group take each step together, so that a step is one product over states,
/// [lanes x N] [N x N], forward as well as backward, and expected transitions are one product over steps and lanes.
///
/// All sequences, one behind the other, are dealt to lanes of equal length; a sequence that two lanes share is *cut*.
/// Behind a cut nothing of what came before is known; a lane therefore begins `warm_up` symbols early (backward: late),
/// where all states are alike. An HMM forgets where it began, so at the cut it knows what the lane before will find at
/// its end; whether it does is checked at every cut, to kSameStates, and by induction all is then as if nothing had
/// been cut. Where it is not (chains that remember long), all is done anew with a longer warm-up, at last without cuts.
///
/// What is dealt depends on the lengths of the sequences alone, so results depend on neither threads nor memory but
/// for how often history is computed again, whose bits are the same.

#include <atomic>
#include <functional>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/classical/hmm.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// The parameters as the passes read them: rows padded with zeros to whole vectors. Products leave out what of that is
/// more than half a vector.
struct HmmTables {
  explicit HmmTables(const HmmParameters& hmm);
  Matrix<const double> emissions() const { return {b.data(), alphabet, width, width}; }

  Index states, width, columns, alphabet;
  Buffer<double> initial, b;       ///< [width]; transposed, [V x width]
  PackedMatrix<double> a, a_back;  ///< [N x columns]; its transpose
};

/// The symbols of a text, [range).
using TextReader = std::function<std::vector<Symbol>(Index text, Range range)>;

/// A part of a text that one lane walks through.
struct Stretch {
  Index text = 0;
  Range range = {};
  Index cut_before = -1, cut_after = -1;  ///< numbers of the cuts at its ends; -1: it begins, ends with the text
};

/// Texts dealt to lanes: what lies before a cut is the last stretch of a lane, what lies behind it the first of one.
struct LaneDeal {
  LaneDeal(const std::vector<Index>& lengths, bool may_cut);
  static constexpr Index kLanes = 14;  ///< of a group: what a tile of a product holds, and few enough for caches
  Index groups() const { return (static_cast<Index>(lanes.size()) + kLanes - 1) / kLanes; }
  std::vector<std::vector<Stretch>> lanes;
  Index cuts = 0;
};

/// What the passes add up, of a group. `steps` without the factor a(i,j).
struct HmmSums {
  Buffer<double> initial, steps, symbols;  ///< [width], [N x width], [V x width]
  double log_likelihood = 0;
};

/// What to find out.
struct HmmWork {
  bool backward = true;  ///< or only the likelihood
  /// Called for every position of every text with g and beta, [N]: gamma = g * beta. In no particular order, by members
  /// of the team.
  std::function<void(Index text, Index position, const double* g, const double* beta)> posterior = {};
  const std::atomic<bool>* stop = nullptr;  ///< polled now and then; then InterruptedError
};

std::vector<HmmSums> walk_lanes(const HmmTables& tables, const std::vector<Index>& lengths, const TextReader& read,
                                const HmmWork& work, Team& team, HmmMemory& memory);

}  // namespace unfold
