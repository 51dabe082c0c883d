#include "unfold/model/network/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "model/network/feedback.h"
#include "train/text_sources.h"
#include "unfold/base/error.h"
#include "unfold/numerics/bf16.h"

namespace unfold {
namespace {

/// Returns the history entry of a training run, without anything that depends on the clock.
nlohmann::json history_entry(const TrainOptions& options, const TrainingResult& result) {
  nlohmann::json entry = {{"optimizer", canonical_optimizer(options.trainer.optimizer)},
                          {"window", options.trainer.batches.window},
                          {"batch", options.trainer.batches.batch},
                          {"seed", options.trainer.seed},
                          {"steps", result.steps},
                          {"epochs", result.epochs},
                          {"symbols", result.symbols},
                          {"stopped_by", result.reason}};
  if (available(options.trainer.precision) != Precision::exact) entry["precision"] = "bf16";
  if (!options.trainer.gradient.looks_back()) entry["gradient"] = options.trainer.gradient.text();
  if (options.sampled_softmax > 0) entry["sampled_softmax"] = options.sampled_softmax;
  if (result.validated) {
    entry["best_step"] = result.best_step;
    entry["validation_nats_per_symbol"] = result.best_nats_per_symbol;
    entry["validation_symbols"] = result.validation_symbols;
  }
  return entry;
}

/// Records in the card that each line of the corpus is a sequence (CorpusOptions::lines); only then can a source have
/// several sequences.
void record_lines(SymbolModel& model, const Corpus& corpus) {
  for (Index s = 1; s < corpus.sequences(); ++s) {
    if (&corpus.source(s) != &corpus.source(s - 1)) continue;
    if (!model.configuration().contains("lines")) model.configuration()["lines"] = true;
    return;
  }
}

/// Returns the number of outputs of a sampled softmax. Throws UsageError if sampled softmax is not applicable.
Index candidates_of(const TrainOptions& options, Index alphabet) {
  const BatchOptions& batches = options.trainer.batches;
  const Index candidates = options.sampled_softmax + batches.batch * batches.window;
  if (batches.whole_sequences)
    throw UsageError(
        "a sampled softmax requires windows of equal length, not whole sequences; leave out --whole-sequences or "
        "--sampled-softmax");
  if (candidates >= alphabet)
    throw UsageError(
        fmt::format("a sampled softmax over {0} of {2} symbols saves no time, because {1} of them may be predicted in "
                    "one window; use the full softmax, or a smaller window or batch",
                    candidates, candidates - options.sampled_softmax, alphabet));
  return candidates;
}

}  // namespace

TrainingResult train(FittedModel& model, const TrainingData& data, const FitOptions& options, Team& team,
                     const std::string& model_file, Observer* observer, Symbol predict_after) {
  TrainingResult result;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  record_lines(model, data.corpus);
  nlohmann::json entry = model.fit(data, options, team);
  result.symbols = data.training.symbols();
  result.epochs = 1;
  result.reason = "fitted";
  if (options.processes != nullptr && !options.processes->first()) return result;
  if (data.validation != nullptr && !data.validation->empty()) {
    const Corpus& corpus = data.validation_corpus != nullptr ? *data.validation_corpus : data.corpus;
    std::size_t step = 0;
    const auto symbols = static_cast<std::size_t>(data.validation->symbols());  // a sum over all pieces
    const auto tick = [&](Index, float) { options.tick("validating", step++, symbols); };
    const Evaluation validation =
        model.evaluate(corpus, *data.validation, team, {.predict_after = predict_after, .surprisal = tick});
    result.validated = validation.predicted > 0;
    result.best_nats_per_symbol = validation.nats_per_symbol();
    result.validation_symbols = validation.predicted;
  }
  result.seconds = seconds();
  if (result.validated) {
    entry["validation_nats_per_symbol"] = result.best_nats_per_symbol;
    entry["validation_symbols"] = result.validation_symbols;
  }
  model.history().push_back(std::move(entry));
  if (!model_file.empty()) model.save(model_file);
  if (observer == nullptr) return result;
  if (result.validated)
    observer->validation({.epochs = 1,
                          .nats_per_symbol = result.best_nats_per_symbol,
                          .symbols = result.validation_symbols,
                          .best = true,
                          .seconds = result.seconds});
  observer->done({.epochs = 1,
                  .reason = result.reason,
                  .best_nats_per_symbol = result.best_nats_per_symbol,
                  .validated = result.validated,
                  .seconds = result.seconds});
  return result;
}

template <class T>
TrainingResult train(LanguageModel<T>& model, const TrainingData& data, const TrainOptions& options, Team& team,
                     Observer* observer) {
  const Corpus* validation = data.validation_corpus;
  if (!(data.corpus.alphabet() == model.alphabet()) ||
      (validation != nullptr && !(validation->alphabet() == model.alphabet())))
    throw UsageError("training: the alphabet of the text differs from that of the model");
  record_lines(model, data.corpus);
  return train(model, text_sources<T>(data, options.trainer), options, team, observer);
}

template <class T>
TrainingResult train(LanguageModel<T>& model, TrainingSources<T> sources, const TrainOptions& options, Team& team,
                     Observer* observer) {
  validate(options.sampling);
  TrainerOptions trainer_options = options.trainer;
  trainer_options.model = fmt::format("{} over {} symbols", to_string(model.spec()), model.alphabet().size());
  Circuit with_hidden, with_candidates, with_feedback;
  const auto variant = [&](Circuit& circuit, const NetworkVariant& how) {
    return build_network<T>(model.spec(), model.data(), NetworkLayout::language_model(), circuit, how);
  };
  Network<T> network =
      trainer_options.penalties.any() ? variant(with_hidden, {.output_hidden = true}) : model.network();
  if (options.sampled_softmax > 0) {
    const Index candidates = candidates_of(options, model.alphabet().size());
    const Loss<T>& loss = *model.network().heads.front().loss;
    if (loss.template as<Categorical<T>>() == nullptr)
      throw UsageError(fmt::format("a sampled softmax cannot be combined with the loss {}; leave --sampled-softmax out",
                                   loss.name()));
    network.fewer_outputs = std::make_shared<const Network<T>>(variant(with_candidates, {.candidates = candidates}));
    trainer_options.model += fmt::format(", sampled softmax {}", options.sampled_softmax);
  }
  if (trainer_options.feedback.on()) {
    if (options.sampled_softmax > 0)
      throw UsageError(
          "--feedback reads the probabilities of all symbols, which --sampled-softmax does not compute; leave one of "
          "them out");
    sources.feedback = std::make_shared<const Network<T>>(
        build_feedback_network<T>(model.spec(), model.data(), NetworkLayout::language_model(), model.circuit(),
                                  with_feedback, trainer_options.penalties.any()));
  }
  Trainer<T> trainer(network, model.parameters(), std::move(sources), trainer_options, team);
  trainer.set_observer(observer);
  trainer.set_sampler([&](const Parameters<T>&, Index) {
    return model.alphabet().decode(sample(*model.predictor(), model.alphabet(), options.sampling));
  });
  if (!options.model_file.empty())
    trainer.on_best([&](const Parameters<T>& best) { model.save(options.model_file, best); });

  TrainingResult result = trainer.run();
  const auto best = trainer.best().flat();
  if (best.data() != model.parameters().flat().data())
    std::copy(best.begin(), best.end(), model.parameters().flat().begin());
  model.history().push_back(history_entry(options, result));
  if (!options.model_file.empty()) model.save(options.model_file);
  return result;
}

template TrainingResult train(LanguageModel<float>&, TrainingSources<float>, const TrainOptions&, Team&, Observer*);
template TrainingResult train(LanguageModel<double>&, TrainingSources<double>, const TrainOptions&, Team&, Observer*);
template TrainingResult train(LanguageModel<float>&, const TrainingData&, const TrainOptions&, Team&, Observer*);
template TrainingResult train(LanguageModel<double>&, const TrainingData&, const TrainOptions&, Team&, Observer*);

}  // namespace unfold
