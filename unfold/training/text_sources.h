#pragma once
/// What a trainer reads when it learns from text: windows of the training part, and the validation part in lanes.

#include "unfold/training/trainer.h"

namespace unfold {

/// Throws UsageError when nothing of the validation part is to be predicted. Refers to the data, which must outlive it.
template <class T>
TrainingSources<T> text_sources(const TrainingData& data, const TrainerOptions& options);

}  // namespace unfold
