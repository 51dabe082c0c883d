#pragma once
/// Shows the events of a training run as notes and a progress line.

#include <atomic>
#include <optional>

#include "app/plots/sparkline.h"
#include "cli/terminal/console.h"
#include "cli/terminal/heartbeat.h"
#include "unfold/train/events.h"

namespace unfold {

class TrainProgress final : public Observer {
 public:
  /// `steps`: the budget in steps; 0 if it has a different unit.
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
  Sparkline curve_;                           // curve of the loss, for wide terminals
  std::optional<CurvatureReport> curvature_;  // report of the last step
  std::atomic<Index> step_ = 0;
  Heartbeat heartbeat_;
};

}  // namespace unfold
