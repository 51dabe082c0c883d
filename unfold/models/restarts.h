#pragma once
/// Several starts of one model, and the best of them. The random graphs of gated networks are not all able to learn a
/// task (docs/riemannian.md); other models differ in their random parameters.
///
/// Candidate k (0, 1, ...) has the seed `seed + k`, and the graph `graph + k` if it has one. Half of the budget goes to
/// the candidates, each on one thread: of steps and epochs every one gets its part of that half, of minutes the part
/// that its thread can give. The best goes on from its checkpoint with the other half.
///
/// The best is the one with the best validation so far; without a validation part, the one with the smallest training
/// loss. (The text chooses by training likelihood. On ten blocks of a^n b^n that prefers the graphs that learn the ten
/// lengths by heart: docs/riemannian.md.)
///
/// T, the type of the parameters, is float or double.

#include <functional>
#include <string>
#include <vector>

#include "unfold/models/train.h"

namespace unfold {

/// The model that starts with `seed`; its parameters as `initialise` below.
template <class T>
LanguageModel<T> make_candidate(const ModelSpec& spec, const TrainingData& data, Symbol predict_after,
                                std::uint64_t seed, Index number);

/// Random parameters; for models on a random graph then those of start_from_frequencies (cells.h), by the symbols of
/// the training part.
template <class T>
void initialise(LanguageModel<T>& model, const TrainingData& data, Symbol predict_after, std::uint64_t seed);

struct RestartOptions {
  Index count = 1;
  int threads = 1;
  std::string folder = {};                                      ///< for the candidates' checkpoints, removed afterwards
  std::function<void(Index, const TrainingResult&)> done = {};  ///< called for every candidate, one at a time
};

/// Trains the candidates with their parts of the budget of `options`. Moves the checkpoint of the best to
/// options.checkpoint and returns its number. Throws as Trainer; DivergedError only when every candidate diverged.
template <class T>
Index train_candidates(const ModelSpec& spec, const TrainingData& data, const TrainerOptions& options,
                       const RestartOptions& restarts);

/// The budget at which the run of the best candidate ends: its part of the first half, and the second half.
void set_budget_after_restarts(TrainerOptions& options, Index count, int threads);

}  // namespace unfold
