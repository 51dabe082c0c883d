#pragma once
/// Training on a generated task (--task).

#include "app/train/training_job.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

class TaskJob final : public TrainingJob {
 public:
  explicit TaskJob(TrainingContext& context) : context_(context) {}
  TrainOutcome run() override;

 private:
  template <class T>
  TrainOutcome train();
  template <class T>
  void check(const NetworkModel<T>& model) const;
  template <class T>
  TrainingResult fit_or_train(NetworkModel<T>& model, const Task& task, const TaskTrainOptions& options, Team& team);
  template <class T>
  void compare(NetworkModel<T>& model, const Parameters<T>& initial, const Task& task, const TaskTrainOptions& options,
               TrainOutcome& outcome, Team& team) const;

  TrainingContext& context_;
};

}  // namespace unfold
