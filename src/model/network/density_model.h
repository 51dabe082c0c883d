#pragma once
/// Models without inputs: distributions of vectors, such as `nade:500`, `logistic-ar`, `rnade:50,components=20`. Their
/// SPEC is the SPEC of a loss that can be used as a model (LossEntry::density). The signal that the loss reads is a
/// vector of parameters, the same for all examples, computed as a linear map of the field "one", which is the constant
/// 1.

#include <string>
#include <string_view>

#include "loss/density/columns.h"
#include "unfold/model/network/spec.h"

namespace unfold {

/// The predicted field, and the input field.
inline constexpr const char *kVector = "values", *kOne = "one";

/// Returns whether a SPEC names such a model.
bool names_density(std::string_view spec);
/// Returns whether a model is a density model; its ModelSpec::density is the SPEC of the loss.
inline bool is_density(const ModelSpec& spec) { return !spec.density.empty(); }
/// Returns whether such a model describes sequences of vectors, with one vector per position. REQUIRES names_density.
bool is_of_sequences(std::string_view spec);
/// Throws UsageError for options that the loss does not have. REQUIRES names_density.
ModelSpec parse_density(std::string_view spec);

/// Returns the types of the numbers of its vectors, which are given by the option `columns` or are all bits or all
/// numbers. REQUIRES is_density.
std::vector<Column> density_columns(const ModelSpec& spec, Index numbers);
/// Returns the SPEC with the option `columns`, or without it if these are the types that the model has by default.
/// Throws UsageError for a model without this option, and if the SPEC contradicts the columns.
std::string with_columns(std::string_view spec, const std::vector<Column>& columns);

/// Returns the names that parse_model_spec adds to its error message for an unknown name.
std::vector<std::string> density_names();
std::vector<EntryHelp> density_help();

}  // namespace unfold
