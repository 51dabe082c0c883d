#pragma once
/// One kind of training: on running text, data with fields, a generated task or a stream, or of a model that is fitted
/// as a whole.

#include <memory>
#include <set>
#include <string_view>

#include "app/train/train.h"
#include "app/train/training_context.h"

namespace unfold {

class TrainingJob {
 public:
  TrainingJob() = default;
  TrainingJob(const TrainingJob&) = delete;
  TrainingJob& operator=(const TrainingJob&) = delete;
  virtual ~TrainingJob() = default;

  /// Derives settings from the data, before the settings are converted to canonical form.
  virtual void settle() {}
  /// Returns the names of settings that run() derives from the data. These settings may differ from the settings of a
  /// run in the folder.
  virtual std::set<std::string_view> open_settings() const { return {}; }
  virtual TrainOutcome run() = 0;
};

/// Returns the job that the settings describe; it keeps a reference to `context`. REQUIRES context.prepare().
std::unique_ptr<TrainingJob> make_training_job(TrainingContext& context);

}  // namespace unfold
