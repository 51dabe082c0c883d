#pragma once
/// An adaptive estimator for a recurring yes-or-no decision (Does the next symbol escape from this context? Is it the
/// favorite?). Each of several hints is a context in which the outcomes are counted (secondary estimation, Bloom 1998);
/// the estimates of the hints are mixed in the logistic domain by gated weights that are learned online (Mahoney 2005).
///
///   LearntDecision escapes;
///   LearntDecision::Case c{.hints = {...}, .gates = {...}};
///   double p = escapes.estimate(c, prior);
///   escapes.learn(c, escaped);  // cases may be learned in any order
///
/// Uses only tables, + - * / and the logarithm of the numerics module, so results are bit-identical on all machines.

#include <array>
#include <cstdint>
#include <vector>

#include "unfold/mixing/context_parts.h"

namespace unfold {

class LearntDecision {
 public:
  static constexpr std::size_t kHints = 6;  ///< with the prior and a bias, these fill the lanes of a mixer
  struct Case {
    std::array<std::uint64_t, kHints> hints{};  ///< hashed
    std::array<std::size_t, 3> gates{};         ///< select the weights, each below kGates
    std::size_t last_gate = 0;                  ///< below kLastGates
    std::array<float, kMixLanes> inputs{};      ///< set by `estimate`
  };
  static constexpr std::size_t kGates = 1024, kLastGates = 64;

  LearntDecision();
  /// Returns P(yes), above 0 and below 1. `prior` in (0, 1): the estimate of a hint without observations.
  double estimate(Case& c, double prior);
  void learn(const Case& c, bool yes);  ///< REQUIRES that `estimate` was called for `c`

 private:
  static constexpr std::size_t kCells = std::size_t{1} << 16;  // cells per hint
  AdaptiveProbability& cell(const Case& c, std::size_t hint) {
    return cells_[hint * kCells + hash(c.hints[hint], hint) % kCells];
  }
  float mix(const Case& c);

  std::vector<AdaptiveProbability> cells_;
  MixerLayers mixers_;
};

}  // namespace unfold
