#include "app/train/network_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/evaluate/reading.h"
#include "app/fields/defaults/sequence_choice.h"
#include "app/train/setup/training_requirements.h"
#include "app/train/stages/divergence.h"
#include "app/train/stages/ridge_training.h"
#include "app/train/stages/step_time_estimate.h"
#include "app/train/stages/train_restarts.h"
#include "base/threads/available_memory.h"
#include "model/network/fitting/readout.h"
#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"
#include "unfold/model/network/train.h"
#include "unfold/train/objective/output_feedback.h"

namespace unfold {

TrainOutcome NetworkTraining::run() {
  return *context().settings().precision == "double" ? train<double>() : train<float>();
}

/// Returns the initial model. For a checkpoint of one of several restarts, it has the graph of this restart.
template <class T>
LanguageModel<T> NetworkTraining::make_model(Symbol after) const {
  const TrainSettings& s = context().settings();
  ModelSpec spec = parse_model_spec(s.model);
  if (s.restarts > 1 && !context().begins())
    spec = restart_of_checkpoint(context().folder().checkpoint(), spec, s.restarts);
  LanguageModel<T> model = make_candidate<T>(spec, data(), after, static_cast<std::uint64_t>(s.seed), 0);
  if (initial_ != nullptr) initial_->copy_parameters_to(model);
  return model;
}

template <class T>
void NetworkTraining::check(const LanguageModel<T>& model) const {
  require_options_used(model.spec(), DataSpecification::text(model.alphabet()), NetworkLayout::language_model());
  check_training_support(model.network(), model.spec(), context().settings(), context().run());
  context().device().require(model.network());
  if (context().settings().feedback && Feedback::parse(*context().settings().feedback).always)
    throw UsageError(
        "--feedback always: a model of running text has no inputs other than the previous symbols, so it would not "
        "read "
        "the text; use --feedback N+K");
  if (!readout_of(model.spec())) return;
  const TrainSettings& s = context().settings();
  const Loss<T>& loss = *model.network().heads.front().loss;
  if (loss.template as<Categorical<T>>() == nullptr)
    throw UsageError(
        fmt::format("model {}: a readout cannot be fitted with the loss {}; leave out loss=, or use "
                    "readout=trained",
                    s.model, loss.name()));
  check_one_pass_settings(s, context().resume());
  if (s.restarts > 1) throw UsageError(not_by_gradients(name_of(&TrainSettings::restarts), s.model));
  if (s.sampled_softmax > 0) throw UsageError(not_by_gradients(name_of(&TrainSettings::sampled_softmax), s.model));
}

/// Fits the readout of a reservoir to segments of the text that are read side by side, and evaluates the model.
template <class T>
TrainOutcome NetworkTraining::fit_readout(LanguageModel<T>& model, Symbol after) const {
  constexpr Index kMostSegments = 64, kLongEnough = 2000;  // much longer than the washout
  const Corpus& corpus = material().corpus;
  require_predictions(corpus, material().training, after);
  const Index segments = std::clamp<Index>(material().training.symbols() / kLongEnough, 1, kMostSegments);
  const auto readers = [&] {
    auto reader = std::make_unique<StreamReader>(corpus, context().settings().window, after);
    reader->start(scoring_streams(corpus, material().training, segments, 0));
    return reader;
  };
  Team team(context().threads());
  TrainingResult result = fit_ridge(model, readers, *readout_of(model.spec()), team, context().reporter());
  if (!material().validation.empty()) {
    const Evaluation validation = model.evaluate(material().validation_corpus(), material().validation, team,
                                                 {.segments = kMostSegments, .predict_after = after});
    result.validated = true;
    result.best_nats_per_symbol = validation.nats_per_symbol();
    result.validation_symbols = validation.predicted;
  }
  context().begin_folder(false);
  context().save(model);
  return outcome(model, result);
}

template <class T>
TrainOutcome NetworkTraining::train() {
  TrainSettings& s = context().settings();
  Reporter& reporter = context().reporter();
  const Symbol after = predicts_after(material().corpus.alphabet());
  LanguageModel<T> model = make_model<T>(after);
  check(model);
  if (readout_of(model.spec())) {
    report_start(model);
    model.configuration() = card_configuration();
    return fit_readout(model, after);
  }
  choose_sequences(model);
  TrainOptions options = context().train_options();
  options.trainer.batches.predict_after = after;
  report_start(model);
  if (context().device().is_cpu()) reporter.note_if(step_time_note(model, s, material().training, context().threads()));
  options.trainer.spent_seconds = context().seconds();
  if (s.restarts > 1) {
    const RestartOptions restarts{.count = s.restarts,
                                  .parallel_for_each = sum_over(context().threads(), context().processes())};
    if (!options.trainer.resume) {
      std::exchange(options.trainer.begins, {})();
      const Index best = best_restart<T>(options.trainer, restarts);
      model = make_candidate<T>(parse_model_spec(s.model), data(), after, static_cast<std::uint64_t>(s.seed), best);
      options.trainer.resume = true;
    }
    context().set_chosen_model(to_string(model.spec()));
    set_budget_after_restarts(options.trainer, restarts);
  }
  model.configuration() = card_configuration();
  Team team(context().threads());
  options.trainer.stop = reporter.stop();
  const Parameters<T> initial = model.parameters();
  try {
    const TrainingResult result = unfold::train(model, data(), options, team, reporter.observer(options.trainer.steps));
    compare(model, initial, result, team);
    return outcome(model, result);
  } catch (const InterruptedError&) {
    context().interrupted_with_checkpoint();
  }
}

/// Chooses whole sequences or windows by default. The choice is stored as if it had been specified.
template <class T>
void NetworkTraining::choose_sequences(const LanguageModel<T>& model) {
  if (!context().is_open(name_of(&TrainSettings::whole_sequences))) return;
  TrainSettings& s = context().settings();
  const std::optional<std::string>& limit = context().run().memory_limit;
  std::size_t needed =
      whole_sequence_bytes(*model.plan(), model.logits().size(), material().training, s.batch, sizeof(T));
  if (limit) needed = std::min(needed, parse_bytes(*limit));
  // Restarts run in parallel.
  needed *= static_cast<std::size_t>(std::min<Index>(s.restarts, context().threads()));
  const SequenceChoice choice = unfold::choose_sequences(s, needed, available_memory());
  s.whole_sequences = choice.whole;
  context().reporter().remark(choice.remark);
}

/// Trains the candidates of restarts for half of the budget; the best is then resumed.
template <class T>
Index NetworkTraining::best_restart(TrainerOptions options, const RestartOptions& restarts) {
  const TrainSettings& s = context().settings();
  Reporter& reporter = context().reporter();
  reporter.remark(fmt::format("{} restarts for half of the budget", s.restarts));
  options.stop = reporter.stop();
  const RestartWork work{.folder = context().folder().path(),
                         .threads = context().threads(),
                         .can_resume = context().resume(),
                         .processes = context().given_processes()};
  try {
    const Index best = choose_restart<T>(parse_model_spec(s.model), data(), options, restarts, work, reporter);
    reporter.remark(fmt::format("restart {} is continued", best + 1));
    return best;
  } catch (const InterruptedError&) {
    throw InterruptedError(fmt::format(
        "interrupted during the restarts; finished restarts are kept: continue with `unfold train --out {} --resume`",
        context().folder().path()));
  }
}

/// Compares the result with a constant prediction and with the initial network.
template <class T>
void NetworkTraining::compare(LanguageModel<T>& model, const Parameters<T>& initial, const TrainingResult& result,
                              Team& team) const {
  const Symbol after = predict_after(model);
  const Corpus& corpus = result.validated ? material().validation_corpus() : material().corpus;
  const Split part = result.validated ? material().validation : beginning_of(material().training, kMeasuredPositions);
  const auto measure = [&] {
    constexpr Index kSideBySide = 64;
    return model.evaluate(corpus, part, team, {.segments = kSideBySide, .predict_after = after}).nats_per_symbol();
  };
  const double nats = result.validated ? result.best_nats_per_symbol : measure();
  check_divergence(
      {text_figure(nats, material().corpus, material().training, corpus, part, after)},
      [&] { return std::vector{with_parameters(model, initial, measure)}; }, context().settings(),
      context().folder().path(), context().reporter());
}

}  // namespace unfold
