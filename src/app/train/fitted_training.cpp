#include "app/train/fitted_training.h"

#include <fmt/format.h>

#include "app/logs/log_update.h"
#include "base/interruptible.h"
#include "train/event_log.h"
#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"
#include "unfold/model/registry/registry.h"

namespace unfold {

TrainOutcome FittedTraining::run() {
  const TrainSettings& s = context().settings();
  const RunSettings& run = context().run();
  Reporter& reporter = context().reporter();
  const std::unique_ptr<FittedModel> model = make_fitted_model(s.model, material().corpus.alphabet());
  const Symbol after = predicts_after(model->alphabet());
  report_start(*model);
  model->configuration() = card_configuration();
  Team team(context().threads());
  std::optional<EventLog> log;
  context().begin_folder(false);
  if (context().writes()) log.emplace(context().folder().log());
  const FitOptions options{.seed = static_cast<std::uint64_t>(s.seed),
                           .stop = reporter.stop(),
                           .memory_limit = run.memory_limit ? parse_bytes(*run.memory_limit) : 0,
                           .processes = context().given_processes(),
                           .progress = [&](const std::string& what, double fraction) {
                             reporter.progress({.what = what, .done = fraction});
                           }};
  try {
    std::optional<NothingToSave> fitting;
    if (context().processes().alone()) fitting.emplace();
    const TrainingResult result =
        unfold::train(*model, data(), options, team, context().model_file(), log ? &*log : nullptr, after);
    if (this->log() != nullptr && context().writes()) keep_counts(*model);
    return outcome(*model, result);
  } catch (const InterruptedError&) {
    throw InterruptedError(
        fmt::format("interrupted while fitting {}; no state was saved: start again with --overwrite", s.model));
  }
}

/// Stores what an update needs in the run folder, if the model was fitted to all lines.
void FittedTraining::keep_counts(const SymbolModel& model) const {
  if (material().validation.empty() && !material().has_test && supports_log_update(model))
    write_log_counts(context().folder(), model, log()->shapes(), log()->detector(), log()->learned());
}

}  // namespace unfold
