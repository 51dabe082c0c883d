#pragma once
/// Defaults of running text that depend on its size and on the budget.
///
/// The default model when the training budget is in minutes and no model was specified. Gates that depend on the input,
/// and weight decay, reach a lower loss in equal time. For a short budget, the best size allows a few thousand steps,
/// and for a small text about a dozen epochs; larger models are not yet trained by then (docs/performance.md has
/// measurements). The chosen model is stored with the run like a specified one. With a budget in steps or epochs, the
/// default model is always the same.

#include <string>

#include "app/settings/train_settings.h"
#include "unfold/base/types.h"

namespace unfold {

/// Returns whether the default model applies: running text, a budget in minutes, and no model specified.
bool uses_default_model(const TrainSettings& settings, const Given& given);

/// Returns the number of units for training data of `symbols` symbols, at the speed of two cores. REQUIRES minutes > 0,
/// symbols >= 0.
Index default_units(double minutes, Index symbols);

/// Sets the model, and the optimizer unless it was specified. Returns a note that states the choice, the reason, and
/// how to override it.
std::string choose_default_model(TrainSettings& settings, const Given& given, Index symbols);

/// Returns whether the default epochs of a text of `symbols` symbols are fewer than kFewestUpdates updates
/// (defaults.h): a list of 300 names has 20. Only windows of the same network are counted as updates, not whole texts
/// or sequences.
bool is_small_text(const TrainSettings& settings, Index symbols);

/// Sets the defaults for a small text: small batches, kFewestUpdates updates or more, early stopping after a third of
/// these updates without an improvement, and a model with fewer units and more dropout. Settings that were specified
/// are unchanged. Returns a note. REQUIRES is_small_text(settings, symbols), a default budget.
std::string set_small_text_defaults(TrainSettings& settings, const Given& given, Index symbols);

}  // namespace unfold
