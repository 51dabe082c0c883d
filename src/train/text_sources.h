#pragma once
/// Training sources for text: windows of the training part, and the validation part in parallel streams.

#include <string_view>

#include "unfold/train/trainer.h"

namespace unfold {

/// Returns whether a process needs all lanes of a batch rather than only the lanes of its shards, because Riemannian
/// optimizers compare batches and count their targets.
bool reads_whole_batches(std::string_view optimizer);

/// Throws UsageError if the validation part has no targets. Keeps references to the data, which must outlive the
/// result.
template <class T>
TrainingSources<T> text_sources(const TrainingData& data, const TrainerOptions& options);

}  // namespace unfold
