#pragma once
/// A capability of losses (loss.h): what a row of the signal says about the numbers that it predicts.

#include <numeric>
#include <span>
#include <vector>

#include "unfold/losses/loss.h"

namespace unfold {

/// The distribution of numbers that a row of the signal stands for. Independent components unless the loss says
/// otherwise; then `quantile` and `crps` are those of each component by itself. Spans of values hold
/// target_size(signal size) numbers; UsageError for others. Everything is computed in double.
template <class T>
class ValueDistribution : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "a distribution of numbers";

  virtual void mean(std::span<const T> signal, std::span<T> mean) const = 0;
  /// The smallest numbers, component by component, that are not exceeded with probability `level` at least. UsageError
  /// unless 0 < level < 1.
  virtual void quantile(std::span<const T> signal, double level, std::span<T> values) const = 0;
  /// Continuous ranked probability score of each component: integral over x of (P(Y <= x) - [observed <= x])^2. In the
  /// unit of the values, and the absolute error where the distribution is one point (Gneiting & Raftery 2007). Where
  /// values were divided by a deviation, their score in the unit of the data is that deviation times this one.
  virtual void component_crps(std::span<const T> signal, std::span<const T> observed,
                              std::span<double> scores) const = 0;
  /// Summed over components.
  double crps(std::span<const T> signal, std::span<const T> observed) const {
    std::vector<double> scores(observed.size());
    component_crps(signal, observed, scores);
    return std::accumulate(scores.begin(), scores.end(), 0.0);
  }
  virtual void sample(std::span<const T> signal, Random& random, std::span<T> values) const = 0;
};

}  // namespace unfold
