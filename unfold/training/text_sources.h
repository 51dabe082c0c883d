#pragma once
/// What a trainer reads when it learns from text: windows of the training part, and the validation part in lanes.

#include <string_view>

#include "unfold/training/trainer.h"

namespace unfold {

/// Whether a process needs all lanes of a batch, and not only those of its shards: Riemannian optimisers compare
/// batches and count their targets.
bool reads_whole_batches(std::string_view optimizer);

/// Throws UsageError when nothing of the validation part is to be predicted. Refers to the data, which must outlive it.
template <class T>
TrainingSources<T> text_sources(const TrainingData& data, const TrainerOptions& options);

}  // namespace unfold
