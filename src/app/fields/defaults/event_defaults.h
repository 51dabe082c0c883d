#pragma once
/// Default settings for sequences of events: symbols that are predicted from the preceding ones, such as the events of
/// each user in a table.

#include "app/fields/field_plan.h"
#include "app/settings/train_settings.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Returns whether symbols at every position are predicted from the preceding ones by softmax. A text of a table is not
/// a sequence of events.
bool predicts_events(const FieldPlan& plan, const Examples& examples);

/// Sets model, optimizer, batch and budget unless they were set explicitly: the number of updates depends on the data,
/// and training ends if validation no longer improves. REQUIRES predicts_events.
void set_event_defaults(const FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& settings);

}  // namespace unfold
