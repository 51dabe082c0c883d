#pragma once
/// A yes-or-no question that comes again and again (does the next symbol escape from this context? is it the
/// favourite?), answered from hints: each hint is a context in which the answers are counted (secondary estimation,
/// Bloom 1998), and what the hints say is mixed in the logistic domain by gated weights that are learnt online (Mahoney
/// 2005).
///
///   LearntDecision escapes;
///   LearntDecision::Case c{.hints = {...}, .gates = {...}};
///   double p = escapes.estimate(c, prior);
///   escapes.learn(c, escaped);  // of the cases in whatever order
///
/// Only tables and + - * / (and numerics' logarithm): the same bits everywhere.

#include <array>
#include <cstdint>
#include <vector>

#include "unfold/mixing/context_parts.h"

namespace unfold {

class LearntDecision {
 public:
  static constexpr std::size_t kHints = 6;  ///< with the prior and a bias: the lanes of a mixer
  struct Case {
    std::array<std::uint64_t, kHints> hints{};  ///< hashed
    std::array<std::size_t, 3> gates{};         ///< which weights, each below kGates
    std::size_t last_gate = 0;                  ///< below kLastGates
    std::array<float, kMixLanes> inputs{};      ///< set by `estimate`
  };
  static constexpr std::size_t kGates = 1024, kLastGates = 64;

  LearntDecision();
  /// P(yes), above 0 and below 1. `prior` in (0, 1): what a hint says that was never seen.
  double estimate(Case& c, double prior);
  void learn(const Case& c, bool yes);  ///< REQUIRES that `c` was estimated

 private:
  static constexpr std::size_t kCells = std::size_t{1} << 16;  // of each hint
  AdaptiveProbability& cell(const Case& c, std::size_t hint) {
    return cells_[hint * kCells + hash(c.hints[hint], hint) % kCells];
  }
  float mix(const Case& c);

  std::vector<AdaptiveProbability> cells_;
  MixerLayers mixers_;
};

}  // namespace unfold
