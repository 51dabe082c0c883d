#include "unfold/models/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/numerics/bf16.h"

namespace unfold {
namespace {

/// What the card says about a run: nothing that depends on the clock.
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
  if (options.sampled_softmax > 0) entry["sampled_softmax"] = options.sampled_softmax;
  if (result.validated) {
    entry["best_step"] = result.best_step;
    entry["validation_nats_per_symbol"] = result.best_nats_per_symbol;
    entry["validation_symbols"] = result.validation_symbols;
  }
  return entry;
}

/// The network of a model with its hidden signals as outputs of the circuit, for penalties: an ordinary plan does not
/// keep them. Its parameters are laid out as the model's.
template <class T>
Network<T> network_with_hidden(const LanguageModel<T>& model, Circuit& circuit) {
  const ModelSignals signals = build_model(model.spec(), model.alphabet().size(), circuit);
  for (const Signal hidden : signals.hidden) circuit.output(hidden);
  Network<T> network = model.network();
  network.plan = std::make_shared<const Plan>(circuit);
  network.symbols = signals.symbols;
  network.output = signals.logits;
  network.hidden = signals.hidden;
  return network;
}

/// The network of a model with outputs for the candidates of a sampled softmax only.
template <class T>
Network<T> network_with_candidates(const LanguageModel<T>& model, const TrainOptions& options, Circuit& circuit) {
  const BatchOptions& batches = options.trainer.batches;
  const Index alphabet = model.alphabet().size(), candidates = options.sampled_softmax + batches.batch * batches.window;
  if (batches.whole_sequences) throw UsageError("a sampled softmax needs windows of one length, not whole sequences");
  if (candidates >= alphabet)
    throw UsageError(
        fmt::format("a sampled softmax over {0} of {2} symbols saves nothing: {1} of them may be predicted in "
                    "one window; use the whole softmax, or a smaller window or batch",
                    candidates, candidates - options.sampled_softmax, alphabet));
  const ModelSignals signals = build_model(model.spec(), circuit.symbols("symbols", alphabet), candidates, circuit);
  Network<T> network = model.network();
  network.plan = std::make_shared<const Plan>(circuit);
  network.symbols = signals.symbols;
  network.output = signals.logits;
  return network;
}

}  // namespace

TrainingResult train(FittedModel& model, const TrainingData& data, const FitOptions& options, Team& team,
                     const std::string& model_file, Observer* observer, Symbol predict_after) {
  TrainingResult result;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  nlohmann::json entry = model.fit(data, options, team);
  result.symbols = data.training.symbols();
  result.epochs = 1;
  result.reason = "fitted";
  if (data.validation != nullptr && !data.validation->empty()) {
    const Corpus& corpus = data.validation_corpus != nullptr ? *data.validation_corpus : data.corpus;
    options.tick("validating", 1);
    const Evaluation validation = model.evaluate(corpus, *data.validation, team, {.predict_after = predict_after});
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
    throw UsageError("training: the text was read with another alphabet than the model's");
  validate(options.sampling);
  TrainerOptions trainer_options = options.trainer;
  trainer_options.model = fmt::format("{} over {} symbols", to_string(model.spec()), model.alphabet().size());
  Circuit with_hidden;
  Network<T> network = trainer_options.penalties.any() ? network_with_hidden(model, with_hidden) : model.network();
  Circuit with_candidates;
  if (options.sampled_softmax > 0) {
    network.fewer_outputs =
        std::make_shared<const Network<T>>(network_with_candidates(model, options, with_candidates));
    trainer_options.model += fmt::format(", sampled softmax {}", options.sampled_softmax);
  }
  Trainer<T> trainer(network, model.parameters(), data, trainer_options, team);
  trainer.set_observer(observer);
  trainer.set_sampler([&](const Parameters<T>&, Index) {
    RecurrentPredictor predictor(model);  // at the present parameters
    return model.alphabet().decode(sample(predictor, model.alphabet(), options.sampling));
  });
  if (!options.model_file.empty())
    trainer.set_keeper([&](const Parameters<T>& best) { model.save(options.model_file, best); });

  TrainingResult result = trainer.run();
  const auto best = trainer.best().flat();
  if (best.data() != model.parameters().flat().data())
    std::copy(best.begin(), best.end(), model.parameters().flat().begin());
  model.history().push_back(history_entry(options, result));
  if (!options.model_file.empty()) model.save(options.model_file);
  return result;
}

template TrainingResult train(LanguageModel<float>&, const TrainingData&, const TrainOptions&, Team&, Observer*);
template TrainingResult train(LanguageModel<double>&, const TrainingData&, const TrainOptions&, Team&, Observer*);

}  // namespace unfold
