#pragma once
/// Initialization of a bag of words by logistic regression: before training, the network predicts what a regression on
/// its inputs predicts. Small sets of texts with many labels have too few updates for gradient descent to reach it.

#include <cstdint>

#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Adds to randomly initialized parameters. The regression (logistic_regression.h) reads the mean that the network
/// reads, with each symbol a weighted by its inverse document frequency 1 + log((1 + N) / (1 + N_a)) for N examples, of
/// which N_a contain it, so that common words count less under the common penalty. Let w_ac be the weight that it finds
/// for label c, and u_c a vector of signs for each label, orthogonal to the others as long as the width permits. Then
/// w_ac u_c / s is added to the embedding of symbol a, s u_c to the weights of label c, and the intercepts to its bias.
/// The initial output is therefore that of the regression plus a small random part. A field with one entry per example
/// is read at every position. Numeric fields keep their random initialization.
///
/// Examples without a label are left out. Large sets contribute every kth example and their most frequent symbols, so
/// time and memory are bounded. Does nothing unless the SPEC requests it (start=logistic). Throws UsageError for more
/// than one head, a head that does not predict one symbol per sequence, or an embedding whose width differs from the
/// input of the output layer.
template <class T>
void initialize_from_regression(NetworkModel<T>& model, const ExampleSet& training, std::uint64_t seed);

}  // namespace unfold
