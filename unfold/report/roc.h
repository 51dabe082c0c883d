#pragma once
/// How well scores tell two classes apart: the receiver operating characteristic.

#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Everything scored at least `threshold` taken for positive.
struct RocPoint {
  double threshold, false_positive_rate, true_positive_rate;
};

struct Roc {
  /// Probability that a positive is scored above a negative, equal scores counting one half (Mann & Whitney 1947).
  double area = 0;
  Index positives = 0, negatives = 0;
  std::vector<RocPoint> curve;  ///< from (0, 0) to (1, 1), one point per different score, thresholds falling
};

/// One label per score. Throws DataError unless both classes occur and all scores are numbers.
Roc roc(std::span<const double> scores, const std::vector<bool>& positive);

}  // namespace unfold
