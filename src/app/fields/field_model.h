#pragma once
/// Internal: access to models for data with named fields: loading, reading matching data, stored settings.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/fields/field_reading.h"
#include "model/network/length_model.h"
#include "model/registry/run_folder.h"
#include "unfold/model/network/network_model.h"
#include "unfold/model/registry/registry.h"

namespace unfold {

/// Returns the data settings stored in the model card.
TrainSettings stored_settings(const Model& model);
/// Returns whether the model predicts whole sequences with their ends (`train --ends`).
bool predicts_whole_sequences(const Model& model);
/// Returns the length distribution p(T), if the model ends sequences by length. Throws ModelError.
std::optional<LengthModel> length_model_of(const Model& model);
/// Key of the model card that holds the length distribution.
inline constexpr const char* kLengthKey = "length";
/// Key of the model card that holds the types of columns of a table (data/schema/stored_schema.h).
inline constexpr const char* kSchemaKey = "schema";

/// Returns the fields that the model reads and does not predict.
std::vector<std::string> fields_read_by(const Model& model);
/// Returns reader options that give columns the types stored in the model, regardless of the file contents. `stated`:
/// how a table differs from the training data. Throws UsageError if it is specified for data that is not a table.
ReaderOptions reader_options_for(const Model& model, const SchemaOptions& stated = {});
/// Reads data in the format of the training data, with the columns that the model reads (missing_columns.h); `reporter`
/// receives the notes of the reader. Throws DataError, and UsageError like reader_options_for.
Examples read_for(const Model& model, const std::vector<std::string>& files, Reporter* reporter = nullptr,
                  const SchemaOptions& stated = {});
/// Returns whether rows of a stream can be predicted one by one: the data is a table, read in one direction, with a
/// prediction at every position.
bool reads_row_by_row(const Model& model, const NetworkLayout& layout);
template <class T>
bool goes_row_by_row(const NetworkModel<T>& model) {
  return reads_row_by_row(model, model.layout());
}
/// Returns whether the labels of the model are found by a search: it reads other fields at the same position, and
/// earlier labels of the fields that it predicts. A model that reads only earlier positions (train --ahead) predicts
/// the next entry of known data, so it reads the data.
bool decodes_labels(const Model& model, const NetworkLayout& layout);
template <class T>
bool decodes_labels(const NetworkModel<T>& model) {
  return decodes_labels(model, model.layout());
}
/// Throws DataError if a tree node has more children than the model distinguishes, because the contents of the
/// additional children would be lost.
void check_child_count(const ModelSpec& spec, const ExampleSet& examples);

std::vector<std::string> predicted_fields(const NetworkLayout& layout);
[[noreturn]] void throw_without_fields(const Model& model, const std::string& name);

/// Upper limits of request parameters, the same as for the command-line options.
inline constexpr Index kMaxSamples = 1'000'000, kMaxAhead = 1'000'000, kMaxAnswers = 10'000;

/// Calls use(model) with the network model, in its own precision. Throws UsageError for a model without fields.
template <class Use>
auto with_network_model(const Model& model, const std::string& name, const Use& use) {
  if (!task_of(model).empty()) throw_without_fields(model, name);
  if (const auto* single = model.as<NetworkModel<float>>()) return use(*single);
  if (const auto* exact = model.as<NetworkModel<double>>()) return use(*exact);
  throw_without_fields(model, name);
}

/// Like the function above, for a model that is loaded from a run folder or file. Also throws ModelError.
template <class Use>
auto with_network_model(const std::string& name, const Use& use) {
  const std::unique_ptr<Model> model = load_model_file(model_file(name));
  return with_network_model(*model, name, use);
}

/// Like the function above, for the loaded model of the request if it has one, otherwise for the folder or file that
/// the request names.
template <class Request, class Use>
auto with_model_of(const Request& request, const Use& use) {
  return request.loaded != nullptr ? with_network_model(*request.loaded, request.model, use)
                                   : with_network_model(request.model, use);
}

}  // namespace unfold
