#pragma once
/// Initialization from the parameters of another model: `train --start-from RUN`.

#include <string>

#include "unfold/model/network/network_model.h"

namespace unfold {

/// Copies every parameter that both models have under the same name; the others are unchanged. Returns a note about the
/// copied parameters. Throws ModelError for a parameter of a different shape or type, and UsageError if the model is
/// for different data, shares no parameter, or has no layers.
template <class T>
std::string copy_matching_parameters(const std::string& run, NetworkModel<T>& model);

}  // namespace unfold
