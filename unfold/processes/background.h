#pragma once
/// Work beside other work: one thing after another, in a thread of its own that begins with the first.
///
///   Background background;
///   background.give([&] { send(part); });
///   compute();
///   background.wait();                       // all of it is done; throws what it threw

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "unfold/processes/processes.h"

namespace unfold {

class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  /// What is not done is broken off.
  ~Background();

  /// After an error nothing more is done.
  void give(std::function<void()> work);
  /// Rethrows the first error.
  void wait();
  /// For exchanges in the background.
  const Pace& pace() const { return pace_; }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool busy_ = false, ends_ = false;
  std::exception_ptr error_;
  Pace pace_;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace unfold
