#pragma once
/// The logistic domain, in which predictions are mixed: stretch(p) = ln(p / (1 - p)) and its inverse, squash, computed
/// from tables that are the same on every machine, and the small weighted sums of a mixer.
///
/// Invariant 2: sums use kMixLanes virtual lanes in a fixed order, without fused operations; everything else is + - * /
/// and table look-ups.

#include <array>
#include <cstdint>

#include "model/context_mixing/simd.h"
#include "unfold/base/types.h"

namespace unfold {

inline constexpr float kLargestLogit = 15;  ///< predictions are clipped to p from 3e-7 to 1 - 3e-7

class Logistic {
 public:
  static const Logistic& tables();

  /// ln(p / (1 - p)) of a probability in units of 2^-12; 0 is treated as half a unit.
  UNFOLD_ALWAYS_INLINE float stretch(std::uint32_t p12) const { return stretch_[p12]; }
  const float* stretch_table() const { return stretch_.data(); }
  /// 1 / (1 + exp(-x)); x is clipped to the largest logit.
  UNFOLD_ALWAYS_INLINE float squash(float x) const {
    x = x < -kLargestLogit ? -kLargestLogit : x > kLargestLogit ? kLargestLogit : x;
    const float place = (x + kLargestLogit) * kSteps;
    const auto i = static_cast<std::int32_t>(place);  // not negative
    return squash_[i] + (place - static_cast<float>(i)) * (squash_[i + 1] - squash_[i]);
  }

  /// Like the function above, for four values that are within the limits.
  UNFOLD_ALWAYS_INLINE FourFloats squash_four(FourFloats x) const {
    const FourFloats place = (x + kLargestLogit) * kSteps;
    const auto i = __builtin_convertvector(place, FourIntegers);
    const auto at = [&](int k, std::size_t next) { return squash_[static_cast<std::size_t>(i[k]) + next]; };
    const FourFloats low = {at(0, 0), at(1, 0), at(2, 0), at(3, 0)}, high = {at(0, 1), at(1, 1), at(2, 1), at(3, 1)};
    return low + (place - __builtin_convertvector(i, FourFloats)) * (high - low);
  }

 private:
  static constexpr float kSteps = 128;  // table entries per unit of the logit, which gives an error of 8e-6 in p
  Logistic();
  std::array<float, 4096> stretch_;
  std::array<float, 2 * 15 * 128 + 2> squash_;
};

inline constexpr Index kMixLanes = 8;

/// sum_i x_i w_i over n values (a multiple of kMixLanes) in kMixLanes lanes, which are added pairwise.
inline float mix_dot(const float* x, const float* w, Index n) {
  std::array<float, kMixLanes> lane{};
  for (Index i = 0; i < n; i += kMixLanes)
    for (Index l = 0; l < kMixLanes; ++l) lane[static_cast<std::size_t>(l)] += x[i + l] * w[i + l];
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/// w += step * x
inline void mix_step(float* w, const float* x, float step, Index n) {
  for (Index i = 0; i < n; ++i) w[i] += step * x[i];
}

}  // namespace unfold
