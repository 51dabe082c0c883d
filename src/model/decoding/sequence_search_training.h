#pragma once
/// Search-based training for encoder-decoder networks, which read the symbols that they predict, on whole sequences
/// with their ends. The sequences of a batch are searched together, with one decoder step for all prefixes at a time;
/// the sequences that the objective selects form a new batch (train/objective/sequence_objective.h). objective.h
/// defines the objectives.

#include <memory>
#include <string_view>

#include "model/decoding/target_decoder.h"
#include "model/decoding/target_search.h"
#include "unfold/train/objective/sequence_objective.h"

namespace unfold {

/// Returns whether --objective applies to whole sequences of the network, that is, whether the network reads the
/// symbols that it predicts and predicts their end.
template <class T>
bool supports_sequence_objectives(const Network<T>& network, const DataSpecification& data, const TargetEnds& ends);

/// Keeps references to the network and the data. `objective`: a SPEC other than the likelihood (objective.h). Sequences
/// with an unknown symbol contribute no loss. Throws UsageError for a network that TargetDecoder does not support and
/// for a network that reads the length of its target.
template <class T>
std::unique_ptr<BatchChooser<T>> sequence_chooser(const Network<T>& network, const DataSpecification& data,
                                                  const TargetEnds& ends, std::string_view objective,
                                                  std::uint64_t seed, Team& team);
/// Like the function above, with a given objective, over sequences of at most `longest` symbols, including the end; 0:
/// twice the true length plus four.
template <class T>
std::unique_ptr<BatchChooser<T>> sequence_chooser(const Network<T>& network, const DataSpecification& data,
                                                  const TargetEnds& ends, const SequenceObjective& objective,
                                                  Index longest, std::uint64_t seed, Team& team);

}  // namespace unfold
