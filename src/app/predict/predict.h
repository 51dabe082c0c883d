#pragma once
/// Predictions on data with named fields: the input table with added columns.
///
///   predict({.model = "chunker", .data = {"test.txt"}}, [](std::string_view text) { std::cout << text; }, reporter);

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/reporter.h"
#include "data/schema/table_schema.h"
#include "unfold/model/model.h"

namespace unfold {

enum class TableFormat { tsv, jsonl };

struct PredictRequest {
  std::string model;              ///< run folder or model file
  std::vector<std::string> data;  ///< files in the format of the training data
  TableFormat format = TableFormat::tsv;
  bool probabilities = false;  ///< adds one column per class for symbol fields
  /// For forecasting models: > 0 predicts this number of positions beyond the end of each sequence instead of the
  /// existing positions.
  Index ahead = 0;
  Index samples = 200;  ///< number of sampled paths for positions beyond the next one
  std::uint64_t seed = 1;
  Index threads = 0;  ///< 0: all available processors
  /// Streaming: writes each example when it is complete. The result for a table row is written immediately if the
  /// network reads in one direction.
  bool follow = false;
  /// For models that read a source: the beam width, the number of targets to write, samples instead of the best
  /// targets, and attention weights (JSON lines only). `best` also applies to label sequences.
  Index beam = 1, best = 1;
  bool sampled = false, attention = false;
  /// "FIELD=VALUE" for fields that are known before a sequence begins; overrides the data (app/fields/condition.h).
  /// Without data, predicts a single example.
  std::vector<std::string> given = {};
  SchemaOptions stated = {};                   ///< format of a table, where it differs from the training data
  std::optional<std::string> constraint = {};  ///< constraint on labels or targets (app/predict/constraint.h)
  const Model* loaded = nullptr;               ///< used instead of loading a file; `model` is then its name in messages
};

/// Writes the table in pieces. TSV has a header and one row per position, or one row per example if every head predicts
/// once per example; tabs and newlines in text are escaped. JSON lines have one object per example.
///
/// Added columns:
///   symbols           FIELD.best, FIELD.probability
///   numbers           FIELD.mean, FIELD.q10, FIELD.q90; for vectors FIELD.mean.1 and so on
///   label sequences   with `best` > 1: FIELD.best.1 and so on (the labels of the n-th best sequence) and
///                     FIELD.sequence.1 and so on (the probability of that sequence)
///   targets           FIELD.best, FIELD.probability (of the whole target), FIELD.best.2 and so on; with `sampled`,
///                     `samples` columns FIELD.sample.1 and so on; with `attention`, FIELD.attention, one row of
///                     source weights per target position
///
/// Throws UsageError, DataError, ModelError.
void predict(const PredictRequest& request, const std::function<void(std::string_view)>& write, Reporter& reporter);

/// Returns whether a run folder or model file holds a model for data with fields; false if it cannot be read.
bool holds_field_model(const std::string& model);

}  // namespace unfold
