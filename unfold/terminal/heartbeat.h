#pragma once
/// Says that work goes on while nothing else says so: a step of training, or a validation, may take minutes.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace unfold {

class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;
  /// Calls `tell(seconds since the last sign of life)` from a thread of its own once every `pause` without one. Where
  /// the system gives no thread, it is silent.
  Heartbeat(std::chrono::milliseconds pause, std::function<void(double)> tell);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// A sign of life.
  void beat();
  /// No more calls from when it returns.
  void stop();

 private:
  void run();

  const std::chrono::milliseconds pause_;
  const std::function<void(double)> tell_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Clock::time_point last_ = Clock::now();
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace unfold
