#pragma once
/// The options of `unfold train`.

#include "app/train/train.h"
#include "cli/terminal/options.h"

namespace unfold {

/// Adds the options. They write into `request`, which must outlive them.
void add_train_options(CommandOptions& options, TrainRequest& request);

/// Records which settings were set explicitly. REQUIRES that the options were resolved.
void take_given(const CommandOptions& options, TrainRequest& request);

}  // namespace unfold
