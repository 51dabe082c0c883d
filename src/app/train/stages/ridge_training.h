#pragma once
/// Training of models whose readout is fitted in one pass by ridge regression (model/network/readout.h).

#include "app/common/reporter.h"
#include "model/network/readout.h"
#include "unfold/model/network/network_model.h"
#include "unfold/train/trainer.h"

namespace unfold {

/// Fits the readout, reports the result, and adds it to the history of the model. Does not write the model.
template <class T>
TrainingResult fit_ridge(NetworkModel<T>& model, BatchReader& reader, const ReadoutOptions& options, Team& team,
                         Reporter& reporter);

}  // namespace unfold
