#pragma once
/// Choice of the part of the data to evaluate after training.

#include <optional>
#include <string>

#include "app/settings/train_settings.h"
#include "unfold/data/text/split.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Returns whether training has validation data.
bool validates(const TrainSettings& settings);

/// Returns how a text is divided: lines that are sequences are shuffled, except log lines, which are in temporal order.
SplitOrder split_order(const TrainSettings& settings);
/// Returns how the text that a model was trained on was divided.
SplitOrder split_order(const SymbolModel& model);

/// Returns `split`; if only a part is given, the split of the run that trained the model. Throws UsageError if that run
/// had no split.
std::optional<std::string> measured_split(const std::optional<std::string>& split,
                                          const std::optional<std::string>& part, const Model& model);

}  // namespace unfold
