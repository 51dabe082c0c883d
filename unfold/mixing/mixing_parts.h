#pragma once
/// The parts of ByteMixing (byte_mixing.h) and NucleotideMixing: what counters say, and gated mixers.

#include <array>
#include <cstdint>
#include <vector>

#include "unfold/mixing/context_parts.h"
#include "unfold/mixing/row_table.h"
#include "unfold/numerics/gated_sums.h"

namespace unfold {

/// Throws UsageError: more than 256 symbols, bytes of memory not in 1 MiB .. 16 GiB, a row not in 0 .. 65535.
void require_mixing(Index alphabet, Index memory, Index row);

/// What the counters of one context are worth, learnt.
class CounterMeaning {
 public:
  static constexpr std::size_t kInputs = 3;
  explicit CounterMeaning(int limit);  ///< counts stop there: the higher, the slower the estimates in the long run
  /// Inputs of a mixer; all 0 for a counter that has seen nothing, and false.
  bool ask(const CounterRow& row, std::size_t node, float* x);
  /// The counter that was asked last, or one that has seen nothing.
  void learn(CounterRow& row, std::size_t node, int bit);

 private:
  std::uint32_t limit_;
  std::uint32_t cell_ = 0;
  // Beside each other: what one question asks shares few lines.
  std::array<AdaptiveProbability, kEstimateLevels * kUseClasses> by_estimate_;
  std::array<AdaptiveProbability, 256> by_past_;
};

/// Gated mixing in the logistic domain: of several sets of weights one row each is chosen by a context; a last mixer
/// weighs their results. Weights follow the gradient of the coding cost.
class GatedMixer {
 public:
  static constexpr std::size_t kMostSets = kMixingLanes;
  /// `sets`: the number of contexts of each set; `start`: the first weights, a multiple of kMixingLanes. A row
  /// whose error is below `least_error` learns nothing, in no time.
  GatedMixer(const std::vector<float>& start, const std::vector<std::size_t>& sets, std::size_t last_contexts,
             float least_error = 0);
  void select(std::size_t set, std::size_t context) { chosen_[set] = context; }
  float mix(const float* x, std::size_t last_context);  ///< a logit
  void learn(const float* x, int bit);

 private:
  Index inputs_;
  std::size_t sets_;
  std::array<std::size_t, kMostSets> chosen_{};
  std::vector<std::vector<float>> weights_;
  std::vector<float> last_weights_;
  std::array<float*, kMostSets> rows_{};
  alignas(64) std::array<float, kMostSets> outputs_{}, probabilities_{}, steps_{};
  float* last_row_ = nullptr;
  float mixed_ = 0, least_error_, rate_,
        steps_taken_ = 0;  // as long as a float counts, 2^24: the rate has fallen by then
};

}  // namespace unfold
