#pragma once
/// Training of a network model by other losses than those that it is measured by (search/objective.h).

#include "unfold/models/network_model.h"

namespace unfold {

/// As train (network_model.h), with the losses of `network`: that of the model, but for these.
template <class T>
TrainingResult train_by(const Network<T>& network, NetworkModel<T>& model, TrainingSources<T> sources,
                        const TrainerOptions& options, const std::string& model_file, Team& team,
                        Observer* observer = nullptr);

}  // namespace unfold
