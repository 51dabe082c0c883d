#pragma once
/// AdaptiveDecision (adaptive_decision.h) in integer arithmetic, for fast models: estimates a yes-or-no decision from
/// hints, which are contexts in which the outcomes are counted. The estimates of the hints and a prior are mixed in the
/// logistic domain by gated weights, and the result is refined by the mean outcome of similar decisions.
///
///   stretch(p) = ln(p / (1 - p)) in units of 1/256;  x_i = stretch of the estimate of hint i, or of the prior
///   mixed = squash(sum_i w_i x_i),  w = sum of one row of weights from each of two sets
///   w_i += rate (yes - mixed) x_i
///   P(yes) = (mixed + refined) / 2
///
/// Uses only integers, so results are bit-identical on all machines.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "model/context_mixing/simd.h"
#include "unfold/base/views.h"

namespace unfold {

/// The logistic domain in integers: probabilities in units of 2^-16, logits in units of 1/256 up to kMost.
class IntegerLogistic {
 public:
  static constexpr std::int32_t kMost = 2815;  ///< 11 nats
  static const IntegerLogistic& tables();
  /// `p` in [0, 65536), used with a resolution of 1/4096.
  std::int32_t stretch(std::uint32_t p) const { return stretch_[p >> 4]; }
  /// `x` in [-kMost, kMost].
  std::uint32_t squash(std::int32_t x) const {
    const std::int32_t entry = x + kMost;
    return squash_[static_cast<std::size_t>(entry)];
  }

 private:
  IntegerLogistic();
  std::array<std::int16_t, 4096> stretch_;
  std::array<std::uint16_t, 2 * kMost + 1> squash_;
};

class IntegerDecision {
 public:
  static constexpr std::size_t kHints = 3, kInputs = kHints + 1;
  static constexpr std::size_t kGates = 1024;
  static constexpr std::size_t kRefined = 8192;
  /// Size of the cells, weights and refinement values that a query reads.
  static constexpr std::size_t kBytes = 4 * kHints + 2 * 4 * kInputs + 2 * 2;
  struct Case {
    std::array<std::uint32_t, kHints> hints{};  ///< arbitrary numbers, hashed internally
    std::uint32_t refine = 0;                   ///< context of the refinement, below kRefined
    std::array<std::uint32_t, 2> gates{};       ///< contexts that select the weights, each below kGates
  };

  IntegerDecision();
  /// Prefetches the memory of a case, which `estimate` and `learn` then use.
  UNFOLD_ALWAYS_INLINE void select(const Case& c);
  /// Returns P(yes) in units of 2^-16, above 0 and below 1. `prior` in (0, 65536): an estimate from the counts of the
  /// caller, which also replaces the estimate of a hint without observations.
  UNFOLD_ALWAYS_INLINE std::uint32_t estimate(std::uint32_t prior);
  UNFOLD_ALWAYS_INLINE void learn(bool yes);  ///< learns the outcome

 private:
  static constexpr int kCellBits = 16;  // binary logarithm of the number of cells per hint
  static constexpr std::uint32_t kLeast = 16, kMost = 65520;
  static constexpr std::uint32_t kMaximumCount = 200;
  // Grid of logits for the refinement: the number of points and their distance.
  static constexpr std::int32_t kPlaces = 24, kApart = 256;
  static constexpr std::size_t kRowPlaces = 32;
  static const std::array<std::uint16_t, kMaximumCount + 1> kSteps;  // 2^16 / (n + 1.6)

  struct Cell {
    std::uint16_t p, count;
  };

  const IntegerLogistic* logistic_;
  std::vector<Cell> cells_;
  Buffer<std::int32_t> weights_;   // [2 kGates x kInputs], in units of 2^-16
  Buffer<std::uint16_t> refined_;  // [kRefined x kRowPlaces], of which kPlaces are used; a row is one cache line
  // The current case.
  std::array<Cell*, kHints> found_{};
  std::array<std::uint32_t, kHints> estimates_{};
  std::array<std::int32_t, kInputs> inputs_{};
  std::array<std::int32_t*, 2> rows_{};
  std::uint16_t *refined_row_ = nullptr, *nearest_ = nullptr;
  std::uint32_t mixed_ = 0;
};

void IntegerDecision::select(const Case& c) {
#pragma GCC unroll 3
  for (std::size_t i = 0; i < kHints; ++i) {
    const std::uint64_t h = (std::uint64_t{c.hints[i]} + 1) * 0x9E3779B97F4A7C15U;
    found_[i] = &cells_[(i << kCellBits) + (h >> (64 - kCellBits))];
    __builtin_prefetch(found_[i]);
  }
  rows_ = {weights_.data() + c.gates[0] * kInputs, weights_.data() + (kGates + c.gates[1]) * kInputs};
  refined_row_ = refined_.data() + c.refine * kRowPlaces;
  __builtin_prefetch(refined_row_);
}

std::uint32_t IntegerDecision::estimate(std::uint32_t prior) {
  std::int64_t sum = 0;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kInputs; ++i) {
    std::uint32_t p = prior;
    if (i < kHints) {
      if (found_[i]->count > 0) p = found_[i]->p;
      estimates_[i] = p;
    }
    inputs_[i] = logistic_->stretch(p);
    sum += std::int64_t{inputs_[i]} * (rows_[0][i] + rows_[1][i]);
  }
  constexpr std::int64_t kMostLogit = IntegerLogistic::kMost;
  const auto logit = static_cast<std::int32_t>(std::clamp(sum >> 16, -kMostLogit, kMostLogit));
  mixed_ = logistic_->squash(logit);
  const std::int32_t place = logit + kPlaces / 2 * kApart, share = place % kApart;
  std::uint16_t* const low = refined_row_ + place / kApart;
  nearest_ = low + (share >= kApart / 2 ? 1 : 0);
  const auto refined = static_cast<std::uint32_t>((low[0] * (kApart - share) + low[1] * share) / kApart);
  return std::clamp((mixed_ + refined) / 2, kLeast, kMost);
}

void IntegerDecision::learn(bool yes) {
  const std::int32_t target = yes ? 65535 : 0;
  *nearest_ = static_cast<std::uint16_t>(*nearest_ + (target - *nearest_) / 64);
  const std::int32_t error = (target - static_cast<std::int32_t>(mixed_)) >> 2;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kInputs; ++i) {
    const std::int32_t change = (inputs_[i] * error) >> 14;
    rows_[0][i] += change;
    rows_[1][i] += change;
  }
#pragma GCC unroll 3
  for (std::size_t i = 0; i < kHints; ++i) {
    const std::uint32_t n = std::max<std::uint32_t>(found_[i]->count, 1), p = estimates_[i], step = kSteps[n];
    const std::uint32_t moved =
        yes ? std::min(p + ((65535 - p) * step >> 16), kMost) : std::max(p - (p * step >> 16), kLeast);
    *found_[i] = {static_cast<std::uint16_t>(moved), static_cast<std::uint16_t>(std::min(n + 1, kMaximumCount))};
  }
}

}  // namespace unfold
