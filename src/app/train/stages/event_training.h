#pragma once
/// Selection of the columns that a network for sequences of events reads: only earlier events, or also the other
/// columns, such as times.

#include <array>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/fields/field_plan.h"
#include "app/settings/train_settings.h"
#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {

/// Returns the fields of `NetworkLayout::reads`, separated by commas, as in TrainSettings::read.
std::string fields_of_reads(const std::vector<std::string>& reads);

/// Returns whether the columns are to be selected: events are predicted, there are other columns, and neither the
/// columns nor options of training were given.
bool selects_event_reads(const FieldPlan& plan, const Examples& examples, const Given& given,
                         const TrainSettings& settings);

/// Trains the default network with each choice and returns the `NetworkLayout::reads` of the smaller validation loss;
/// other columns must reduce it by 2 %. Returns those of the plan without a validation part. `parts`: training,
/// validation and test part. `unknown_rate`: see ExampleBatchOptions.
template <class T>
std::vector<std::string> select_event_reads(const std::array<ExampleSet, 3>& parts, const FieldPlan& plan,
                                            const TrainSettings& settings, double unknown_rate, Team& team,
                                            Reporter& reporter);

}  // namespace unfold
