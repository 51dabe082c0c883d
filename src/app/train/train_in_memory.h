#pragma once
/// Training that writes nothing: the model is returned instead of a run folder.
///
///   TrainRequest request;                                     // without `out`
///   request.settings.data = {kDataInMemory};                  // data/readers/memory_data.h, or files
///   const MemoryFiles files({{kDataInMemory, data}});
///   const std::string model = train_in_memory(request, reporter).model;

#include <string>

#include "app/train/train.h"

namespace unfold {

/// The names of training, validation and test data in memory, in messages and in the configuration of a run.
inline constexpr const char *kDataInMemory = "data in memory", *kValidationInMemory = "validation data in memory",
                            *kTestInMemory = "test data in memory";

struct TrainedModel {
  TrainOutcome outcome;
  std::string model;  ///< the contents of the model file
};

/// Trains as `train` does. The model is byte-identical to the model file of a run folder. Throws like `train`, and
/// UsageError for settings that require a run folder.
TrainedModel train_in_memory(const TrainRequest& request, Reporter& reporter);

}  // namespace unfold
