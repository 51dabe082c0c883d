#pragma once
/// Conformal p-values of scores in bits: the probability that the score of a normal line is at least as high.
///
///   TailCalibration tail;
///   for (double bits : held_out) tail.add(bits);
///   tail.p_bits(12.5);   // - log2 p
///
/// With n scores, k of them at least s, p = (k + 1) / (n + 1) (Vovk et al. 2005). If fewer than kTailScores reach s,
/// the excess over u is modeled as exponential, where u is the score that k_u = kTailScores scores reach:
///
///   p = (k_u + 1) / (n + 1) exp(- (s - u) / b),   b = max(b0, (sum of excesses + a b0) / (k_u + a))
///
/// where b0 = 1 / ln 2 is the mean excess of a score that is itself - log2 of a p-value, and a = 4. Without scores, p =
/// 2^-s. Scores are grouped into sixteenths of a bit below 128 bits. Both functions take constant time.

#include <array>
#include <nlohmann/json_fwd.hpp>

#include "unfold/base/types.h"

namespace unfold {

class TailCalibration {
 public:
  void add(double bits);
  double p_bits(double bits) const;
  Index scores() const { return scores_; }
  /// Returns the score that the given share of normal lines exceeds: p_bits(result) = -log2(share).
  double threshold(double share) const;

  nlohmann::json to_json() const;
  static TailCalibration from_json(const nlohmann::json& json);

  static constexpr Index kTailScores = 10;

 private:
  static constexpr int kPerBit = 16, kBins = 2048;
  static int bin_of(double bits);
  Index reaching(int bin) const;         // number of scores in this bin and above
  Index sixteenths_from(int bin) const;  // sum of the bin indices of these scores
  int tail_bin() const;                  // the highest bin that kTailScores scores reach

  void add_to(int bin, Index count);
  // Fenwick trees over the bins in descending order.
  std::array<Index, kBins + 1> counts_{}, sums_{};
  Index scores_ = 0;
};

}  // namespace unfold
