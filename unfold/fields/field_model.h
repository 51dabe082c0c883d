#pragma once
/// Internal: models of data with fields as the functions of this room meet them: a file, its data, its settings.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unfold/fields/field_data.h"
#include "unfold/models/length_model.h"
#include "unfold/models/network_model.h"
#include "unfold/models/registry.h"
#include "unfold/runs/run_folder.h"

namespace unfold {

/// What the card says about how data were read.
TrainSettings stored_settings(const Model& model);
/// Whether the model predicts whole sequences with their ends (`train --ends`).
bool predicts_whole_sequences(const Model& model);
/// p(T) of their lengths, where that is how they end. Throws ModelError.
std::optional<LengthModel> length_model_of(const Model& model);
/// The key of the card where it is kept.
inline constexpr const char* kLengthKey = "length";

/// How data for the model are read: columns hold what it knows them to hold, whatever they look like.
ReaderOptions reader_options_for(const Model& model);
/// Data as the model was trained on; a reporter is told what the reader remarks. Throws DataError.
Examples read_for(const Model& model, const std::vector<std::string>& files, Reporter* reporter = nullptr);
/// Whether rows of a stream can be answered one by one: a table, read in one direction, predicted at every position.
bool reads_row_by_row(const Model& model, const NetworkLayout& layout, const std::string& spec);
template <class T>
bool goes_row_by_row(const NetworkModel<T>& model) {
  return reads_row_by_row(model, model.layout(), model.spec_text());
}
/// Throws DataError when a node of a tree has more children than the model tells apart: what the others hold would be
/// lost.
void require_told_apart(const ModelSpec& spec, const ExampleSet& examples);

std::vector<std::string> predicted_fields(const NetworkLayout& layout);
[[noreturn]] void refuse_without_fields(const Model& model, const std::string& name);

/// What requests may ask for at most, as the options of the command.
inline constexpr Index kMostSamples = 1'000'000, kMostAhead = 1'000'000, kMostAnswers = 10'000;

/// Calls use(model) with a network model of this name, whatever its precision. Throws UsageError for a model without
/// fields.
template <class Use>
auto with_network_model(const Model& model, const std::string& name, const Use& use) {
  if (!task_of(model).empty()) refuse_without_fields(model, name);
  if (const auto* single = model.as<NetworkModel<float>>()) return use(*single);
  if (const auto* exact = model.as<NetworkModel<double>>()) return use(*exact);
  refuse_without_fields(model, name);
}

/// The same with the model in a run folder or file. Throws ModelError, too.
template <class Use>
auto with_network_model(const std::string& name, const Use& use) {
  const std::unique_ptr<Model> model = load_model_file(model_file(name));
  return with_network_model(*model, name, use);
}

/// The same of a request: with the model that it brings along, or else the one in the folder or file that it names.
template <class Request, class Use>
auto with_model_of(const Request& request, const Use& use) {
  return request.loaded != nullptr ? with_network_model(*request.loaded, request.model, use)
                                   : with_network_model(request.model, use);
}

}  // namespace unfold
