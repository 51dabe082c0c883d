#include "cli/terminal/console_reporter.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/bench/peak_performance.h"
#include "cli/terminal/interrupt.h"

namespace unfold {

const std::atomic<bool>* SilentReporter::stop() { return &catch_interrupts(); }

const std::atomic<bool>* ConsoleReporter::stop() { return &catch_interrupts(); }

void ConsoleReporter::progress(const WorkDone& work) {
  constexpr double kShortest = 0.1;  // seconds; a speed that is measured over less time is noise
  if (what_ != work.what) what_ = work.what, start_ = seconds_now(), first_ = work.done;
  if (!console_.due()) return;
  if (work.unit.empty()) return console_.progress(fmt::format("{}  {:.0f} %", work.what, 100 * work.done / work.total));
  std::string text = fmt::format("{}  {:.0f}/{:.0f} {}", work.what, work.done, work.total, work.unit);
  const double seconds = seconds_now() - start_, speed = (work.done - first_) / std::max(seconds, kShortest);
  if (seconds >= kShortest && speed > 0)
    text += fmt::format("  {} {}/s  {} left", count_text(speed), work.unit,
                        duration_text(std::max(0.0, work.total - work.done) / speed));
  console_.progress(text);
}

}  // namespace unfold
