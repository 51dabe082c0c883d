#pragma once
/// A start from counts for a bag of words: before anything is learnt, a sequence has the label that naive Bayes gives
/// it, from how many training examples of each label hold each of its words (and runs of words). Of small sets of texts
/// these counts know more than a gradient finds in them (Wang & Manning 2012).

#include <cstdint>

#include "unfold/data/example_set.h"
#include "unfold/models/network_model.h"

namespace unfold {

/// Adds to parameters that were drawn at random. With r_c(a) = log p(a | c), less its mean over the labels c, add-one
/// smoothed, and a random vector of signs u_c for each label, the embedding of a symbol a gets s sum_c r_c(a) u_c and
/// the weights of label c get s u_c, so that the output at the start is about s^2 r_c, averaged over what was read.
/// Nothing where the SPEC does not ask for it (start=counts). Throws UsageError: more than one head, or one that is not
/// a symbol once a sequence; a table of another width than what the output reads.
template <class T>
void start_from_counts(NetworkModel<T>& model, const ExampleSet& training, std::uint64_t seed);

}  // namespace unfold
