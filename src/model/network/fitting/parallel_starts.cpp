#include "model/network/fitting/parallel_starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "train/checkpoint.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// The number of times that each symbol is read and predicted in training.
struct SymbolCounts {
  std::vector<double> read, predicted;
};

/// Returns the symbols of the training part that a process handles.
std::vector<Passage> share_of_part(const Split& part, const Processes& processes) {
  const Range mine = share_of_process(part.symbols(), processes.number(), processes.count());
  std::vector<Passage> passages;
  Index first = 0;  // global index of the first symbol of a piece
  for (const Piece& piece : part.pieces) {
    const Range own = {piece.range.begin + std::max<Index>(0, mine.begin - first),
                       piece.range.begin + std::min(piece.range.size(), mine.end - first)};
    first += piece.range.size();
    if (own.empty()) continue;
    const bool inside = own.begin > piece.range.begin;
    passages.push_back({.sequence = piece.sequence,
                        .range = own,
                        .score_from = own.begin,
                        .has_previous = inside,
                        .number = 0,
                        .place = 0});
  }
  return passages;
}

/// Counts are integers, so their sums are exact in any order.
void add_over(std::vector<double>& counts, Processes& processes) {
  if (processes.alone()) return;
  std::vector<double> all(counts.size() * static_cast<std::size_t>(processes.count()));
  processes.gather_bytes(std::as_bytes(std::span(counts)), std::as_writable_bytes(std::span(all)));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = 0;
    for (std::size_t p = i; p < all.size(); p += counts.size()) counts[i] += all[p];
  }
}

SymbolCounts count_symbols(const TrainingData& data, Symbol predict_after) {
  const auto alphabet = static_cast<std::size_t>(data.corpus.alphabet().size());
  SymbolCounts counts{std::vector<double>(alphabet), std::vector<double>(alphabet)};
  Processes& processes = data.processes != nullptr ? *data.processes : single_process();
  StreamReader reader(data.corpus, 4096, predict_after);
  reader.start({share_of_part(data.training, processes)});
  for (Batch batch; reader.next(batch);) {
    for (const Symbol x : batch.symbol_field(kPreviousSymbol).symbols)
      if (x != kNoSymbol) ++counts.read[static_cast<std::size_t>(x)];
    for (const Symbol x : batch.symbol_field(kSymbol).symbols)
      if (x != kNoSymbol) ++counts.predicted[static_cast<std::size_t>(x)];
  }
  add_over(counts.read, processes);
  add_over(counts.predicted, processes);
  return counts;
}

/// Returns the options of one candidate: its share of the budget, without the output files of a full training run.
TrainerOptions candidate_options(const TrainerOptions& all, const RestartOptions& restarts,
                                 const std::string& checkpoint) {
  const auto count = static_cast<double>(restarts.count);
  TrainerOptions c = all;
  c.steps = all.steps > 0 ? std::max<Index>(1, all.steps / (2 * restarts.count)) : 0;
  c.epochs = all.epochs / (2 * count);
  c.minutes = all.minutes / 2 * std::min(static_cast<double>(restarts.parallel_for_each), count) / count;
  c.spent_seconds = 0;  // the remaining time is halved
  c.checkpoint = checkpoint;
  c.checkpoint_seconds = 0;
  c.checkpoint_steps = 0;
  c.sample_every = 0;
  c.log.clear();
  c.resume = false;
  c.processes = nullptr;
  return c;
}

}  // namespace

void set_budget_after_restarts(TrainerOptions& options, const RestartOptions& restarts) {
  const TrainerOptions candidate = candidate_options(options, restarts, {});
  if (options.steps > 0) options.steps = candidate.steps + (options.steps + 1) / 2;
  options.epochs = candidate.epochs + options.epochs / 2;
  options.minutes = candidate.minutes + options.minutes / 2;
}

template <class T>
void initialize(LanguageModel<T>& model, const TrainingData& data, Symbol predict_after, std::uint64_t seed) {
  model.initialize(seed);
  if (!has_random_graph(model.spec())) return;
  const SymbolCounts counts = count_symbols(data, predict_after);
  initialize_from_frequencies<T>(model.circuit(), model.logits(), counts.read, counts.predicted, seed,
                                 model.parameters());
}

template <class T>
LanguageModel<T> make_candidate(const ModelSpec& spec, const TrainingData& data, Symbol predict_after,
                                std::uint64_t seed, Index number) {
  ModelSpec own = spec;
  if (has_random_graph(own)) graph_seed(own) += number;
  LanguageModel<T> model(to_string(own), data.corpus.alphabet());
  initialize(model, data, predict_after, seed + static_cast<std::uint64_t>(number));
  return model;
}

ModelSpec restart_of_checkpoint(const std::string& checkpoint, const ModelSpec& spec, Index count) {
  if (!has_random_graph(spec)) return spec;
  const std::string trained = model_of_checkpoint(checkpoint);
  for (Index number = 0; number < count; ++number) {
    ModelSpec own = spec;
    graph_seed(own) += number;
    if (trained.starts_with(to_string(own) + " over ")) return own;
  }
  return spec;
}

template <class T>
TrainingResult train_candidate(const ModelSpec& spec, const TrainingData& data, const TrainerOptions& options,
                               const RestartOptions& restarts, Index number, const std::string& file) {
  TrainingData own = data;
  own.processes = nullptr;
  LanguageModel<T> model = make_candidate<T>(spec, own, options.batches.predict_after, options.seed, number);
  Team team(1);
  TrainerOptions its = candidate_options(options, restarts, file);
  its.model = fmt::format("{} over {} symbols", to_string(model.spec()), model.alphabet().size());
  return Trainer<T>(model.network(), model.parameters(), own, its, team).run();
}

template LanguageModel<float> make_candidate(const ModelSpec&, const TrainingData&, Symbol, std::uint64_t, Index);
template LanguageModel<double> make_candidate(const ModelSpec&, const TrainingData&, Symbol, std::uint64_t, Index);
template void initialize(LanguageModel<float>&, const TrainingData&, Symbol, std::uint64_t);
template void initialize(LanguageModel<double>&, const TrainingData&, Symbol, std::uint64_t);
template TrainingResult train_candidate<float>(const ModelSpec&, const TrainingData&, const TrainerOptions&,
                                               const RestartOptions&, Index, const std::string&);
template TrainingResult train_candidate<double>(const ModelSpec&, const TrainingData&, const TrainerOptions&,
                                                const RestartOptions&, Index, const std::string&);

}  // namespace unfold
