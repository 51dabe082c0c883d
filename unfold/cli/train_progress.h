#pragma once
/// The events of a training run as remarks and a progress line.

#include <optional>

#include "unfold/cli/console.h"
#include "unfold/training/events.h"

namespace unfold {

class TrainProgress final : public Observer {
 public:
  /// `steps`: the budget, 0 when it is counted otherwise.
  TrainProgress(Console& console, Index steps) : console_(console), steps_(steps) {}

  void progress(const ProgressEvent& event) override;
  void curvature(const CurvatureEvent& event) override { curvature_ = event.report; }
  void validation(const ValidationEvent& event) override;
  void sample(const SampleEvent& event) override;
  void rollback(const RollbackEvent& event) override;

 private:
  Console& console_;
  Index steps_;
  std::optional<CurvatureReport> curvature_;  // of the last step
};

}  // namespace unfold
