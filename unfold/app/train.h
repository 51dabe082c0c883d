#pragma once
/// Training as one call: reads the data, splits them, chooses among restarts, trains or fits, and leaves a run folder.
///
///   TrainRequest request{.out = "run"};
///   request.settings.data = {"book.txt"};
///   request.settings.model = "lstm:128";
///   request.settings.steps = 1000;
///   request.given = {"model", "steps"};              // what the caller chose; the rest may follow from it
///   TrainOutcome outcome = train(request);
///
/// The model file has the bytes that `unfold train` gives for the same settings.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "unfold/app/task_figures.h"
#include "unfold/fields/field_figures.h"
#include "unfold/processes/processes.h"
#include "unfold/runs/figures.h"
#include "unfold/runs/reporter.h"
#include "unfold/runs/train_settings.h"
#include "unfold/training/trainer.h"

namespace unfold {

class Device;

struct TrainRequest {
  std::string out;         ///< the run folder
  bool resume = false;     ///< go on where the run in `out` stands; what is not given is taken from there
  bool overwrite = false;  ///< replace the run in `out`
  TrainSettings settings = {};
  RunSettings run = {};
  Given given = {};
  /// That train together (docs/processes.md), each with this request; the first writes the folder. nullptr: this one.
  Processes* processes = nullptr;
  /// What `run.device` names, where it is open already; null: it is opened.
  std::shared_ptr<Device> device = nullptr;
};

struct TrainOutcome {
  std::string run;         ///< folder
  std::string model_file;  ///< the best model by validation
  TrainSettings settings;  ///< as they were used: canonical, with the graph of the best restart
  Index parameters = 0;
  TrainingResult result = {};
  std::optional<Figures> valid = {};           ///< of the best model, when something was validated on
  bool has_test = false;                       ///< the split left a test part
  std::optional<TaskFigures> task_valid = {};  ///< of a task, instead; on examples of its own
  std::optional<TaskFigures> task_test = {};
  std::optional<FieldFigures> field_valid = {};  ///< of data with fields, instead; of the best model
  std::optional<FieldFigures> field_test = {};   ///< of the part that the split left
};
/// What `unfold train --json` prints.
nlohmann::ordered_json to_json(const TrainOutcome& outcome);

/// Throws UsageError (settings that do not fit each other, a folder that holds another run), DataError, ModelError,
/// DivergedError, InterruptedError (after a checkpoint, where there is one), RuntimeFailure.
TrainOutcome train(const TrainRequest& request, Reporter& reporter);
TrainOutcome train(const TrainRequest& request);

}  // namespace unfold
