#pragma once
/// AdaptiveDecision (adaptive_decision.h) in integer arithmetic, for fast models: estimates a yes-or-no decision from
/// hints, which are contexts in which the outcomes are counted, mixed in the logistic domain by gated weights.
///
///   stretch(p) = ln(p / (1 - p)) in units of 1/256;  x_i = stretch of the estimate of hint i, the prior, a bias
///   P(yes) = squash(sum_i w_i x_i),  w = sum of one row of weights from each of three sets
///   w_i += rate (yes - P(yes)) x_i
///
/// Uses only integers, so results are bit-identical on all machines.

#include <array>
#include <cstdint>
#include <vector>

#include "unfold/base/views.h"

namespace unfold {

/// The logistic domain in integers: probabilities in units of 2^-16, logits in units of 1/256 up to kMost.
class IntegerLogistic {
 public:
  static constexpr std::int32_t kMost = 2815;  ///< 11 nats
  static const IntegerLogistic& tables();
  /// `p` in [0, 65536), used with a resolution of 1/4096.
  std::int32_t stretch(std::uint32_t p) const { return stretch_[p >> 4]; }
  std::uint32_t squash(std::int32_t x) const {
    const std::int32_t entry = (x < -kMost ? -kMost : x > kMost ? kMost : x) + kMost;
    return squash_[static_cast<std::size_t>(entry)];
  }

 private:
  IntegerLogistic();
  std::array<std::int16_t, 4096> stretch_;
  std::array<std::uint16_t, 2 * kMost + 1> squash_;
};

class IntegerDecision {
 public:
  static constexpr std::size_t kHints = 6, kInputs = kHints + 2;
  static constexpr std::size_t kGates = 1024;
  static constexpr std::size_t kRefined = 8192;
  /// Size of the cells, weights and refinement values that a query reads.
  static constexpr std::size_t kBytes = 4 * kHints + 3 * 4 * kInputs + 2 * 2;
  struct Case {
    std::array<std::uint32_t, kHints> hints{};  ///< arbitrary numbers, hashed internally
    std::uint32_t refine = 0;                   // context of the refinement, below kRefined
    std::array<std::uint32_t, 3> gates{};       ///< contexts that select the weights, each below kGates
  };

  struct Cell {
    std::uint16_t p, count;
  };
  /// One number of 16 bits for each input.
  struct alignas(16) Lanes {
    std::array<std::uint16_t, kInputs> of;
  };

  IntegerDecision();
  void select(const Case& c);  ///< prefetches the memory of a case, which `estimate` and `learn` then use
  /// Returns P(yes) in units of 2^-16, above 0 and below 1. `prior` in (0, 65536): the estimate of a hint without
  /// observations.
  std::uint32_t estimate(std::uint32_t prior);
  void learn(bool yes);  ///< learns the outcome

 private:
  static constexpr int kCellBits = 15;  // binary logarithm of the number of cells per hint
  // Grid of logits for the refinement: the number of points and their distance.
  static constexpr std::int32_t kPlaces = 24, kApart = 256;
  static constexpr std::size_t kRowPlaces = 32;

  const IntegerLogistic* logistic_;
  std::vector<Cell> cells_;
  Buffer<std::int32_t> weights_;       // [3 kGates x kInputs], in units of 2^-16; a row is in one cache line
  std::array<Cell*, kHints> found_{};  // cells of the current case
  Buffer<std::uint16_t> refined_;      // [kRefined x kRowPlaces], of which kPlaces are used; a row is one cache line
  std::uint16_t *refined_row_ = nullptr, *nearest_ = nullptr;
  Lanes estimates_{}, counts_{};  // contents of these cells; a cell without observations has the prior
  Lanes inputs_{};
  std::array<std::int32_t*, 3> rows_{};
  std::uint32_t mixed_ = 0;
};

}  // namespace unfold
