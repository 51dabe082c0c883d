#pragma once
/// Training of models whose readout is fitted in one pass (models/readout.h).

#include "unfold/models/network_model.h"
#include "unfold/models/readout.h"
#include "unfold/runs/reporter.h"
#include "unfold/training/trainer.h"

namespace unfold {

/// Fits the readout, says how, and notes it in the history of the model, which is not written.
template <class T>
TrainingResult fit_ridge(NetworkModel<T>& model, BatchReader& reader, const ReadoutOptions& options, Team& team,
                         Reporter& reporter);

}  // namespace unfold
