#pragma once
/// Capability of losses that observe fewer labels than there are positions, in order and without saying where: which
/// labels are there.
///
///   const auto& labels = loss.need<Unsegmented<float>>("tagging");
///   std::vector<LabelledChain> found = labels.decode({structure, signal, parameters}, chain, {.beam = 16, .best = 3});

#include <vector>

#include "unfold/losses/label_sequences.h"
#include "unfold/markov/ctc_lattice.h"

namespace unfold {

template <class T>
class Unsegmented : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "labels without places";

  /// Answers for one chain, best first, with the logarithm of their probability: all ways of placing them that the
  /// search kept; of `beam` 1 that of the one way found. Distinct, fewer where there are not so many. `allowed` of the
  /// question has no meaning.
  virtual std::vector<LabelledChain> decode(const LabelQuestion<T>& question, Index chain,
                                            const UnsegmentedSearch& search) const = 0;
  /// The logarithm of the probability of given labels: of all ways of placing them; -inf where they do not fit.
  virtual double log_probability(const LabelQuestion<T>& question, Index chain,
                                 std::span<const Symbol> labels) const = 0;
  /// The most probable places of given labels: the position where each begins, ascending. Throws UsageError for labels
  /// that do not fit.
  virtual std::vector<Index> places(const LabelQuestion<T>& question, Index chain,
                                    std::span<const Symbol> labels) const = 0;
};

}  // namespace unfold
