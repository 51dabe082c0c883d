#pragma once
/// The training pipeline: reads and splits the data, selects among restarts, trains or fits the model, and writes a run
/// folder.
///
///   TrainRequest request{.out = "run"};
///   request.settings.data = {"book.txt"};
///   request.settings.model = "lstm:128";
///   request.settings.steps = 1000;
///   request.given.add(&TrainSettings::model, &TrainSettings::steps);  // others may get defaults that depend on the
///   data TrainOutcome outcome = train(request);
///
/// The model file is byte-identical to the one that `unfold train` writes with the same settings.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/common/perplexity.h"
#include "app/common/reporter.h"
#include "app/evaluate/task_evaluation.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/settings/train_settings.h"
#include "model/selection/baselines.h"
#include "unfold/distributed/processes.h"
#include "unfold/train/trainer.h"

namespace unfold {

class Device;

struct TrainRequest {
  std::string out;         ///< the run folder
  bool resume = false;     ///< continue the run in `out`; settings that are not in `given` are taken from it
  bool overwrite = false;  ///< replace the run in `out`
  TrainSettings settings = {};
  RunSettings run = {};
  Given given = {};
  /// The processes that train together (docs/processes.md), each with this request; the first one writes the folder.
  /// nullptr: only this process.
  Processes* processes = nullptr;
  /// The device named by `run.device` if it is already open; null: it is opened here.
  std::shared_ptr<Device> device = nullptr;
};

/// Returns the rows of all options of a training, which refer to `request`.
OptionRows train_rows(TrainRequest& request);

struct TrainOutcome {
  std::string run;         ///< folder
  std::string model_file;  ///< the best model by validation loss
  TrainSettings settings;  ///< the settings in canonical form, with the graph of the best restart
  Index parameters = 0;
  TrainingResult result = {};
  std::optional<Figures> valid = {};           ///< metrics of the best model, if there is validation data
  bool has_test = false;                       ///< whether the split has a test part
  std::optional<TaskMetrics> task_valid = {};  ///< for tasks, instead of `valid`: metrics on separate examples
  std::optional<TaskMetrics> task_test = {};
  std::optional<FieldFigures> field_valid =
      {};  ///< for data with fields, instead of `valid`; metrics of the best model
  std::vector<ComparedBaseline> baselines = {};  ///< baselines on the validation data
  Index refitted_examples =
      0;  ///< number of examples that the model was fitted to after validation (refit.h); 0: it was not refitted
  std::optional<FieldFigures> field_test = {};  ///< metrics on the test part of the split
};
/// Returns the output of `unfold train --json`.
nlohmann::ordered_json to_json(const TrainOutcome& outcome);

/// Throws UsageError (settings that cannot be combined, or a folder that holds another run), DataError, ModelError,
/// DivergedError, InterruptedError (after a checkpoint, if there is one), and RuntimeFailure.
TrainOutcome train(const TrainRequest& request, Reporter& reporter);
TrainOutcome train(const TrainRequest& request);

}  // namespace unfold
