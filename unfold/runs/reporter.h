#pragma once
/// What the functions of this room tell while they work. They print nothing: a front end passes a reporter that shows
/// as much as it likes; one that does nothing is a Reporter as it stands.

#include <atomic>
#include <string_view>

#include "unfold/training/events.h"

namespace unfold {

/// How much of a piece of work is done.
struct WorkDone {
  std::string_view what;       ///< "eval", "counting"
  double done = 0, total = 1;  ///< done <= total
  std::string_view unit = {};  ///< of both: "symbols"; empty: they are a share
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  /// A line that people may want to read.
  virtual void remark(std::string_view) {}
  /// The same, unless there is nothing to say.
  void remark_if(std::string_view text) {
    if (!text.empty()) remark(text);
  }
  /// A line that they should read even if they want no remarks.
  virtual void warn(std::string_view) {}
  /// Called often, at most once for a few hundred symbols.
  virtual void progress(const WorkDone&) {}
  /// Asked for when work begins that can be stopped in good order: a flag that is polled from then on; nullptr: none.
  /// Once it is set, the function throws InterruptedError.
  virtual const std::atomic<bool>* stop() { return nullptr; }
  /// Who is told the events of a training that now begins; `steps`: its budget, 0 when it is counted otherwise.
  virtual Observer* observer(Index steps) { return (void)steps, nullptr; }
};

}  // namespace unfold
