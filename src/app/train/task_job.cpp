#include "app/train/task_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/common/baseline_comparison.h"
#include "app/train/setup/training_requirements.h"
#include "app/train/stages/divergence.h"
#include "app/train/stages/ridge_training.h"
#include "model/network/fitting/readout.h"
#include "model/series/kernel_thresholds.h"
#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"
#include "unfold/model/network/train.h"

namespace unfold {
namespace {

/// Number of examples for evaluating a trained task model.
constexpr Index kTestExamples = 1000;

template <class T>
TaskMetrics measure(const NetworkModel<T>& model, const Task& task, TaskSplit part, std::uint64_t seed, Index count,
                    Team& team) {
  return {task_of(model), task_shape_of(model), evaluate(model, task, part, seed, count, team)};
}

}  // namespace

TrainOutcome TaskJob::run() { return *context_.settings().precision == "double" ? train<double>() : train<float>(); }

template <class T>
void TaskJob::check(const NetworkModel<T>& model) const {
  const TrainSettings& s = context_.settings();
  require_options_used(model.spec(), model.data(), model.layout());
  check_training_support(model.network(), model.spec(), s, context_.run());
  context_.device().require(model.network(), model.data());
  if (readout_of(model.spec())) check_one_pass_settings(s, context_.resume());
  if (has_random_kernels(model.spec()))
    throw UsageError(
        fmt::format("model {} reads files of series, not generated tasks; use another model, such as esn", s.model));
}

template <class T>
TrainOutcome TaskJob::train() {
  const TrainSettings& s = context_.settings();
  Reporter& reporter = context_.reporter();
  const TrainOptions text = context_.train_options();
  TaskTrainOptions options{.trainer = text.trainer,
                           .task = {.batch = s.batch, .validation = s.validate_on, .curriculum = s.curriculum},
                           .model_file = text.model_file};
  options.trainer.goal_error = s.goal_error.value_or(-1);
  options.trainer.best_by_error = s.best_by == "sequences";
  // Before anything is written: rejects missing files, and a curriculum for examples of a fixed length.
  const std::unique_ptr<Task> task = make_task(*s.task, s.data.empty() ? std::string() : s.data.front());
  if (s.curriculum > 0) task->shortened(task->shortest());
  Team team(context_.threads());
  NetworkModel<T> model(s.model, task_specification(*s.task, *task, parse_model_spec(s.model)), task_layout());
  check(model);
  model.initialize(options.trainer.seed);
  model.configuration() = context_.card_configuration();
  reporter.remark(fmt::format("{} on {}: {} parameters; {}, {} steps each", s.model, *s.task, model.parameters().size(),
                              describe_shape(task->shape()), task->length()));
  options.trainer.stop = reporter.stop();
  options.trainer.spent_seconds = context_.seconds();
  options.trainer.validations_after =
      1 + static_cast<double>(kTestExamples) /
              static_cast<double>(std::max<Index>(1, task->at_most(TaskSplit::validation, s.validate_on)));
  TrainOutcome outcome = context_.outcome(model.parameters().size());
  const Parameters<T> initial = model.parameters();
  try {
    outcome.result = fit_or_train(model, *task, options, team);
  } catch (const InterruptedError&) {
    context_.interrupted_with_checkpoint();
  }
  const std::uint64_t seed = options.trainer.seed;
  outcome.task_valid = measure(model, *task, TaskSplit::validation, seed, options.task.validation, team);
  if (!readout_of(model.spec())) compare(model, initial, *task, options, outcome, team);
  outcome.task_test = measure(model, *task, TaskSplit::test, seed, kTestExamples, team);
  context_.keep(model);
  return outcome;
}

/// Fits the readout of a reservoir, or trains by gradients.
template <class T>
TrainingResult TaskJob::fit_or_train(NetworkModel<T>& model, const Task& task, const TaskTrainOptions& options,
                                     Team& team) {
  const TrainSettings& s = context_.settings();
  const auto readout = readout_of(model.spec());
  if (!readout) return unfold::train(model, task, options, team, context_.reporter().observer(options.trainer.steps));
  const Index examples = s.steps ? options.trainer.steps * s.batch : task.examples(TaskSplit::training);
  const auto readers = [&] { return task_reader(task, TaskSplit::training, options.trainer.seed, examples, s.batch); };
  TrainingResult result = fit_ridge(model, readers, *readout, team, context_.reporter());
  context_.begin_folder(false);
  context_.save(model);
  return result;
}

/// Compares the result with a constant prediction and with the initial network.
template <class T>
void TaskJob::compare(NetworkModel<T>& model, const Parameters<T>& initial, const Task& task,
                      const TaskTrainOptions& options, TrainOutcome& outcome, Team& team) const {
  const std::uint64_t seed = options.trainer.seed;
  const Index count = options.task.validation;
  const BaselineFigure own = task_figure(outcome.task_valid->score, task, seed, count);
  if (std::isfinite(own.constant))
    outcome.baselines.push_back({.of = {},
                                 .baseline = {.name = own.squared ? "mean" : "class frequencies",
                                              .measure = own.squared ? "mean_squared_error" : "nats_per_prediction",
                                              .value = own.constant},
                                 .result = own.result});
  report_baselines(outcome.baselines, "validation", context_.reporter());
  const auto initial_figure = [&] {
    return task_figure(measure(model, task, TaskSplit::validation, seed, count, team).score, task, seed, count).result;
  };
  check_divergence(
      {own}, [&] { return std::vector{with_parameters(model, initial, initial_figure)}; }, context_.settings(),
      context_.folder().path(), context_.reporter());
}

}  // namespace unfold
