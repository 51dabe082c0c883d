#pragma once
/// Training on a stream of bytes as it comes (`train --follow`): a language model of all 256 bytes, one update a
/// window, in constant memory. The model file is written anew with every checkpoint.

#include "unfold/models/train.h"
#include "unfold/runs/reporter.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// The model that such a run begins with. Throws UsageError: a model that no gradient trains.
template <class T>
LanguageModel<T> model_of_stream(const TrainSettings& settings, const RunSettings& run);

/// Reads to the end of the stream, or of the budget. Throws as `train`.
template <class T>
TrainingResult follow_stream(LanguageModel<T>& model, const TrainSettings& settings, TrainOptions options, int threads,
                             Reporter& reporter);

}  // namespace unfold
