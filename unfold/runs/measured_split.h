#pragma once
/// Choice of the part of the data to evaluate after training.

#include <optional>
#include <string>

#include "unfold/capabilities/model.h"

namespace unfold {

/// Returns the requested split; if only a part was requested, the split of the run that trained the model. Throws
/// UsageError if that run had no split or divided different data from those read now.
std::optional<std::string> measured_split(const std::optional<std::string>& split,
                                          const std::optional<std::string>& part, const Model& model);

}  // namespace unfold
