#pragma once
/// What a step of training will take, estimated before the first one: optimisers that read all of the text, make many
/// passes, or keep a matrix for every unit may need minutes for a step, in which there is no progress to show.
///
/// The estimate is measured, not computed: one pass over a few positions, the sums of the metric of one unit over a few
/// positions and one factorisation are timed on this machine and scaled to the step. It takes a few milliseconds.

#include <string>
#include <string_view>

#include "unfold/data/split.h"
#include "unfold/models/language_model.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

struct StepCost {
  double seconds = 0;            ///< of a step
  double metric_seconds = 0;     ///< thereof: the matrices of the units, of ruop and rbpm
  double metric_bytes = 0;       ///< of memory for them
  Index units = 0, weights = 0;  ///< units that have such a matrix; weights of the one that has the most
};

/// `optimizer`: canonical; `positions`: symbols that a step reads.
template <class T>
StepCost estimate_step(const LanguageModel<T>& model, std::string_view optimizer, Index positions, int threads);

/// Symbols that a step of a run reads, when sequences are chosen.
Index symbols_of_step(const TrainSettings& settings, const Split& training);

/// What to say before the first step of a run: what a step will take, why, and what takes less; empty where it is not
/// worth a word.
template <class T>
std::string remark_on_steps(const LanguageModel<T>& model, const TrainSettings& settings, const Split& training,
                            int threads);

}  // namespace unfold
