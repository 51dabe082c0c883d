#pragma once
/// Selects the fastest of several equivalent implementations of a repeated operation by timing them in use.
///
///   Trial trial(3);
///   for (;;) { trial.choose(); const double cost = seconds of running implementation trial.now(); trial.note(cost); }
///
/// Each implementation is tried three times, then the fastest is used. Its cost continues to be measured, and the
/// estimates for the others decay slowly: an implementation that was r times as expensive is tried again after about
/// 500 ln r repetitions. The choice therefore adapts when the load of the machine changes, at less than one percent
/// overhead.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace unfold {

class Trial {
 public:
  explicit Trial(std::size_t ways = 1) : costs_(ways) {}

  std::size_t ways() const { return costs_.size(); }
  std::size_t now() const { return now_; }
  /// Returns whether some implementation has not been tried often enough.
  bool learning() const { return ways() > 1 && runs_ < kTrials * ways(); }

  /// Selects the implementation for the next operation; call it before the operation.
  void choose() {
    if (learning()) {
      now_ = runs_ % ways();
      return;
    }
    const auto cheapest = static_cast<std::size_t>(std::min_element(costs_.begin(), costs_.end()) - costs_.begin());
    returned_ = cheapest != now_;
    now_ = cheapest;
  }

  /// Records the cost of the operation; call it after the operation.
  void note(double cost) {
    if (ways() == 1) return;
    double& known = costs_[now_];
    if (learning()) {
      known = runs_ < ways() ? cost : std::min(known, cost);
      ++runs_;
      return;
    }
    const double bounded = std::min(cost, 2 * known);  // limits the effect of a single interruption
    known = returned_ ? bounded : std::lerp(known, bounded, kNews);
    for (std::size_t way = 0; way < ways(); ++way)
      if (way != now_) costs_[way] *= 1 - kForgetting;
  }

 private:
  static constexpr std::size_t kTrials = 3;  // number of trials of each implementation
  static constexpr double kNews = 1.0 / 16, kForgetting = 1.0 / 512;

  std::vector<double> costs_;
  std::size_t runs_ = 0, now_ = 0;
  bool returned_ = false;  // now_ differs from the implementation used in the previous repetition
};

}  // namespace unfold
