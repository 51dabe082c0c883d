#pragma once
/// The scores of the last lines, and the p-value of a score that takes them into account: during a burst of unusual
/// lines, such as a restart, the next unusual line is expected.
///
///   RecentScores recent;
///   double bits = recent.p_bits(long_run_bits);   // before `add`
///   recent.add(long_run_bits);
///
/// Scores are - log2 of a p-value p. Let q be the weighted share of the last kLines scores that are at least as high,
/// where a score k lines ago has the weight kDecay^k. Scores that differ by less than kSame are considered equal.
/// Lines that have not been read yet count with share p. The result is - log2 [ (1 - kShare) p + kShare q ]. It exceeds
/// the long-run score by at most - log2 (1 - kShare), and while all recent scores are equal, it is at most - log2
/// kShare. Time and memory are constant.

#include <array>
#include <nlohmann/json_fwd.hpp>

#include "unfold/base/types.h"

namespace unfold {

class RecentScores {
 public:
  static constexpr Index kLines = 16;
  static constexpr double kShare = 1.0 / 20, kDecay = 0.8, kSame = 0.5;

  double p_bits(double long_run_bits) const;
  void add(double long_run_bits);

  nlohmann::json to_json() const;
  /// Throws ModelError for JSON that `to_json` cannot have produced.
  static RecentScores from_json(const nlohmann::json& json);

 private:
  std::array<double, kLines> scores_{};  // the last one first
  std::size_t size_ = 0;
};

}  // namespace unfold
