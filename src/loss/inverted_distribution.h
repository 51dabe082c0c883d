#pragma once
/// Distributions of independent numbers that are drawn by inverting their distribution function.

#include <algorithm>
#include <span>

#include "loss/distribution.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/random.h"

namespace unfold {

template <class T>
class InvertedDistribution : public ValueDistribution<T> {
 public:
  void quantile(std::span<const T> signal, double level, std::span<T> values) const override {
    require_size(*this, signal, values);
    require_level(level);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(quantile_at(signal, i, level));
  }
  void component_crps(std::span<const T> signal, std::span<const T> observed, std::span<double> scores) const override {
    require_size(*this, signal, observed);
    require_size(*this, signal, scores);
    for (std::size_t i = 0; i < observed.size(); ++i) scores[i] = crps_at(signal, i, observed[i]);
  }
  void sample(std::span<const T> signal, Random& random, std::span<T> values) const override {
    require_size(*this, signal, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(quantile_at(signal, i, std::max(random.uniform(), 0x1p-54)));
  }

 protected:
  /// The quantile and the score of component i.
  virtual double quantile_at(std::span<const T> signal, std::size_t i, double level) const = 0;
  virtual double crps_at(std::span<const T> signal, std::size_t i, double observed) const = 0;
};

}  // namespace unfold
