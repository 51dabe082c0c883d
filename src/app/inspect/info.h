#pragma once
/// Describes a model file or run folder.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "unfold/base/formats/json.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Summary of log.jsonl: the entry with the best validation and the last entry, as lines of JSON. Empty if there are
/// none.
struct LogSummary {
  Index entries = 0;
  std::string best_validation = {}, last = {};
};

/// A field that a model reads or predicts.
struct FieldInfo {
  std::string name, type;                         ///< "symbols" or "numbers"
  Index size = 0;                                 ///< symbols in the alphabet, or numbers in a vector
  bool once = false;                              ///< one value per example
  std::string loss = {};                          ///< loss, for predicted fields
  std::vector<double> mean = {}, deviation = {};  ///< constants used to standardize numbers; empty: not standardized
};

/// Returns the size as text: "1 number", "3 numbers", "12 symbols".
std::string size_text(const FieldInfo& field);

struct ModelInfo {
  std::string file, model;            ///< model: SPEC
  Index symbols = 0;                  ///< alphabet size, for text models
  std::string symbol_kind = {};       ///< "chars"; empty for task models and models for data with fields
  std::string task = {}, reads = {};  ///< for task models: the SPEC of the task, its inputs and outputs
  std::string format = {};            ///< for models that read data with fields, which have no symbol_kind and no task
  std::vector<std::string> inputs =
      {};  ///< for models that read data with fields: "previous load" is the value one position earlier
  std::vector<FieldInfo> fields = {};
  std::vector<TensorShape> tensors = {};
  Index parameter_count = 0;
  JsonBox card = {};
  std::optional<LogSummary> log = {};  ///< summary of the log, for run folders with text or data with fields
};
/// `model` is a run folder or model file. Throws ModelError.
ModelInfo describe_model(const std::string& model);
/// Returns the execution plan of a network model: which operations run batched and which step by step. Throws
/// ModelError, and UsageError for a model that is not a network.
std::string print_plan(const std::string& model);
/// Returns the most frequent templates of the log that a model was trained on, as TSV with the columns template (the
/// identifier in alarms), lines and text, or as JSON. Throws UsageError for a model of other data, ModelError.
std::string templates_text(const std::string& model);
nlohmann::ordered_json templates_json(const std::string& model);
/// Returns the output of `unfold info --json`.
nlohmann::ordered_json to_json(const ModelInfo& info);

/// Returns the unit of the logged losses after conversion from nats to bits: "bits per symbol", or "bits per
/// prediction" for data with fields, with a note if numbers are standardized. Throws UsageError if the runs have
/// different units.
std::string logged_unit(const std::vector<std::string>& runs);

/// Plots bits per symbol or per prediction against `over` ("seconds" or "step"): medians and quartiles over the runs
/// that trained the same model. Uses the validation losses, or the training losses of all runs if some run has no
/// validation. Throws ModelError for a folder without either, UsageError for runs with different units, and
/// RuntimeFailure.
void plot_runs(const std::vector<std::string>& folders, const std::string& svg_file,
               const std::string& over = "seconds");

}  // namespace unfold
