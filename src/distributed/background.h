#pragma once
/// A background thread that executes tasks one after another; it starts with the first task.
///
///   Background background;
///   background.give([&] { send(part); });
///   compute();
///   background.wait();                       // waits for all tasks; rethrows the first error

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "unfold/distributed/processes.h"

namespace unfold {

class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  /// Cancels the running exchange and all pending tasks.
  ~Background();

  /// Adds a task. After an error, no further tasks run.
  void give(std::function<void()> work);
  /// Waits for all tasks; rethrows the first error.
  void wait();
  /// Returns the pace that is passed to exchanges that run in the background.
  const Pace& pace() const { return pace_; }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool busy_ = false, ends_ = false;
  std::exception_ptr error_;
  Pace pace_;
  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace unfold
