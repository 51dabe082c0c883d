#pragma once
/// Evaluates how well a model predicts data. For task models, see task_evaluation.h.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/perplexity.h"
#include "app/evaluate/reading.h"
#include "model/adaptive/learning.h"
#include "model/selection/baselines.h"

namespace unfold {

struct EvaluateRequest {
  std::string model;              ///< run folder or model file
  std::vector<std::string> data;  ///< files, one sequence each
  std::optional<std::string> split = {},
                             part = {};  ///< the split, such as "90/5/5", and its part "train", "valid" or "test"
  std::optional<std::string> mask = {};  ///< file that marks the symbols to be predicted
  std::string unknown = "error";         ///< handling of symbols that are not in the alphabet: "error" or "skip"
  ReadingSettings reading = {};
  bool use_stepper = false;                     ///< process one symbol at a time; the results are the same
  std::optional<LearningOptions> dynamic = {};  ///< online learning: the model learns each symbol after predicting it
  Index threads = 0;                            ///< 0: all available processors
  /// Called for every symbol in order, after all are evaluated: position in the part, name, nats (NaN: not predicted).
  std::function<void(Index, std::string_view, float)> symbol = {};
  const SymbolModel* loaded = nullptr;  ///< used instead of loading a file; `model` is then its name in messages
};

struct EvaluateOutcome {
  Figures figures = {};
  Evaluation evaluation = {};
  std::string part;              ///< "all", "training", "validation", "test"
  Index unknown = 0;             ///< number of symbols that are not in the alphabet
  bool unknown_is_read = false;  ///< whether these symbols are read as the unknown symbol instead of being skipped
  std::vector<ComparedBaseline> baselines = {};
};

/// Throws UsageError (including for options that cannot be combined), DataError, ModelError (including for non-finite
/// predictions), and DivergedError (online learning).
EvaluateOutcome evaluate(const EvaluateRequest& request, Reporter& reporter);
EvaluateOutcome evaluate(const EvaluateRequest& request);

}  // namespace unfold
