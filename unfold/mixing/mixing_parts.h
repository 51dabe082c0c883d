#pragma once
/// The parts of ByteMixing (byte_mixing.h) and NucleotideMixing: what counters say, and gated mixers.

#include <array>
#include <cstdint>
#include <vector>

#include "unfold/mixing/context_parts.h"
#include "unfold/mixing/row_table.h"
#include "unfold/mixing/zero_pages.h"
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

/// How the weights of a GatedMixer learn.
struct GatedLearning {
  float least_error = 0;    ///< a row whose error is smaller learns nothing, in no time
  bool hurry_rows = false;  ///< rows that were seldom chosen take longer steps
};

/// Gated mixing in the logistic domain: of several sets of weights one row each is chosen by a context; last mixers
/// weigh their results, each by a row that a context chooses, too, and the mean of what they say is the result. Weights
/// follow the gradient of the coding cost.
class GatedMixer {
 public:
  static constexpr std::size_t kMostSets = kMixLanes, kMostLast = 2;
  /// `sets`, `lasts`: the number of contexts of each set and of each last mixer; `start`: the first weights, a multiple
  /// of kMixingLanes.
  GatedMixer(const std::vector<float>& start, const std::vector<std::size_t>& sets,
             const std::vector<std::size_t>& lasts, GatedLearning learning = {});
  void select(std::size_t set, std::size_t context) { chosen_[set] = first_[set] + context; }
  /// Asks for the memory of what will be selected.
  void prefetch(std::size_t set, std::size_t context) const {
    const float* const row = &weights_[(first_[set] + context) * static_cast<std::size_t>(inputs_)];
    for (Index i = 0; i < inputs_; i += kMixingLanes) __builtin_prefetch(row + i, 1);
  }
  void select_last(std::size_t last, std::size_t context) { last_chosen_[last] = context; }
  float mix(const float* x);  ///< a logit
  void learn(const float* x, int bit);

 private:
  FourFloats hurry_of(std::size_t set);
  Index inputs_;
  std::size_t sets_;
  std::array<std::size_t, kMostSets> first_{}, chosen_{};      // rows of each set: the first, the one that is chosen
  alignas(16) std::array<std::int32_t, kMostSets> present_{};  // all bits of each set that there is
  std::vector<float> weights_;                                 // row by row
  std::vector<float> hurry_;                                   // of each row; none: rows do not hurry
  std::vector<std::vector<float>> last_weights_;
  std::array<float*, kMostSets> rows_{};
  std::array<std::size_t, kMostLast> last_chosen_{};
  std::array<float*, kMostLast> last_rows_{};
  alignas(64) std::array<float, kMostSets> outputs_{}, probabilities_{}, steps_{};
  std::array<float, 4> mixed_{};  // of the last mixers
  float least_error_, rate_,
      steps_taken_ = 0;  // as long as a float counts, 2^24: the rate has fallen by then
};

/// RefinementMap with values that learn the faster the less they have seen.
class CountedRefinement {
 public:
  explicit CountedRefinement(std::size_t contexts);
  void select(std::size_t context);
  float refine(float logit);  ///< a probability
  void learn(int bit);

 private:
  static constexpr std::size_t kPlaces = 33;
  ZeroPages<std::uint32_t> map_;  // 22 bits above a count of 10, as AdaptiveProbability; 0: not yet begun
  std::array<std::uint32_t, kPlaces> first_{};
  std::size_t row_ = 0, nearest_ = 0;
};

}  // namespace unfold
