#pragma once
/// Interruption of work that polls its stop flag rarely.
///
/// `Interruptible` ends parallel regions at their barriers; the caller can then write a checkpoint of the state before
/// the interrupted region. `NothingToSave` marks work without partial results that could be saved: a signal handler
/// then ends the process promptly, even if the work polls rarely.

#include <atomic>

namespace unfold {

/// Thrown at a barrier of a team once the flag of an Interruptible is set.
struct BrokenOff {};

/// While an object of this class exists, parallel regions that this thread starts throw BrokenOff at their start and at
/// their barriers once a flag is set. The results of the region are then incomplete. A null flag disables this. If
/// objects are nested, the innermost one applies.
class Interruptible {
 public:
  explicit Interruptible(const std::atomic<bool>* stop);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  /// Returns the flag of the innermost object of this thread; null if there is none.
  static const std::atomic<bool>* flag();

 private:
  const std::atomic<bool>* outer_;
};

/// While an object of this class exists, the signal handler (cli/terminal/interrupt.h) ends the process if the process
/// does not end on its own shortly after the signal. The constructor throws InterruptedError if a stop has already been
/// requested.
class NothingToSave {
 public:
  NothingToSave();
  ~NothingToSave();
  NothingToSave(const NothingToSave&) = delete;
  NothingToSave& operator=(const NothingToSave&) = delete;
  static bool any() noexcept;  ///< may be called by a handler
};

}  // namespace unfold
