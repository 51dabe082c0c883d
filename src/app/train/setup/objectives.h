#pragma once
/// Internal: training objectives of models for data with fields (--objective).

#include "app/settings/train_settings.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns the network to train: the network of the model, the same network with a different loss on its labels, or,
/// for latent trees, a network added to `circuit`, which must be empty. For sequence objectives and latent trees, adds
/// to `sources` a component that chooses the sequences or trees; it keeps references to `model` and `team`. Throws
/// UsageError if the objective does not apply to the model.
template <class T>
Network<T> network_with_objective(const NetworkModel<T>& model, const TrainSettings& settings, Circuit& circuit,
                                  Team& team, TrainingSources<T>& sources);

/// Adds error counting to validation if --best-by requires it, and returns whether it did. Throws UsageError if the
/// errors cannot be counted. Keeps references to `model` and `team`.
template <class T>
bool add_error_metric(const NetworkModel<T>& model, const TrainSettings& settings, Team& team,
                      TrainingSources<T>& sources);

}  // namespace unfold
