#include "app/train/train.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/train/fields_job.h"
#include "app/train/stream_job.h"
#include "app/train/task_job.h"
#include "app/train/text_job.h"
#include "app/train/train_in_memory.h"

namespace unfold {

std::unique_ptr<TrainingJob> make_training_job(TrainingContext& context) {
  const TrainSettings& s = context.settings();
  if (s.task) return std::make_unique<TaskJob>(context);
  if (s.follow) return std::make_unique<StreamJob>(context);
  if (has_fields(s)) return std::make_unique<FieldsJob>(context);
  return std::make_unique<TextJob>(context);
}

namespace {

/// Returns whether all validation labels were predicted correctly.
bool has_no_mistakes(const TrainOutcome& outcome) {
  return outcome.field_valid && std::ranges::all_of(outcome.field_valid->heads, [](const HeadFigures& head) {
           return !head.classes.empty() && head.mistakes.empty();
         });
}

/// Returns a note if the validation history suggests a different budget; otherwise empty.
std::string budget_note(const TrainOutcome& outcome) {
  constexpr Index kFewest = 20;
  const TrainingResult& result = outcome.result;
  if (!result.validated || result.steps < kFewest || result.reason == "fitted") return {};
  if (result.best_step == result.steps && result.reason != "goal" && result.reason != "converged")
    return has_no_mistakes(outcome) ? ""
                                    : "validation was still improving at the end: train longer (--epochs, --steps or "
                                      "--minutes) for a better model";
  if (result.best_step == 0)
    return "training did not improve the validation of the initial model, a logistic regression, which is kept";
  if (2 * result.best_step < result.steps)
    return fmt::format("validation became worse after step {} of {}; the model of that step is kept", result.best_step,
                       result.steps);
  return {};
}

TrainOutcome run_training(TrainingContext& context) {
  context.prepare();
  const std::unique_ptr<TrainingJob> job = make_training_job(context);
  job->settle();
  context.finish_settings(job->open_settings());
  context.open_device();
  TrainOutcome outcome = job->run();
  context.reporter().note_if(budget_note(outcome));
  return outcome;
}

}  // namespace

TrainOutcome train(const TrainRequest& request, Reporter& reporter) {
  TrainingContext context(request, false, reporter);
  return run_training(context);
}

TrainedModel train_in_memory(const TrainRequest& request, Reporter& reporter) {
  TrainingContext context(request, true, reporter);
  TrainedModel trained{.outcome = run_training(context), .model = {}};
  trained.model = context.take_model();
  return trained;
}

TrainOutcome train(const TrainRequest& request) {
  Reporter silent;
  return train(request, silent);
}

}  // namespace unfold
