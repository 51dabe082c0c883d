#pragma once
/// Which part of data is measured after training.

#include <optional>
#include <string>

#include "unfold/capabilities/model.h"

namespace unfold {

/// The split that was asked for; where a part alone was, the split of the run that trained the model. Throws
/// UsageError where that had none, or cut other data than are read now.
std::optional<std::string> measured_split(const std::optional<std::string>& split,
                                          const std::optional<std::string>& part, const Model& model);

}  // namespace unfold
