#pragma once
/// Training on a stream of bytes while it is written (--follow).

#include "app/train/training_job.h"

namespace unfold {

class StreamJob final : public TrainingJob {
 public:
  explicit StreamJob(TrainingContext& context) : context_(context) {}
  TrainOutcome run() override;

 private:
  template <class T>
  TrainOutcome follow();

  TrainingContext& context_;
};

}  // namespace unfold
