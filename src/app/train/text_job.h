#pragma once
/// Training on running text: derives settings from the text, reads it, and trains a network or fits a model as a whole.

#include <memory>
#include <set>
#include <string_view>

#include "app/train/setup/initial_model.h"
#include "app/train/setup/training_data.h"
#include "app/train/training_job.h"

namespace unfold {

class TextJob final : public TrainingJob {
 public:
  explicit TextJob(TrainingContext& context) : context_(context) {}
  void settle() override;
  std::set<std::string_view> open_settings() const override;
  TrainOutcome run() override;

 private:
  void choose_defaults(const Material& material);

  TrainingContext& context_;
  std::unique_ptr<InitialModel> initial_;
  bool default_budget_ = false;  // whether no budget was given
};

}  // namespace unfold
