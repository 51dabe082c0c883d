#pragma once
/// Evaluates a model on data with named fields, or on one part of a split.
///
///   evaluate_on_fields({.model = "chunker", .data = {"test.txt"}}).heads[0].measures

#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/fields/evaluation/field_metrics.h"
#include "data/schema/table_schema.h"
#include "unfold/model/model.h"

namespace unfold {

struct FieldEvaluation {
  std::string model;
  std::vector<std::string> data;
  std::optional<std::string> split = {}, part = {};  ///< the split, in the format of training, and its part "train",
                                                     ///< "valid" or "test"
  Index beam = 1;                                    ///< beam width, for models that read a source
  std::string unknown = "error";  ///< handling of labels unseen in training: "error", or "skip", which counts them as
                                  ///< wrong
  std::vector<std::string> given = {};  ///< see PredictRequest
  Index threads = 0;
  SchemaOptions stated = {};      ///< format of a table, where it differs from the training data
  Reporter* reporter = nullptr;   ///< receives the notes of the reader
  const Model* loaded = nullptr;  ///< used instead of loading a file; `model` is then its name in messages
  bool true_labels = false;       ///< for models that read earlier labels: read those of the data
  bool path_norm = false;         ///< also compute FieldFigures::log_path_norm
};
/// Throws UsageError, DataError, ModelError.
FieldFigures evaluate_on_fields(const FieldEvaluation& request);

}  // namespace unfold
