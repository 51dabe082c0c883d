#include "unfold/models/restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "unfold/base/error.h"
#include "unfold/cells/cells.h"
#include "unfold/data/text_batches.h"

namespace unfold {
namespace {

/// How often every symbol is read, and predicted, in training.
struct Counts {
  std::vector<double> read, predicted;
};
Counts count_symbols(const TrainingData& data, Symbol predict_after) {
  const auto alphabet = static_cast<std::size_t>(data.corpus.alphabet().size());
  Counts counts{std::vector<double>(alphabet), std::vector<double>(alphabet)};
  StreamReader reader(data.corpus, 4096, predict_after);
  reader.start(exact_streams(data.training, 1));
  for (Batch batch; reader.next(batch);) {
    for (const Symbol x : batch.symbol_field(kPreviousSymbol).symbols)
      if (x != kNoSymbol) ++counts.read[static_cast<std::size_t>(x)];
    for (const Symbol x : batch.symbol_field(kSymbol).symbols)
      if (x != kNoSymbol) ++counts.predicted[static_cast<std::size_t>(x)];
  }
  return counts;
}

/// What one candidate does: its part of the budget, without anything that only the run itself should leave behind.
TrainerOptions candidate_options(const TrainerOptions& all, Index count, int threads, const std::string& checkpoint) {
  TrainerOptions c = all;
  c.steps = all.steps > 0 ? std::max<Index>(1, all.steps / (2 * count)) : 0;
  c.epochs = all.epochs / (2 * static_cast<double>(count));
  c.minutes = all.minutes / 2 * static_cast<double>(std::min<Index>(threads, count)) / static_cast<double>(count);
  c.spent_seconds = 0;  // what is left is halved
  c.checkpoint = checkpoint;
  c.checkpoint_seconds = 0;
  c.checkpoint_steps = 0;
  c.sample_every = 0;
  c.log.clear();
  c.resume = false;
  return c;
}

double loss_to_compare(const TrainingResult& r) { return r.validated ? r.best_nats_per_symbol : r.last_loss; }

}  // namespace

void set_budget_after_restarts(TrainerOptions& options, Index count, int threads) {
  const TrainerOptions candidate = candidate_options(options, count, threads, {});
  if (options.steps > 0) options.steps = candidate.steps + (options.steps + 1) / 2;
  options.epochs = candidate.epochs + options.epochs / 2;
  options.minutes = candidate.minutes + options.minutes / 2;
}

template <class T>
void initialise(LanguageModel<T>& model, const TrainingData& data, Symbol predict_after, std::uint64_t seed) {
  model.initialise(seed);
  if (!has_random_graph(model.spec())) return;
  const Counts counts = count_symbols(data, predict_after);
  start_from_frequencies<T>(model.circuit(), model.logits(), counts.read, counts.predicted, seed, model.parameters());
}

template <class T>
LanguageModel<T> make_candidate(const ModelSpec& spec, const TrainingData& data, Symbol predict_after,
                                std::uint64_t seed, Index number) {
  ModelSpec own = spec;
  if (has_random_graph(own)) graph_seed(own) += number;
  LanguageModel<T> model(to_string(own), data.corpus.alphabet());
  initialise(model, data, predict_after, seed + static_cast<std::uint64_t>(number));
  return model;
}

template <class T>
Index train_candidates(const ModelSpec& spec, const TrainingData& data, const TrainerOptions& options,
                       const RestartOptions& restarts) {
  const auto path = [&](Index k) { return fmt::format("{}/candidate-{}.safetensors", restarts.folder, k); };
  std::vector<std::optional<TrainingResult>> results(at(restarts.count));
  std::exception_ptr failure, divergence;
  std::mutex mutex;
  std::atomic<Index> next{0};
  const auto work = [&] {
    for (Index k; (k = next++) < restarts.count;) try {
        LanguageModel<T> model = make_candidate<T>(spec, data, options.batches.predict_after, options.seed, k);
        Team team(1);
        TrainerOptions own = candidate_options(options, restarts.count, restarts.threads, path(k));
        own.model = fmt::format("{} over {} symbols", to_string(model.spec()), model.alphabet().size());
        Trainer<T> trainer(model.network(), model.parameters(), data, own, team);
        const TrainingResult result = trainer.run();
        const std::lock_guard lock(mutex);
        results[at(k)] = result;
        if (restarts.done) restarts.done(k, result);
      } catch (const DivergedError&) {
        const std::lock_guard lock(mutex);
        divergence = std::current_exception();
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = restarts.count;
      }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < std::min<Index>(restarts.threads, restarts.count); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  Index best = -1;
  for (Index k = 0; k < restarts.count; ++k) {
    const auto& result = results[at(k)];
    if (result && (best < 0 || loss_to_compare(*result) < loss_to_compare(*results[at(best)]))) best = k;
  }
  std::error_code ignored;
  if (failure == nullptr && best >= 0) std::filesystem::rename(path(best), options.checkpoint);
  for (Index k = 0; k < restarts.count; ++k) std::filesystem::remove(path(k), ignored);
  if (failure != nullptr) std::rethrow_exception(failure);
  if (best < 0) std::rethrow_exception(divergence);
  return best;
}

template LanguageModel<float> make_candidate(const ModelSpec&, const TrainingData&, Symbol, std::uint64_t, Index);
template LanguageModel<double> make_candidate(const ModelSpec&, const TrainingData&, Symbol, std::uint64_t, Index);
template void initialise(LanguageModel<float>&, const TrainingData&, Symbol, std::uint64_t);
template void initialise(LanguageModel<double>&, const TrainingData&, Symbol, std::uint64_t);
template Index train_candidates<float>(const ModelSpec&, const TrainingData&, const TrainerOptions&,
                                       const RestartOptions&);
template Index train_candidates<double>(const ModelSpec&, const TrainingData&, const TrainerOptions&,
                                        const RestartOptions&);

}  // namespace unfold
