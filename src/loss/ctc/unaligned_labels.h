#pragma once
/// Decoding capability of losses (such as CTC) whose targets are label sequences that are shorter than the input and
/// have no alignment.
///
///   const auto& labels = loss.need<Unsegmented<float>>("tagging");
///   std::vector<ScoredLabeling> found = labels.decode({structure, signal, parameters}, chain, {.beam = 16, .best =
///   3});

#include <vector>

#include "loss/crf/label_sequences.h"
#include "loss/ctc/ctc_lattice.h"

namespace unfold {

template <class T>
class Unsegmented : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "unaligned labels";

  /// Returns distinct label sequences for one chain, best first; fewer if fewer exist. The log-probability sums over
  /// all alignments that the search kept; with `beam` 1, it is the log-probability of the single path found. `allowed`
  /// of the query is ignored.
  virtual std::vector<ScoredLabeling> decode(const LabelQuery<T>& question, Index chain,
                                             const UnsegmentedSearch& search) const = 0;
  /// Returns the log-probability of the given labels, summed over all alignments; -inf if they do not fit.
  virtual double log_probability(const LabelQuery<T>& question, Index chain, std::span<const Symbol> labels) const = 0;
  /// Returns the most probable alignment of the given labels: the position where each begins, ascending. Throws
  /// UsageError for labels that do not fit.
  virtual std::vector<Index> places(const LabelQuery<T>& question, Index chain,
                                    std::span<const Symbol> labels) const = 0;
};

}  // namespace unfold
