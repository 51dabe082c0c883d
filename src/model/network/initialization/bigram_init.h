#pragma once
/// Initialization from counts for networks that predict a symbol from the preceding ones and read the last symbol
/// directly (`direct=1`): the initial network is a smoothed bigram model of the training data, and training improves
/// it.
///
/// The first symbol of a sequence is predicted from the start of the sequence, which is a separate context. Contexts
/// are smoothed with symbol frequencies (Witten & Bell 1991).

#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Sets the output weights of each such head. The remaining weights of the head become 0. Does nothing for other heads,
/// in particular those that predict numbers or are not trained by softmax.
template <class T>
void initialize_from_bigrams(NetworkModel<T>& model, const ExampleSet& training);

}  // namespace unfold
