#pragma once
/// Refit: after a model was validated on held-out examples, it is fitted again to the training and validation part
/// together. The reported validation metrics are those of the first fit. Models trained by gradients start from the
/// beginning and run for the best number of steps by validation, in proportion to the number of examples.

#include "app/fields/field_plan.h"
#include "app/settings/train_settings.h"

namespace unfold {

/// Data with fewer examples (or, if there is a single example, fewer positions) counts as small.
inline constexpr Index kFewExamples = 2000;

/// Returns whether the model is fitted again: as `settings.refit` specifies; by default for small data that is split
/// by default, if the model is a mixture or a hidden Markov model, or if it predicts labels or events with a default
/// budget. Throws UsageError if `refit` is specified and nothing is held out, or if --valid names the validation data.
/// `default_budget`: neither epochs, steps nor minutes were specified.
bool is_refitted(const FieldPlan& plan, const Examples& examples, const Given& given, const TrainSettings& settings,
                 bool default_budget);

/// Returns the number of steps of the second fit. `training`, `all`: positions.
Index refit_steps(Index best_step, Index training, Index all);

}  // namespace unfold
