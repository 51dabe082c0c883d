#pragma once
/// Learning through search for networks that read what they predict: encoder and decoder, whole sequences with their
/// ends. The sequences of a batch are searched together, the decoder stepped over all of their beginnings at once; what
/// the objectives choose becomes a batch of its own (training/chosen_batch.h). objective.h says what is paid.

#include <memory>
#include <string_view>

#include "unfold/search/target_decoder.h"
#include "unfold/search/target_search.h"
#include "unfold/training/chosen_batch.h"

namespace unfold {

/// Whether --objective is for whole sequences of the network: it predicts symbols that it reads, and where they end.
template <class T>
bool searches_sequences(const Network<T>& network, const DataSpecification& data, const TargetEnds& ends);

/// Refers to the network and the data. `objective`: a SPEC other than the likelihood (objective.h). Sequences with a
/// symbol that is not known pay nothing. Throws UsageError: a network that TargetDecoder refuses; one that is told the
/// length of what it predicts.
template <class T>
std::unique_ptr<BatchChooser<T>> sequence_chooser(const Network<T>& network, const DataSpecification& data,
                                                  const TargetEnds& ends, std::string_view objective,
                                                  std::uint64_t seed, Team& team);
/// The same with an objective of its own, over sequences of at most `longest` symbols, their end among them; 0: twice
/// as many as the truth has, and four.
template <class T>
std::unique_ptr<BatchChooser<T>> sequence_chooser(const Network<T>& network, const DataSpecification& data,
                                                  const TargetEnds& ends, const SequenceObjective& objective,
                                                  Index longest, std::uint64_t seed, Team& team);

}  // namespace unfold
