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

#include <string>

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
  int side_by_side = 1;  ///< candidates that are trained at a time
};

/// The SPEC of the candidate that a checkpoint is of, among the first `count`: `spec` with the graph that was kept.
/// `spec` itself where the candidates have no graph, or none of them fits.
ModelSpec restart_of_checkpoint(const std::string& checkpoint, const ModelSpec& spec, Index count);

/// Trains candidate `number` with its part of the budget of `options`, alone, to the checkpoint `file`. Throws as
/// Trainer.
template <class T>
TrainingResult train_candidate(const ModelSpec& spec, const TrainingData& data, const TrainerOptions& options,
                               const RestartOptions& restarts, Index number, const std::string& file);

/// By which candidates are compared: the best validation so far; the training loss where nothing was validated.
inline double loss_to_compare(const TrainingResult& r) { return r.validated ? r.best_nats_per_symbol : r.last_loss; }

/// The budget at which the run of the best candidate ends: its part of the first half, and the second half.
void set_budget_after_restarts(TrainerOptions& options, const RestartOptions& restarts);

}  // namespace unfold
