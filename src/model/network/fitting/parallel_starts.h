#pragma once
/// Trains several randomly initialized candidates of one model and continues with the best one. Some random graphs of
/// gated networks cannot learn a given task (docs/riemannian.md); for other models, candidates differ in their random
/// parameters.
///
/// Candidate k (0, 1, ...) has the seed `seed + k` and, if the model has a random graph, the graph `graph + k`. Half of
/// the budget is spent on the candidates, each on one thread: a budget in steps or epochs is divided equally among
/// them, and a budget in minutes according to the available threads. The best candidate continues from its checkpoint
/// with the other half.
///
/// The best candidate has the lowest validation loss so far or, without a validation part, the lowest training loss.
/// (The paper selects by training likelihood. On ten blocks of a^n b^n, this criterion prefers graphs that memorize the
/// ten lengths: docs/riemannian.md.)
///
/// T, the type of the parameters, is float or double.

#include <string>

#include "unfold/model/network/train.h"

namespace unfold {

/// Creates the model for `seed` and initializes its parameters with `initialize` (below).
template <class T>
LanguageModel<T> make_candidate(const ModelSpec& spec, const TrainingData& data, Symbol predict_after,
                                std::uint64_t seed, Index number);

/// Initializes the parameters randomly; for models on a random graph, then calls initialize_from_frequencies (cells.h)
/// with the symbols of the training part.
template <class T>
void initialize(LanguageModel<T>& model, const TrainingData& data, Symbol predict_after, std::uint64_t seed);

struct RestartOptions {
  Index count = 1;
  int parallel_for_each = 1;  ///< candidates that are trained at the same time
};

/// Returns the SPEC of the candidate, among the first `count`, to which a checkpoint belongs: `spec` with the selected
/// graph. Returns `spec` itself if the candidates have no graph or none of them matches.
ModelSpec restart_of_checkpoint(const std::string& checkpoint, const ModelSpec& spec, Index count);

/// Trains only candidate `number`, with its part of the budget of `options`, and writes the checkpoint `file`. Throws
/// the same exceptions as Trainer.
template <class T>
TrainingResult train_candidate(const ModelSpec& spec, const TrainingData& data, const TrainerOptions& options,
                               const RestartOptions& restarts, Index number, const std::string& file);

/// Returns the loss by which candidates are compared: the best validation loss, or the training loss without
/// validation.
inline double loss_to_compare(const TrainingResult& r) { return r.validated ? r.best_nats_per_symbol : r.last_loss; }

/// Sets the budget for the best candidate: its share of the first half plus the second half.
void set_budget_after_restarts(TrainerOptions& options, const RestartOptions& restarts);

}  // namespace unfold
