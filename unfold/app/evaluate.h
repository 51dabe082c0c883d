#pragma once
/// How well a model predicts data, as one call. Models of tasks: task_figures.h.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/app/reading.h"
#include "unfold/models/learning.h"
#include "unfold/runs/figures.h"

namespace unfold {

struct EvaluateRequest {
  std::string model;                                 ///< run folder or model file
  std::vector<std::string> data;                     ///< files, each one sequence
  std::optional<std::string> split = {}, part = {};  ///< "90/5/5" as in training, and "train", "valid" or "test" of it
  std::optional<std::string> mask = {};              ///< file: which symbols are to be predicted
  std::string unknown = "error";                     ///< symbols that the model does not know: "error" or "skip"
  ReadingSettings reading = {};
  bool by_stepper = false;                      ///< one symbol at a time, with the same digits
  std::optional<LearningOptions> dynamic = {};  ///< the model goes on learning: each symbol is predicted, then learnt
  Index threads = 0;                            ///< 0: every processor available
  /// Every symbol in order, once all are measured: position in the part, its name, nats (NaN: not predicted).
  std::function<void(Index, std::string_view, float)> symbol = {};
  const SymbolModel* loaded = nullptr;  ///< read already, in place of the file; `model` is what messages call it
};

struct EvaluateOutcome {
  Figures figures = {};
  Evaluation evaluation = {};
  std::string part;              ///< "all", "training", "validation", "test"
  Index unknown = 0;             ///< symbols that the model does not know ...
  bool unknown_is_read = false;  ///< ... read as its symbol for such, not left out
};

/// Throws UsageError (what excludes each other), DataError, ModelError (also for predictions that are not finite),
/// DivergedError (the model went on learning).
EvaluateOutcome evaluate(const EvaluateRequest& request, Reporter& reporter);
EvaluateOutcome evaluate(const EvaluateRequest& request);

}  // namespace unfold
