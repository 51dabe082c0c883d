#pragma once
/// Reporters that show the progress and warnings of the functions of app/ on the console.

#include <optional>
#include <string>

#include "app/common/reporter.h"
#include "cli/terminal/console.h"
#include "cli/terminal/train_progress.h"

namespace unfold {

/// The reporter of all processes but the first: it prints nothing, but can be interrupted.
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
  /// Set by SIGINT and SIGTERM from this call on.
  const std::atomic<bool>* stop() override;
  Observer* observer(Index steps) override { return &training_.emplace(console_, steps); }

 private:
  Console& console_;
  std::optional<TrainProgress> training_;
  std::string what_;  // the task whose progress is shown
  double start_ = 0;  // the time of its first report, in seconds
  double first_ = 0;  // the work that was done at that time
};

}  // namespace unfold
