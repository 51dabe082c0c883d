#pragma once
/// Decides whether all threads of a team take part in the next parallel region or only the caller
/// (Attendance::adaptive, unfold/base/threads/team.h). Two observations decide:
///
///   - If the caller spends most of the time waiting for other threads, other programs use the processors, and the
///     caller would have finished sooner alone.
///   - If regions are short, barriers may take longer than the work that is saved. The mean duration of a region is
///     measured with all threads and with the caller alone, and the faster way is used.
///
/// Both are repeated after some time, which is doubled as long as the decision stays the same.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "unfold/base/threads/team.h"

namespace unfold {

class AttendanceChoice {
 public:
  using Clock = std::chrono::steady_clock;

  AttendanceChoice(int members, Attendance attendance)
      : attendance_(attendance), most_waited_(std::max(2.0 / 3, 1 - 1.0 / members)) {}

  bool all(Clock::time_point now) {
    switch (attendance_) {
      case Attendance::all: return true;
      case Attendance::fickle: return (++runs_ * 0x9E3779B97F4A7C15U) >> 63 != 0;  // about every second region
      case Attendance::adaptive: break;
    }
    return now >= busy_until_ && now >= alone_until_ && !trying_alone_;
  }

  /// Records a region in which all threads took part. `waited`: how long the caller waited in excess of a few
  /// microseconds per barrier.
  void note_all(Clock::time_point now, Clock::duration took, Clock::duration waited) {
    if (attendance_ != Attendance::adaptive) return;
    waited_ += waited;
    took_ += took;
    if (took <= kLongestShort) together_.add(took);
    if (took_ < kTrial) return;
    const bool pays = seconds(waited_) <= most_waited_ * seconds(took_);
    // proportional to the time taken, because a region may take seconds
    if (!pays) busy_until_ = now + std::max<Clock::duration>(busy_rest_, kRestPerTrial * took_);
    busy_rest_ = pays ? kFirstRest : doubled(busy_rest_);
    took_ = waited_ = {};
    if (pays && now >= next_trial_ && together_.regions >= kRegions) {
      mean_together_ = together_.mean();
      trying_alone_ = true;
      alone_ = {};
    }
    together_ = {};
  }

  /// Records a region that the caller ran alone.
  void note_alone(Clock::time_point now, Clock::duration took) {
    if (attendance_ != Attendance::adaptive) return;
    if (!trying_alone_) {
      if (took > kLongestShort) alone_until_ = now;  // the regions are no longer short
      return;
    }
    alone_.add(took);
    const bool is_longer = took > 2 * kLongestShort;
    if (!is_longer && alone_.regions < kRegions) return;
    trying_alone_ = false;
    const bool better = !is_longer && alone_.mean() < mean_together_;
    rest_ = better == better_alone_ ? doubled(rest_) : kFirstRest;
    better_alone_ = better;
    (better ? alone_until_ : next_trial_) = now + rest_;
  }

 private:
  struct Regions {
    Clock::duration took{};
    int regions = 0;
    void add(Clock::duration duration) {
      took += duration;
      ++regions;
    }
    double mean() const { return seconds(took) / regions; }
  };

  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }
  static Clock::duration doubled(Clock::duration rest) { return std::min<Clock::duration>(2 * rest, kLongestRest); }

  static constexpr std::chrono::milliseconds kTrial{20}, kFirstRest{200}, kLongestRest{5000};
  static constexpr int kRestPerTrial = 20;
  static constexpr int kRegions = 48;                             // smallest number of regions in a comparison
  static constexpr std::chrono::microseconds kLongestShort{500};  // duration of a short region

  const Attendance attendance_;
  const double most_waited_;  // largest accepted waiting time, as a fraction of the time
  std::uint64_t runs_ = 0;

  Clock::duration took_{}, waited_{}, busy_rest_ = kFirstRest;  // since the last trial with all threads
  Clock::time_point busy_until_{};

  Regions together_, alone_;  // short regions with all threads since the last trial; regions of a trial alone
  double mean_together_ = 0;
  bool trying_alone_ = false, better_alone_ = false;
  Clock::duration rest_ = kFirstRest;
  Clock::time_point alone_until_{}, next_trial_{};
};

}  // namespace unfold
