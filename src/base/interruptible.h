#pragma once
/// Interruption of work between its polls.
///
/// `Interruptible` breaks parallel regions off at their barriers, where the caller can write a checkpoint of the state
/// before them. `NothingToSave` marks work without partial results that could be saved: a signal handler then ends the
/// process promptly, even if the work polls rarely.

#include <atomic>

namespace unfold {

/// Thrown at a barrier of a team once the flag of an Interruptible is set.
struct BrokenOff {};

/// While one lives, the parallel regions that this thread starts throw BrokenOff once a flag is set: at their start and
/// at their barriers. What the region computes is incomplete then. Null: never. The innermost one counts.
class Interruptible {
 public:
  explicit Interruptible(const std::atomic<bool>* stop);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  /// The flag of the innermost one of this thread; null: none.
  static const std::atomic<bool>* flag();

 private:
  const std::atomic<bool>* outer_;
};

/// While one lives, a handler of signals (cli/terminal/interrupt.h) ends the process when it has not ended by itself
/// within a moment. Throws InterruptedError when a stop was requested already.
class NothingToSave {
 public:
  NothingToSave();
  ~NothingToSave();
  NothingToSave(const NothingToSave&) = delete;
  NothingToSave& operator=(const NothingToSave&) = delete;
  static bool any() noexcept;  ///< may be called by a handler
};

}  // namespace unfold
