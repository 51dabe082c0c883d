#pragma once
/// What the functions of app/ tell while they work, on the console.

#include <optional>
#include <string>

#include "unfold/runs/reporter.h"
#include "unfold/terminal/console.h"
#include "unfold/terminal/train_progress.h"

namespace unfold {

/// Of a process that is not the first of several: it says nothing, but can be told to stop.
class SilentReporter final : public Reporter {
 public:
  const std::atomic<bool>* stop() override;
};

class ConsoleReporter final : public Reporter {
 public:
  explicit ConsoleReporter(Console& console) : console_(console) {}

  void remark(std::string_view text) override { console_.remark(text); }
  void warn(std::string_view text) override { console_.warn(text); }
  void progress(const WorkDone& work) override;
  /// SIGINT and SIGTERM, from then on.
  const std::atomic<bool>* stop() override;
  Observer* observer(Index steps) override { return &training_.emplace(console_, steps); }

 private:
  Console& console_;
  std::optional<TrainProgress> training_;
  std::string what_;  // the work whose progress is shown, since `start_` seconds
  double start_ = 0;
};

}  // namespace unfold
