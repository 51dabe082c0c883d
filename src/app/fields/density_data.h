#pragma once
/// Data preparation and default settings for density models, which have no inputs (model/network/density_model.h).

#include <string>
#include <vector>

#include "app/fields/field_plan.h"
#include "data/readers/example_reader.h"

namespace unfold {

/// Returns how table rows become vectors for a density model; for other models, rows are left unchanged.
VectorRows density_rows(const TrainSettings& settings);
/// Returns a plan that predicts the vector and reads nothing. Throws UsageError for settings that do not apply to
/// density models, and DataError if a model of bits gets numbers other than 0 and 1.
FieldPlan plan_density(const Examples& examples, TrainSettings& settings);
/// Returns whether a density model should be chosen for a table: the format was specified, but no model and no fields
/// to read, to predict or to group by. REQUIRES settings before they are planned.
bool may_choose_density(const TrainSettings& settings, const Given& given);
/// Mixtures are fitted by expectation-maximization (model/density/mixture_fit.h). If an option of gradient training was
/// specified, such as a budget or an optimizer, sets their option `fit` to gradients.
void settle_mixture(TrainSettings& settings, const Given& given);

/// Returns whether all columns are numeric and none of them is predicted by default.
bool is_table_of_numbers(const Examples& examples);
bool has_only_bits(const ExampleColumn& vectors);
/// Returns the columns of the vector that have more than one value.
std::vector<std::size_t> varying_columns(const ExampleColumn& vectors);
/// Removes the constant columns of the vector before models are compared, because the density of a constant is
/// arbitrarily high.
void keep_columns(const std::vector<std::size_t>& columns, Examples& examples, FieldChoice& choice);
/// Chooses the optimizer, batch size and budget unless they were set explicitly.
void set_density_defaults(const Examples& examples, const Given& given, TrainSettings& settings);

/// Makes later files match the training data: the vector consists of the columns `parts`, found by name in tables (in
/// any order), and only the classes seen in training are accepted.
void set_expected_columns(const std::vector<std::string>& parts, const ColumnClasses& classes, ReaderOptions& options);
/// Like the function above, but takes the columns and classes from the training data. Does nothing if the data has no
/// vectors.
void set_expected_columns(const Examples& training, ReaderOptions& options);

/// Removes the constant input column of a density model, which is not part of the data. Does nothing for other models.
void drop_constant(const ModelSpec& spec, Examples& shown);

/// Keys of the model card that hold the column names of the vector and the class names of each column.
inline constexpr const char *kColumnsKey = "columns", *kClassesKey = "classes";
/// Returns the column names of the vector.
std::vector<std::string> vector_parts(const Model& model);
/// Throws ModelError if the card is invalid.
ColumnClasses vector_classes(const Model& model);

}  // namespace unfold
