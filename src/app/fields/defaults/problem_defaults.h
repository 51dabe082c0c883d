#pragma once
/// The defaults of training on data with fields: model, optimizer and budget for each kind of problem.

#include "app/fields/field_plan.h"
#include "app/settings/train_settings.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Sets model, optimizer and budget for the problem unless they were set explicitly. For labels predicted from whole
/// sequences it also sets the loss (crf), in the plan and in `predict`.
void set_problem_defaults(FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& settings);

/// Returns a note if the stated `read` names a text without the fields that are derived from it by default, so that
/// set_problem_defaults chooses a different model; empty otherwise.
std::string note_on_derived_fields(const FieldPlan& plan, const Examples& examples, TrainSettings settings);

}  // namespace unfold
