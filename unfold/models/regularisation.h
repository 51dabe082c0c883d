#pragma once
/// Which weights training drops and ties (training/weight_rules.h), by the options of a model. Internal to models/.

#include "unfold/models/network_body.h"

namespace unfold {

/// `wdrop`: the matrices of loops; `dropoute`: the rows of the embedding. Throws UsageError naming what the model
/// lacks.
std::vector<WeightDrop> weight_drops(const ModelSpec& spec, const Plan& plan);

/// `tied`: embedding and output. Throws UsageError unless one field of symbols is read and predicted at every position,
/// by an output that reads as many numbers as an embedding has.
WeightTie tied_weights(const ModelSpec& spec, const NetworkLayout& layout, const Circuit& circuit);

}  // namespace unfold
