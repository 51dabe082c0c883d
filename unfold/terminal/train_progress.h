#pragma once
/// The events of a training run as remarks and a progress line.

#include <atomic>
#include <optional>

#include "unfold/report/small_curve.h"
#include "unfold/terminal/console.h"
#include "unfold/terminal/heartbeat.h"
#include "unfold/training/events.h"

namespace unfold {

class TrainProgress final : public Observer {
 public:
  /// `steps`: the budget, 0 when it is counted otherwise.
  TrainProgress(Console& console, Index steps);

  void progress(const ProgressEvent& event) override;
  void curvature(const CurvatureEvent& event) override { curvature_ = event.report; }
  void validation(const ValidationEvent& event) override;
  void sample(const SampleEvent& event) override;
  void rollback(const RollbackEvent& event) override;
  void done(const DoneEvent&) override { heartbeat_.stop(); }

 private:
  Console& console_;
  Index steps_;
  SmallCurve curve_;                          // of the loss, for a terminal wide enough
  std::optional<CurvatureReport> curvature_;  // of the last step
  std::atomic<Index> step_ = 0;
  Heartbeat heartbeat_;
};

}  // namespace unfold
