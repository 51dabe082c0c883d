#pragma once
/// What a process does when: spans of time with names, of computing and of exchanging, which may run side by side.

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace unfold {

class Timeline {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Lane : unsigned char {
    step,  ///< all of it
    computing,
    beside,  ///< exchanging while something else is computed
    alone    ///< exchanging while nothing else is done
  };
  struct Entry {
    std::string name;
    Lane lane;
    double begin, end;  ///< seconds since `start`
  };

  /// Forgets all; time begins now.
  void start() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    zero_ = Clock::now();
  }
  /// Of any thread: ends now.
  void note(std::string name, Lane lane, Clock::time_point begin) {
    const Clock::time_point end = Clock::now();
    const std::lock_guard lock(mutex_);
    entries_.push_back({std::move(name), lane, seconds(begin), seconds(end)});
  }
  /// In the order in which they ended. REQUIRES: nobody notes anything now.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  double seconds(Clock::time_point t) const { return std::chrono::duration<double>(t - zero_).count(); }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  Clock::time_point zero_ = Clock::now();
};

}  // namespace unfold
