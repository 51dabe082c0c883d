#pragma once
/// Labels of whole sequences, and targets, among those that are allowed: `predict --constraint`.
///
///   "O* (B-NP I-NP*)+ O*"     a regular expression (search/expression.h) over the labels of all positions
///   "iob"                     chunks are begun before they go on, and ended: iob2 or iobes, as the labels are
///   "chunk=..."               of the field `chunk`, where several are predicted
///
/// Labels come from a conditional random field, or position by position (softmax); both are chains, so that the best
/// answer, all the sums and the probabilities are exact (search/label_search.h). Targets are found by beam search.

#include <functional>
#include <string>
#include <vector>

#include "unfold/data/example_set.h"
#include "unfold/losses/label_sequences.h"
#include "unfold/models/network_model.h"
#include "unfold/search/automaton.h"

namespace unfold {

struct FieldConstraint {
  std::size_t head = 0;  ///< of labels; of targets without meaning
  Automaton allowed;
};

/// Throws UsageError for an expression that is none, a field that is not predicted, labels that are predicted once an
/// example, that the network reads, or that are judged in another way.
template <class T>
FieldConstraint label_constraint(const NetworkModel<T>& model, const std::string& text);
/// Of the targets of a source, or of whole sequences.
template <class T>
Automaton target_constraint(const NetworkModel<T>& model, const std::string& text);

/// What an example may be labelled with.
struct AllowedLabels {
  std::vector<LabelledChain> best = {};     ///< log probabilities without the constraint
  std::vector<double> log_posteriors = {};  ///< [positions x labels], given that the labels are allowed
  double log_probability = 0;               ///< that they are, without the constraint
};

/// Calls use(example, labels) for every example, in no particular order. Throws DataError naming an example of whose
/// length nothing is allowed.
template <class T>
void for_each_allowed(const NetworkModel<T>& model, const ExampleSet& examples, const FieldConstraint& constraint,
                      Index count, Team& team, const std::function<void(Index, const AllowedLabels&)>& use);

}  // namespace unfold
