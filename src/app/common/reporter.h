#pragma once
/// Interface for the notes, warnings and progress of long-running functions. The functions print nothing; a front end
/// passes a reporter that decides what to show. The base class ignores everything.

#include <atomic>
#include <string_view>

#include "unfold/train/events.h"

namespace unfold {

/// The progress of a task.
struct WorkDone {
  std::string_view what;       ///< "eval", "counting"
  double done = 0, total = 1;  ///< done <= total
  std::string_view unit = {};  ///< unit of `done` and `total`, such as "symbols"; empty: they are fractions
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  /// Reports a note to the user.
  virtual void remark(std::string_view) {}
  /// Calls remark() unless the text is empty.
  void note_if(std::string_view text) {
    if (!text.empty()) remark(text);
  }
  /// Reports a warning, which is shown even if the user has disabled notes.
  virtual void warn(std::string_view) {}
  /// Called often, at most once per few hundred symbols.
  virtual void progress(const WorkDone&) {}
  /// Called when work begins that can be interrupted. Returns a flag to poll, or nullptr. When the flag is set, the
  /// function throws InterruptedError.
  virtual const std::atomic<bool>* stop() { return nullptr; }
  /// Called when training begins. Returns the observer of its events, or nullptr. `steps` is the budget in steps, or 0
  /// if it has a different unit.
  virtual Observer* observer(Index steps) { return (void)steps, nullptr; }
};

}  // namespace unfold
