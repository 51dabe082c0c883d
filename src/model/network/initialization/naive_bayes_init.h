#pragma once
/// Initialization from counts for a bag of words: before training, the network predicts the label that naive Bayes
/// predicts. Naive Bayes uses, for each word (and word n-gram) of the sequence, the number of training examples of each
/// label that contain it. On small sets of texts, these counts contain information that gradient descent does not find
/// (Wang & Manning 2012).

#include <cstdint>

#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Adds to randomly initialized parameters. Let r_c(a) be log p(a | c), with add-one smoothing, minus its mean over the
/// labels c, and u_c a random vector of signs for each label. Then s sum_c r_c(a) u_c is added to the embedding of a
/// symbol a, and s u_c to the weights of label c. The initial output is therefore about s^2 r_c, averaged over the
/// input. A symbol that is read at every position because its field has one entry per example counts once. Numeric
/// fields keep their random initialization. Does nothing unless the SPEC requests it (start=counts). Throws UsageError
/// for more than one head, a head that does not predict one symbol per sequence, or an embedding whose width differs
/// from the input of the output layer.
template <class T>
void initialize_from_counts(NetworkModel<T>& model, const ExampleSet& training, std::uint64_t seed);

}  // namespace unfold
