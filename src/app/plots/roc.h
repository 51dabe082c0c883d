#pragma once
/// The receiver operating characteristic (ROC) of scores that separate two classes.

#include <span>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// A point of the curve: all examples with a score of at least `threshold` are classified as positive.
struct RocPoint {
  double threshold, false_positive_rate, true_positive_rate;
};

struct Roc {
  /// The area under the curve: the probability that a positive has a higher score than a negative, where ties count one
  /// half (Mann & Whitney 1947).
  double area = 0;
  Index positives = 0, negatives = 0;
  std::vector<RocPoint> curve;  ///< points from (0, 0) to (1, 1), one per distinct score, by decreasing threshold
};

/// Computes the curve; `positive` has one label per score. Throws DataError unless both classes occur and all scores
/// are numbers.
Roc roc(std::span<const double> scores, const std::vector<bool>& positive);

}  // namespace unfold
