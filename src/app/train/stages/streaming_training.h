#pragma once
/// Streaming training on bytes (`train --follow`): a language model over all 256 byte values, with one update per
/// window, in constant memory. The model file is rewritten at every checkpoint.

#include "app/common/reporter.h"
#include "app/settings/train_settings.h"
#include "unfold/model/network/train.h"

namespace unfold {

/// Creates the initial model of a streaming run. Throws UsageError for a model that is not trained by gradients.
template <class T>
LanguageModel<T> model_of_stream(const TrainSettings& settings, const RunSettings& run);

/// Trains until the stream or the budget ends. Throws like `train`.
template <class T>
TrainingResult follow_stream(LanguageModel<T>& model, const TrainSettings& settings, TrainOptions options, int threads,
                             Reporter& reporter);

}  // namespace unfold
