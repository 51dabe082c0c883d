#include "cli/terminal/console_reporter.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/bench/peak_performance.h"
#include "cli/terminal/interrupt.h"

namespace unfold {

const std::atomic<bool>* SilentReporter::stop() { return &catch_interrupts(); }

const std::atomic<bool>* ConsoleReporter::stop() { return &catch_interrupts(); }

void ConsoleReporter::progress(const WorkDone& work) {
  if (what_ != work.what) what_ = work.what, start_ = seconds_now();
  if (!console_.due()) return;
  if (work.unit.empty()) return console_.progress(fmt::format("{}  {:.0f} %", work.what, 100 * work.done / work.total));
  const double speed = work.done / std::max(seconds_now() - start_, 1e-9);
  console_.progress(fmt::format("{}  {:.0f}/{:.0f} {}  {} {}/s  {} left", work.what, work.done, work.total, work.unit,
                                count_text(speed), work.unit, duration_text((work.total - work.done) / speed)));
}

}  // namespace unfold
