#pragma once
/// Reports that work continues while there is no other output, because a training step or a validation may take
/// minutes.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace unfold {

class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;
  /// Starts a thread that calls `tell(seconds since the last beat)` after each `pause` without a beat. If no thread can
  /// be started, it is never called.
  Heartbeat(std::chrono::milliseconds pause, std::function<void(double)> tell);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Signals activity, which restarts the pause.
  void beat();
  /// Stops the thread; `tell` is not called after this function returns.
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
