#pragma once
/// The rows of the settings of a training run, and the sets of kinds of training to which they apply. Internal to
/// settings/.

#include "app/settings/train_settings.h"
#include "base/options/option_row.h"

namespace unfold {

/// The data that a setting applies to; "finite" data excludes streams.
inline constexpr Kinds kFiniteText = Kind::text;
inline constexpr Kinds kText = Kind::text | Kind::stream;
inline constexpr Kinds kFields = Kind::fields;
inline constexpr Kinds kTask = Kind::task;
inline constexpr Kinds kFiles = kText | kFields;
inline constexpr Kinds kFiniteFiles = kFiniteText | kFields;
inline constexpr Kinds kFiniteData = kFiniteFiles | kTask;

/// Append the rows of settings for the data and how they are read, for the model and its training, and for the
/// execution.
void add_data_rows(OptionRows& rows, TrainSettings& s);
void add_training_rows(OptionRows& rows, TrainSettings& s);
void add_execution_rows(OptionRows& rows, RunSettings& r);

}  // namespace unfold
