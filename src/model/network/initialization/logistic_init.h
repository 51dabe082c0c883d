#pragma once
/// Initialization of a bag of words by logistic regression: before training, the network predicts what a regression on
/// its inputs predicts. Small sets of texts with many labels have too few updates for gradient descent to reach it.

#include <cstdint>

#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// The penalty of the regression and its largest number of steps.
inline constexpr double kRegressionPenalty = 0.3;
inline constexpr Index kRegressionSteps = 300;

/// Replaces the random parameters of embeddings and of the output. The regression (logistic_regression.h) reads the
/// mean that the network reads, with each symbol a weighted by f_a, its inverse document frequency 1 + log((1 + N) / (1
/// + N_a)) for N examples, N_a of which contain it, so that the penalty falls on common words. Let w_ac be the weight
/// that it finds for label c, and u_c a vector of signs for each label, orthogonal to the others as long as the width
/// permits. Then the embedding of symbol a is sum_c f_a w_ac u_c / s, the weights of label c are s u_c, and the bias
/// consists of the intercepts. The initial output is therefore that of the regression. A field with one entry per
/// example is read at every position. Numeric fields keep their random initialization.
///
/// Examples without a label are left out. Large sets contribute every kth example and their most frequent symbols, so
/// time and memory are bounded. Does nothing and returns false unless the SPEC requests it (start=logistic). Throws
/// UsageError for more than one head, a head that does not predict one symbol per sequence, or an embedding whose width
/// differs from the input of the output layer.
template <class T>
bool initialize_from_regression(NetworkModel<T>& model, const ExampleSet& training, std::uint64_t seed);

}  // namespace unfold
