#pragma once
/// What a model file or run folder holds.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "unfold/base/json.h"
#include "unfold/capabilities/symbol_model.h"

namespace unfold {

/// What log.jsonl tells: its last best validation and its last entry, as lines of JSON; empty when there is none.
struct LogSummary {
  Index entries = 0;
  std::string best_validation = {}, last = {};
};

/// What a model of data with fields reads or predicts.
struct FieldInfo {
  std::string name, type;                         ///< "symbols" or "numbers"
  Index size = 0;                                 ///< symbols in the alphabet, or numbers in a vector
  bool once = false;                              ///< once an example
  std::string loss = {};                          ///< of a field that is predicted
  std::vector<double> mean = {}, deviation = {};  ///< that numbers are standardised by; empty: they are not
};

/// "1 number", "3 numbers", "12 symbols".
std::string size_text(const FieldInfo& field);

struct ModelInfo {
  std::string file, model;               ///< model: SPEC
  Index symbols = 0;                     ///< in the alphabet; of a model of text
  std::string symbol_kind = {};          ///< "chars"; empty: a model of a task or of data with fields
  std::string task = {}, reads = {};     ///< of a model of a task: its SPEC, and what it reads and predicts
  std::string format = {};               ///< of a model of data with fields, which have no symbol_kind and no task
  std::vector<std::string> inputs = {};  ///< of one with fields: what it reads, "previous load" one position earlier
  std::vector<FieldInfo> fields = {};
  std::vector<TensorShape> tensors = {};
  Index parameter_count = 0;
  JsonBox card = {};
  std::optional<LogSummary> log = {};  ///< of a run folder of text or of data with fields
};
/// `model`: a run folder or model file. Throws ModelError.
ModelInfo describe_model(const std::string& model);
/// The plan of a network model: what runs batched, what step by step. Throws ModelError; UsageError for a model that is
/// no network.
std::string print_plan(const std::string& model);
/// What `unfold info --json` prints.
nlohmann::ordered_json to_json(const ModelInfo& info);

/// What the log of a run counts in, with "bits" for its nats: "bits per symbol", "bits per prediction" of data with
/// fields, with a remark where numbers are standardised. Throws UsageError where the runs do not share it.
std::string logged_unit(const std::vector<std::string>& runs);

/// Draws bits per symbol, or per prediction, over the `over`, "seconds" or "step", of training: medians and quartiles
/// of the runs that trained the same model, of their validations or, where one of them has none, of the training loss
/// of all. Throws ModelError for a folder without either, UsageError for runs that do not count in the same unit,
/// RuntimeFailure.
void plot_runs(const std::vector<std::string>& folders, const std::string& svg_file,
               const std::string& over = "seconds");

}  // namespace unfold
