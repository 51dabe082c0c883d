#pragma once
/// Capability of losses over the labels of whole chains: decoding, posteriors and sampling.
///
///   const auto& labels = loss.need<LabelSequences<float>>("tagging");
///   labels.best({batch.structure, signal, parameters}, team, found.data());
///
/// A query may restrict the labels of a position; excluded labels never occur in the result.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loss/crf/chain.h"
#include "unfold/base/error.h"
#include "unfold/loss/loss.h"
#include "unfold/loss/rows.h"

namespace unfold {

/// A query: a signal over chains, and all parameters of the circuit.
template <class T>
struct LabelQuery {
  const Structure& structure;
  Matrix<const T> signal;  ///< [positions x labels]
  std::span<const T> parameters;
  Matrix<const char> allowed = {};  ///< [positions x labels], 0 if excluded; without data, all labels are permitted
};

template <class T>
class LabelSequences : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "labels of whole sequences";

  /// Sets the most probable labels of every chain, one per row. Throws DataError if no labeling is possible.
  virtual void best(const LabelQuery<T>& question, Team& team, Symbol* labels) const = 0;
  /// log_p[r][j] = log-probability of label j at row r, given the signal of the whole chain.
  virtual void log_posteriors(const LabelQuery<T>& question, Team& team, Matrix<T> log_p) const = 0;
  /// Returns the `count` most probable labelings of one chain, best first; fewer if fewer exist.
  virtual std::vector<ScoredLabeling> n_best(const LabelQuery<T>& question, Index chain, Index count) const = 0;
  /// Returns `count` samples for one chain, a function of (seed, chain).
  virtual std::vector<ScoredLabeling> samples(const LabelQuery<T>& question, Index chain, Index count,
                                              std::uint64_t seed) const = 0;
  /// Returns the transition scores, including transitions forbidden by a scheme; the signal holds the scores of
  /// positions (chain.h).
  virtual ChainScores neighbors(std::span<const T> parameters, Index labels) const = 0;
  /// own_gradient [all parameters of the circuit] += scale * transition counts, laid out like the scores.
  virtual void add_transition_counts(const ChainScores& counts, double scale, std::span<T> own_gradient) const = 0;
};

/// Throws a UsageError that names the loss if the structure does not consist of chains or the signal does not have one
/// row per position.
inline void require_chains(const Structure& structure, Index signal_rows, std::string_view loss) {
  require_same_rows(loss, signal_rows, structure);
  if (structure.kind() != Structure::Kind::chains)
    throw UsageError(std::string(loss) + ": supports only chains, not grids or trees");
}

/// Capability of losses that need the names of their labels before `declare`. Throws UsageError if the names are not
/// valid.
template <class T>
class NamedLabels : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "names of labels";
  virtual void name_labels(const std::vector<std::string>& names) = 0;
};

}  // namespace unfold
