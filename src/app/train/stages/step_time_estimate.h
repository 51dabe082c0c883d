#pragma once
/// Estimates the time of a training step before the first one. Optimizers that read the whole text, make many passes,
/// or keep a matrix per unit may need minutes per step, during which there is no progress to report.
///
/// The estimate is measured, not computed: one pass over a few positions, the metric sums of one unit over a few
/// positions, and one factorization are timed on this machine and scaled to the step. This takes a few milliseconds.

#include <string>
#include <string_view>

#include "app/settings/train_settings.h"
#include "unfold/data/text/split.h"
#include "unfold/model/network/language_model.h"

namespace unfold {

struct StepEstimate {
  double seconds = 0;            ///< seconds per step
  double metric_seconds = 0;     ///< part of `seconds` spent on the matrices of the units (ruop and rbpm)
  double metric_bytes = 0;       ///< memory for these matrices
  Index units = 0, weights = 0;  ///< units that have such a matrix; the maximum number of weights of one unit
};

/// `optimizer`: canonical name; `positions`: symbols read per step.
template <class T>
StepEstimate estimate_step(const LanguageModel<T>& model, std::string_view optimizer, Index positions, int threads);

/// Returns the symbols that a step reads if whole sequences are chosen.
Index symbols_of_step(const TrainSettings& settings, const Split& training);

/// Returns a note for the user before the first step: the expected time per step, the reason, and faster alternatives.
/// Empty if the step is fast.
template <class T>
std::string step_time_note(const LanguageModel<T>& model, const TrainSettings& settings, const Split& training,
                           int threads);

}  // namespace unfold
