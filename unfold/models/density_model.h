#pragma once
/// Models that read nothing: distributions of vectors, `nade:500`, `logistic-ar`, `rnade:50,components=20`. Their SPEC
/// is that of a loss which may be a model by itself (LossEntry::density); the signal that the loss reads is a vector of
/// parameters, the same for all examples: a map of the field "one", which holds the number 1.

#include <string>
#include <string_view>

#include "unfold/densities/columns.h"
#include "unfold/models/spec.h"

namespace unfold {

/// The field that is predicted, and the one that is read.
inline constexpr const char *kVector = "values", *kOne = "one";

/// Whether a SPEC names such a model.
bool names_density(std::string_view spec);
/// Whether a model is one; its ModelSpec::density is the SPEC of the loss.
inline bool is_density(const ModelSpec& spec) { return !spec.density.empty(); }
/// Whether such a model is of sequences of vectors: then they stand at every position. REQUIRES names_density.
bool is_of_sequences(std::string_view spec);
/// Throws UsageError for options that the loss does not know. REQUIRES names_density.
ModelSpec parse_density(std::string_view spec);

/// What the numbers of its vectors are: as its option `columns` says, or all bits, or all numbers. REQUIRES is_density.
std::vector<Column> density_columns(const ModelSpec& spec, Index numbers);
/// The SPEC with this option, or without it where the numbers are what the model is of anyhow. Throws UsageError for a
/// model that has no such option, and where the SPEC says something else.
std::string with_columns(std::string_view spec, const std::vector<Column>& columns);

/// What parse_model_spec lists when it knows a name of neither kind.
std::vector<std::string> density_names();
std::vector<EntryHelp> density_help();

}  // namespace unfold
