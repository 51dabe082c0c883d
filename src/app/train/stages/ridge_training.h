#pragma once
/// Training of models whose readout is fitted without gradient descent (model/network/fitting/readout.h).

#include "app/common/reporter.h"
#include "data/text/repeated_reader.h"
#include "model/network/fitting/readout.h"
#include "unfold/train/trainer.h"

namespace unfold {

/// Fits the readout of a NetworkModel or LanguageModel, reports the result, and adds it to the history of the model.
/// Does not write the model.
template <class AnyModel>
TrainingResult fit_ridge(AnyModel& model, RepeatedReader::Make readers, const ReadoutOptions& options, Team& team,
                         Reporter& reporter);

}  // namespace unfold
