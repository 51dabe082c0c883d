#pragma once
/// Internal: data shared by the parts of a training run: the network, the counters, the clock and the listeners. The
/// parts are the loop (trainer.cpp), validation.h and recovery.h.

#include <chrono>
#include <memory>

#include "train/checkpoint.h"
#include "train/event_log.h"
#include "train/objective/batch_objective.h"
#include "unfold/train/trainer.h"

namespace unfold {

/// The wall clock of a run, including earlier parts of a resumed run. Several processes use the clock of the first
/// process. All processes know its value from their last exchange (Notices), which takes place in every step; `now`
/// requires a message.
class RunClock {
 public:
  using Clock = std::chrono::steady_clock;
  /// Starts with the given number of seconds already elapsed.
  void start(double seconds_before) {
    before_ = seconds_before;
    started_ = Clock::now();
  }
  double here() const { return before_ + since(started_); }
  /// Collective: must be called by all processes at the same point.
  double now() const {
    if (alone()) return here();
    sharding_.gather({}, 0);
    return sharding_.notices->time;
  }
  /// Returns the last value known to all processes.
  double agreed() const { return alone() ? here() : sharding_.notices->time; }
  /// REQUIRES notices.
  void share(const Sharding& sharding) { sharding_ = sharding; }
  static double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

 private:
  bool alone() const { return sharding_.all().alone(); }

  Clock::time_point started_ = Clock::now();
  double before_ = 0;
  Sharding sharding_;
};

/// An observer and the log of a run; either may be null.
struct Listeners {
  Observer* observer = nullptr;
  std::unique_ptr<EventLog> log = nullptr;

  template <class Event>
  void tell(void (Observer::*what)(const Event&), const Event& event) {
    if (observer != nullptr) (observer->*what)(event);
    if (log) (log.get()->*what)(event);
  }
};

template <class T>
struct Run {
  const Network<T>& network;
  Parameters<T>& values;
  const TrainerOptions& options;
  Team& team;
  BatchSource& batches;
  Optimizer<T>& optimizer;
  BatchObjective<T>& objective;
  Sharding sharding = {};

  RunState state = {};
  std::shared_ptr<const Parameters<T>> best = nullptr;  ///< null: no validation yet
  Listeners listeners = {};
  RunClock clock = {};
};

}  // namespace unfold
