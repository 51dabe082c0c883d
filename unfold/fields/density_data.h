#pragma once
/// What models that read nothing (models/density_model.h) make of data and settings.

#include <string>
#include <vector>

#include "unfold/fields/field_data.h"

namespace unfold {

/// How the rows of files become vectors: of a model that reads nothing, so; of others they stay what they are.
VectorRows density_rows(const TrainSettings& settings);
/// The vector is predicted, and nothing is read. Throws UsageError for settings that have no meaning then, DataError
/// where a model of bits meets other numbers.
FieldPlan plan_density(const Examples& examples, TrainSettings& settings);
/// Optimiser, batch and budget, where nobody gave them.
void settle_density(const Examples& examples, const Given& given, TrainSettings& settings);

/// What is read behind the training data, and with the model, has the numbers `parts` of training: from tables by name,
/// in whatever order they stand there. The classes that training showed are all that there are.
void know_vector(const std::vector<std::string>& parts, const ColumnClasses& classes, ReaderOptions& options);
/// The same with the training data at hand; nothing where they are no vectors.
void know_vector(const Examples& training, ReaderOptions& options);

/// Leaves out the constant that such models have for an input, which is none of the data; nothing of others.
void drop_constant(const ModelSpec& spec, Examples& shown);

/// The keys of the card where the names of the numbers of a vector are kept, and those of classes, by column.
inline constexpr const char *kPartsKey = "columns", *kClassesKey = "classes";
/// Numbers of vectors by name.
std::vector<std::string> vector_parts(const Model& model);
/// Throws ModelError where the card has no sense.
ColumnClasses vector_classes(const Model& model);

}  // namespace unfold
