#pragma once
/// How good a model is on data with fields, or on a part of them.
///
///   evaluate_on_fields({.model = "chunker", .data = {"test.txt"}}).heads[0].measures

#include <optional>
#include <string>
#include <vector>

#include "unfold/capabilities/model.h"
#include "unfold/fields/field_figures.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct FieldEvaluation {
  std::string model;
  std::vector<std::string> data;
  std::optional<std::string> split = {}, part = {};  ///< as in training; "train", "valid" or "test"
  Index beam = 1;                                    ///< of models that read a source
  std::string unknown = "error";  ///< labels never seen in training: "error", or "skip", which counts them as wrong
  std::vector<std::string> given = {};  ///< as of PredictRequest
  Index threads = 0;
  Reporter* reporter = nullptr;   ///< told what the reader remarks
  const Model* loaded = nullptr;  ///< read already, in place of the file; `model` is what messages call it
};
/// Throws UsageError, DataError, ModelError.
FieldFigures evaluate_on_fields(const FieldEvaluation& request);

}  // namespace unfold
