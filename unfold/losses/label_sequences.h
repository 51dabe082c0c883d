#pragma once
/// Capability of losses that see the labels of a whole chain together: what its best labels are, and how sure it is.
///
///   const auto& labels = loss.need<LabelSequences<float>>("tagging");
///   labels.best({batch.structure, signal, parameters}, team, found.data());
///
/// Questions may restrict the labels of a position; what cannot be is then never an answer.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/losses/loss.h"
#include "unfold/losses/rows.h"
#include "unfold/markov/chain.h"

namespace unfold {

/// A signal over chains, and all parameters of the circuit.
template <class T>
struct LabelQuestion {
  const Structure& structure;
  Matrix<const T> signal;  ///< [positions x labels]
  std::span<const T> parameters;
  Matrix<const char> allowed = {};  ///< [positions x labels], 0: not here; without data: everything is allowed
};

template <class T>
class LabelSequences : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "labels of whole sequences";

  /// The most probable labels of every chain: one a row. Throws DataError where nothing is possible.
  virtual void best(const LabelQuestion<T>& question, Team& team, Symbol* labels) const = 0;
  /// log_p[r][j] = log of the probability of label j at row r, given the signal of the whole chain.
  virtual void log_posteriors(const LabelQuestion<T>& question, Team& team, Matrix<T> log_p) const = 0;
  /// The `count` most probable answers for one chain, best first; fewer where there are not so many.
  virtual std::vector<LabelledChain> n_best(const LabelQuestion<T>& question, Index chain, Index count) const = 0;
  /// `count` draws for one chain, a function of (seed, chain).
  virtual std::vector<LabelledChain> samples(const LabelQuestion<T>& question, Index chain, Index count,
                                             std::uint64_t seed) const = 0;
  /// Scores of neighbours, what a scheme forbids among them; the signal holds those of positions (chain.h).
  virtual ChainScores neighbours(std::span<const T> parameters, Index labels) const = 0;
  /// own_gradient [all parameters of the circuit] += scale * counts of neighbours, as those scores are laid out.
  virtual void add_neighbours(const ChainScores& counts, double scale, std::span<T> own_gradient) const = 0;
};

/// Throws UsageError, in the name of a loss: what it judges are no chains, or the signal has not their rows.
inline void require_chains(const Structure& structure, Index signal_rows, std::string_view loss) {
  require_same_rows(loss, signal_rows, structure);
  if (structure.kind() != Structure::Kind::chains)
    throw UsageError(std::string(loss) + ": labels stand in a row, not in grids or trees");
}

/// Marks losses that want to know what their labels are called, before `declare`. UsageError where they do not suit.
template <class T>
class NamedLabels : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "names of labels";
  virtual void name_labels(const std::vector<std::string>& names) = 0;
};

}  // namespace unfold
