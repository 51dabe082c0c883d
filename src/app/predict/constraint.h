#pragma once
/// Constraints on predicted labels and targets (`predict --constraint`).
///
///   "O* (B-NP I-NP*)+ O*"     a regular expression (model/decoding/expression.h) over the labels of all positions
///   "iob"                     well-formed chunks, in iob2 or iobes depending on the label set
///   "chunk=..."               applies to the field `chunk` if the model predicts several fields
///
/// Labels come from a conditional random field or from a softmax at each position. Both are chains, so the best label
/// sequence, all sums and the probabilities are exact (model/decoding/label_search.h). Targets are found by beam
/// search.

#include <functional>
#include <string>
#include <vector>

#include "loss/crf/label_sequences.h"
#include "model/decoding/automaton.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

struct FieldConstraint {
  std::size_t head = 0;  ///< index of the label head; unused for targets
  Automaton allowed;
};

/// Throws UsageError for an invalid expression and for a field that is not predicted, is predicted once per example, is
/// read by the network, or has a loss without constrained decoding.
template <class T>
FieldConstraint label_constraint(const NetworkModel<T>& model, const std::string& text);
/// Returns the constraint on the target of a source, or on whole generated sequences.
template <class T>
Automaton target_constraint(const NetworkModel<T>& model, const std::string& text);

/// The constrained labelings of one example.
struct AllowedLabels {
  std::vector<ScoredLabeling> best = {};    ///< log probabilities without the constraint
  std::vector<double> log_posteriors = {};  ///< [positions x labels], conditioned on the constraint
  double log_probability = 0;               ///< log probability that the constraint holds under the unconstrained model
};

/// Calls use(example, labels) for every example, in no particular order. Throws a DataError that names an example if no
/// labeling of its length satisfies the constraint.
template <class T>
void for_each_allowed(const NetworkModel<T>& model, const ExampleSet& examples, const FieldConstraint& constraint,
                      Index count, Team& team, const std::function<void(Index, const AllowedLabels&)>& use);

}  // namespace unfold
