#pragma once
/// Capability of losses (loss.h): the predictive distribution of numeric values given a row of the signal.

#include <numeric>
#include <span>
#include <vector>

#include "unfold/loss/loss.h"

namespace unfold {

/// The predictive distribution given a row of the signal. Components are independent unless the loss documents
/// otherwise; in that case `quantile` and `crps` refer to the marginal distributions. Spans of values hold
/// target_size(signal size) numbers; other sizes throw UsageError. All computations are in double.
template <class T>
class ValueDistribution : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "a distribution of numbers";

  virtual void mean(std::span<const T> signal, std::span<T> mean) const = 0;
  /// Returns, for each component, the smallest number that is not exceeded with a probability of at least `level`.
  /// Throws UsageError unless 0 < level < 1.
  virtual void quantile(std::span<const T> signal, double level, std::span<T> values) const = 0;
  /// Continuous ranked probability score (CRPS) of each component: integral over x of (P(Y <= x) - [observed <= x])^2.
  /// It has the unit of the values and equals the absolute error if the distribution is a point mass (Gneiting &
  /// Raftery 2007). If values were divided by a deviation, multiply the score by this deviation to obtain it in the
  /// unit of the data.
  virtual void component_crps(std::span<const T> signal, std::span<const T> observed,
                              std::span<double> scores) const = 0;
  /// Returns the sum of the scores over components.
  double crps(std::span<const T> signal, std::span<const T> observed) const {
    std::vector<double> scores(observed.size());
    component_crps(signal, observed, scores);
    return std::accumulate(scores.begin(), scores.end(), 0.0);
  }
  virtual void sample(std::span<const T> signal, Random& random, std::span<T> values) const = 0;
};

}  // namespace unfold
