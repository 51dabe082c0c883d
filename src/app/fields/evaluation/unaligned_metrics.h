#pragma once
/// Internal: metrics and decoding for unaligned labels (loss/ctc/unaligned_labels.h).

#include <span>
#include <string>
#include <vector>

#include "loss/ctc/unaligned_labels.h"
#include "train/prediction_metrics.h"
#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {

/// Counts the edits (insertions, deletions, substitutions) between predicted and reference labels.
class LabelErrors {
 public:
  void see(std::span<const Symbol> wanted, std::span<const Symbol> found);
  /// Returns label_error_rate (edits per reference label) and sequence_error_rate (fraction of examples with any
  /// error). Empty if there are no reference labels.
  Measures measures() const;

 private:
  Index wanted_ = 0, edits_ = 0, examples_ = 0, wrong_ = 0;
};

/// Returns the reference labels of an example in order. Labels unseen in training are kNoSymbol, which matches no
/// prediction.
std::vector<Symbol> wanted_labels(const ExampleSet& examples, const std::string& field, Index example);

/// Returns the decoded labels of all chains.
template <class T>
std::vector<std::vector<ScoredLabeling>> decode_chains(const Unsegmented<T>& loss, const LabelQuery<T>& question,
                                                       const UnsegmentedSearch& search, Team& team);

/// Returns the best labels by row, each at the position where it begins, and kNoSymbol elsewhere.
template <class T>
std::vector<Symbol> labels_at_positions(const Unsegmented<T>& loss, const LabelQuery<T>& question, Team& team);

}  // namespace unfold
