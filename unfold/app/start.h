#pragma once
/// Training that begins with the parameters of another model: `train --start-from RUN`.

#include <string>

#include "unfold/models/network_model.h"

namespace unfold {

/// Takes every parameter that both models have under one name; the others stay as they are. Returns a remark about
/// what was taken. Throws ModelError: one of another shape or type; UsageError: the model is of other data, shares
/// nothing, or has no layers.
template <class T>
std::string start_from(const std::string& run, NetworkModel<T>& model);

}  // namespace unfold
