#pragma once
/// Internal: what training of data with fields pays for, as --objective says.

#include "unfold/models/network_model.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// The network that is trained: the model's, or one whose labels are paid for otherwise, or, of trees that it finds,
/// one added to the circuit, which is empty. Of sequences, and of such trees, the sources get what chooses them, which
/// refers to model and team. Throws UsageError for what the objective is not for.
template <class T>
Network<T> network_with_objective(const NetworkModel<T>& model, const TrainSettings& settings, Circuit& circuit,
                                  Team& team, TrainingSources<T>& sources);

/// What counts wrong labels in validation, where --best-by asks for it: whether it does. Throws UsageError where
/// nothing can be counted. Model and team are referred to.
template <class T>
bool add_judge(const NetworkModel<T>& model, const TrainSettings& settings, Team& team, TrainingSources<T>& sources);

}  // namespace unfold
