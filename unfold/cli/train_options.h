#pragma once
/// The options of `unfold train`.

#include "unfold/app/train.h"
#include "unfold/terminal/options.h"

namespace unfold {

/// Declares the options, which write into `request`; it must outlive them.
void add_train_options(VerbOptions& options, TrainRequest& request);

/// Which of the settings were given. REQUIRES that the options were resolved.
void take_given(const VerbOptions& options, TrainRequest& request);

}  // namespace unfold
