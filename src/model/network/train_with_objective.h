#pragma once
/// Trains a network model with losses that differ from those used for its evaluation (model/decoding/objective.h).

#include "unfold/model/network/network_model.h"

namespace unfold {

/// Like `train` (network_model.h), but with the losses of `network`, which must otherwise equal the network of the
/// model.
template <class T>
TrainingResult train_with_losses(const Network<T>& network, NetworkModel<T>& model, TrainingSources<T> sources,
                                 const TrainerOptions& options, const std::string& model_file, Team& team,
                                 Observer* observer = nullptr);

}  // namespace unfold
