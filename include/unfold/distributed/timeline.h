#pragma once
/// Timeline of a process: named time spans of computation and of exchanges, which may overlap.

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace unfold {

class Timeline {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Lane : unsigned char {
    step,  ///< the whole step
    computing,
    beside,  ///< exchange that overlaps computation
    alone    ///< exchange without overlapping computation
  };
  struct Entry {
    std::string name;
    Lane lane;
    double begin, end;  ///< seconds since `start`
  };

  /// Discards all entries and sets time 0 to now.
  void start() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    zero_ = Clock::now();
  }
  /// Adds a span that ends now. May be called from any thread.
  void note(std::string name, Lane lane, Clock::time_point begin) {
    const Clock::time_point end = Clock::now();
    const std::lock_guard lock(mutex_);
    entries_.push_back({std::move(name), lane, seconds(begin), seconds(end)});
  }
  /// Returns the spans in the order of their end times. REQUIRES: no thread is adding spans.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  double seconds(Clock::time_point t) const { return std::chrono::duration<double>(t - zero_).count(); }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  Clock::time_point zero_ = Clock::now();
};

}  // namespace unfold
