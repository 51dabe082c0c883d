#pragma once
/// Internal: labels that stand nowhere in particular (losses/unsegmented.h), as the functions of this room show them.

#include <span>
#include <string>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/data/example_set.h"
#include "unfold/losses/unsegmented.h"
#include "unfold/training/measures.h"

namespace unfold {

/// Labels to be added, taken away and changed until what was found is what was wanted.
class LabelErrors {
 public:
  void see(std::span<const Symbol> wanted, std::span<const Symbol> found);
  /// label_error_rate: edits a wanted label; sequence_error_rate: share of examples that are not found. Nothing when
  /// nothing was wanted.
  Measures measures() const;

 private:
  Index wanted_ = 0, edits_ = 0, examples_ = 0, wrong_ = 0;
};

/// The labels of an example in order; those never seen in training are kNoSymbol, which nobody finds.
std::vector<Symbol> wanted_labels(const ExampleSet& examples, const std::string& field, Index example);

/// Answers for all chains.
template <class T>
std::vector<std::vector<LabelledChain>> decode_chains(const Unsegmented<T>& loss, const LabelQuestion<T>& question,
                                                      const UnsegmentedSearch& search, Team& team);

/// The best labels of all chains where they begin, by row; kNoSymbol elsewhere.
template <class T>
std::vector<Symbol> placed_labels(const Unsegmented<T>& loss, const LabelQuestion<T>& question, Team& team);

}  // namespace unfold
