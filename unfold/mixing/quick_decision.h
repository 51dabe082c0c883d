#pragma once
/// LearntDecision (learnt_decision.h) in integers, for models that must be fast: a yes-or-no question answered from
/// hints, contexts in which the answers are counted, mixed in the logistic domain by gated weights.
///
///   stretch(p) = ln(p / (1 - p)) in units of 1/256;  x_i = stretch of what hint i says, the prior, a bias
///   P(yes) = squash(sum_i w_i x_i),  w = sum of one row of weights from each of three sets;  w_i += rate (yes -
///   P(yes)) x_i
///
/// Integers alone: the same bits everywhere.

#include <array>
#include <cstdint>
#include <vector>

namespace unfold {

/// The logistic domain in integers: probabilities in units of 2^-16, logits in units of 1/256 up to kMost.
class IntegerLogistic {
 public:
  static constexpr std::int32_t kMost = 2815;  ///< 11 nats
  static const IntegerLogistic& tables();
  /// Of p in [0, 65536), to 1/4096.
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

class QuickDecision {
 public:
  static constexpr std::size_t kHints = 6, kInputs = kHints + 2;
  static constexpr std::size_t kGates = 1024;
  static constexpr std::size_t kRefined = 8192;
  /// Of cells, weights and refinement: what a question is answered from.
  static constexpr std::size_t kBytes = 4 * kHints + 3 * 4 * kInputs + 2 * 2;
  struct Case {
    std::array<std::uint32_t, kHints> hints{};  ///< any numbers: hashed here
    std::uint32_t refine = 0;                   // below kRefined
    std::array<std::uint32_t, 3> gates{};       ///< which weights, each below kGates
  };

  QuickDecision();
  /// P(yes) in units of 2^-16, above 0 and below 1. `prior` in (0, 65536): what a hint says that was never seen.
  std::uint32_t estimate(const Case& c, std::uint32_t prior);
  void learn(bool yes);  ///< the case that was estimated last

 private:
  static constexpr int kCellBits = 15;                       // of the cells of each hint
  static constexpr std::int32_t kPlaces = 24, kApart = 256;  // of logits
  struct Cell {
    std::uint16_t p, count;
  };

  std::vector<Cell> cells_;
  std::vector<std::int32_t> weights_;   // [3 kGates x kInputs], in units of 2^-16
  std::array<Cell*, kHints> found_{};   // of the present case
  std::vector<std::uint16_t> refined_;  // [kRefined x kPlaces]
  std::uint16_t* nearest_ = nullptr;
  std::array<std::int32_t, kInputs> inputs_{};
  std::array<std::int32_t*, 3> rows_{};
  std::uint32_t p_ = 0, prior_ = 0, mixed_ = 0;
};

}  // namespace unfold
