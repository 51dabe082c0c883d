#include "app/train/corpus_training.h"

#include <fmt/format.h>

#include "app/common/baseline_comparison.h"
#include "app/settings/line_lists.h"
#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"

namespace unfold {
namespace {

/// Returns whether a corpus of lines contains empty lines, which consist only of a newline.
bool has_empty_lines(const Corpus& corpus) {
  for (Index s = 0; s < corpus.sequences(); ++s)
    if (corpus.length(s) == 0 ||
        (corpus.length(s) == 1 && corpus.read(s, {0, 1}).front() == corpus.alphabet().line_end()))
      return true;
  return false;
}

}  // namespace

TrainingData CorpusTraining::data() const {
  return {.corpus = material_.corpus,
          .training = material_.training,
          .validation = &material_.validation,
          .validation_corpus = &material_.validation_corpus(),
          .processes = context_.given_processes()};
}

Symbol CorpusTraining::predicts_after(const Alphabet& alphabet) const {
  const std::optional<std::string>& after = context_.settings().predict_after;
  return after ? alphabet.parse(*after) : kNoSymbol;
}

nlohmann::json CorpusTraining::card_configuration() const {
  nlohmann::json json = context_.card_configuration();
  if (log_) json["log"] = log_->to_json();
  json[kStatisticsKey][kSymbol] =
      to_json(text_statistics(material_.corpus, material_.training, predicts_after(material_.corpus.alphabet())));
  if (context_.settings().lines && !has_empty_lines(material_.corpus)) json[kEmptyLinesKey] = false;
  return json;
}

void CorpusTraining::report_start(const SymbolModel& model) const {
  const TrainSettings& s = context_.settings();
  context_.reporter().remark(
      fmt::format("{}: {}{} symbols in the alphabet, {} for training{}", s.model,
                  is_fitted_model(s.model) ? "" : fmt::format("{} parameters, ", model.parameter_count()),
                  model.alphabet().size(), material_.training.symbols(),
                  material_.validation.empty() ? ", none for validation: the last model is kept"
                                               : fmt::format(", {} for validation", material_.validation.symbols())));
}

TrainOutcome CorpusTraining::outcome(const SymbolModel& model, const TrainingResult& result) const {
  TrainOutcome outcome = context_.outcome(model.parameter_count());
  outcome.result = result;
  outcome.has_test = material_.has_test;
  context_.keep(model);
  if (!result.validated) return outcome;
  outcome.valid = Figures{.nats_per_symbol = result.best_nats_per_symbol, .symbols = result.validation_symbols};
  add_baselines(outcome);
  if (result.validation_share == 1)
    outcome.valid->bytes = material_.validation.bytes(material_.validation_corpus());
  else
    context_.reporter().remark(
        fmt::format("validation read only about {:.1f} % of the validation part to stay within the budget; `unfold "
                    "eval` evaluates all of it",
                    100 * result.validation_share));
  return outcome;
}

void CorpusTraining::add_baselines(TrainOutcome& outcome) const {
  Team team(context_.threads());
  const Corpus& measured = material_.validation_corpus();
  const Symbol after = predicts_after(material_.corpus.alphabet());
  std::vector<Baseline> baselines = text_baselines(text_statistics(material_.corpus, material_.training, after),
                                                   measured, material_.validation, after);
  if (auto ngram = ngram_baseline(material_.corpus, material_.training, measured, material_.validation, after, team))
    baselines.push_back(std::move(*ngram));
  for (Baseline& each : baselines)
    outcome.baselines.push_back({.of = {}, .baseline = std::move(each), .result = outcome.valid->nats_per_symbol});
  report_baselines(outcome.baselines, "validation", context_.reporter());
}

}  // namespace unfold
