#pragma once
/// The cheapest of a few equally good ways to do something again and again, found by doing it.
///
///   Trial trial(3);
///   for (;;) { trial.choose(); const double cost = seconds of doing it in way trial.now(); trial.note(cost); }
///
/// Each way is tried three times, then the cheapest is kept. What it costs is followed from then on, and what is known
/// of the others slowly loses its weight: a way that looked r times as expensive is tried again after about 500 ln r
/// times. So the choice follows a machine that gets busy and one that gets quiet again, for less than a percent.

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
  bool learning() const { return ways() > 1 && runs_ < kTrials * ways(); }  ///< some way was not tried often enough

  /// Before doing it.
  void choose() {
    if (learning()) {
      now_ = runs_ % ways();
      return;
    }
    const auto cheapest = static_cast<std::size_t>(std::min_element(costs_.begin(), costs_.end()) - costs_.begin());
    returned_ = cheapest != now_;
    now_ = cheapest;
  }

  /// After doing it.
  void note(double cost) {
    if (ways() == 1) return;
    double& known = costs_[now_];
    if (learning()) {
      known = runs_ < ways() ? cost : std::min(known, cost);
      ++runs_;
      return;
    }
    const double bounded = std::min(cost, 2 * known);  // one interruption says little
    known = returned_ ? bounded : std::lerp(known, bounded, kNews);
    for (std::size_t way = 0; way < ways(); ++way)
      if (way != now_) costs_[way] *= 1 - kForgetting;
  }

 private:
  static constexpr std::size_t kTrials = 3;  // of each way
  static constexpr double kNews = 1.0 / 16, kForgetting = 1.0 / 512;

  std::vector<double> costs_;
  std::size_t runs_ = 0, now_ = 0;
  bool returned_ = false;  // now_ is not what was done before
};

}  // namespace unfold
