#pragma once
/// An adaptive estimator for a recurring yes-or-no decision (Does the next symbol escape from this context? Is it the
/// favorite?). Each of several hints is a context in which the outcomes are counted (secondary estimation, Bloom 1998);
/// the estimates of the hints are mixed in the logistic domain by gated weights that are learned online (Mahoney 2005).
///
///   AdaptiveDecision escapes;
///   AdaptiveDecision::Case c{.hints = {...}, .gates = {...}};
///   double p = escapes.estimate(c, prior);
///   escapes.learn(c, escaped);  // cases may be learned in any order
///
/// Uses only tables, + - * / and the logarithm of the numerics module, so results are bit-identical on all machines.

#include <array>
#include <cstdint>
#include <vector>

#include "model/context_mixing/context_mixing_parts.h"

namespace unfold {

class AdaptiveDecision {
 public:
  static constexpr std::size_t kHints = 6;  ///< with the prior and a bias, these fill the lanes of a mixer
  struct Case {
    std::array<std::uint64_t, kHints> hints{};  ///< hashes
    std::array<std::size_t, 3> gates{};         ///< contexts that select the weights, each below kGates
    std::size_t last_gate = 0;                  ///< context that selects the last weights, below kLastGates
    std::array<float, kMixLanes> inputs{};      ///< set by `estimate`
  };
  static constexpr std::size_t kGates = 1024, kLastGates = 64;

  AdaptiveDecision();
  /// Returns P(yes), above 0 and below 1. `prior` in (0, 1) is the estimate for a hint that has not been seen.
  double estimate(Case& c, double prior) const;
  /// Like `estimate`, but also initializes the cells of unseen hints with the prior, as `learn` requires.
  double estimate_and_initialize(Case& c, double prior);
  void learn(const Case& c, bool yes);  ///< REQUIRES estimate_and_initialize(c, ...)

 private:
  static constexpr std::size_t kCells = std::size_t{1} << 16;  // number of cells per hint
  static std::size_t place(const Case& c, std::size_t hint) {
    return hint * kCells + hash(c.hints[hint], hint) % kCells;
  }
  float mix(const Case& c) const;

  std::vector<AdaptiveProbability> cells_;
  mutable MixerLayers mixers_;  // the selected rows and their estimates; no prediction depends on them
};

}  // namespace unfold
