#pragma once
/// Training of models whose readout is fitted in one pass by ridge regression (models/readout.h).

#include "unfold/models/network_model.h"
#include "unfold/models/readout.h"
#include "unfold/runs/reporter.h"
#include "unfold/training/trainer.h"

namespace unfold {

/// Fits the readout, reports the result, and adds it to the history of the model. Does not write the model.
template <class T>
TrainingResult fit_ridge(NetworkModel<T>& model, BatchReader& reader, const ReadoutOptions& options, Team& team,
                         Reporter& reporter);

}  // namespace unfold
