#pragma once
/// Selects the weights to drop and to tie in training (train/objective/weight_rules.h) according to the options of a
/// model. Internal to model/network/.

#include "unfold/model/network/network_body.h"

namespace unfold {

/// `wdrop`: the recurrent matrices; `dropoute`: the rows of the embedding. Throws a UsageError that names the missing
/// part of the model.
std::vector<WeightDropout> weight_drops(const ModelSpec& spec, const Plan& plan);

/// `tied`: embedding and output. Throws UsageError unless one symbol field is both read and predicted at every
/// position, and the input of its output layer has the size of the embedding.
WeightTie tied_weights(const ModelSpec& spec, const NetworkLayout& layout, const Circuit& circuit);

}  // namespace unfold
