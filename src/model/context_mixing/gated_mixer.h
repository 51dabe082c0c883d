#pragma once
/// Gated mixers of predictions, and the refinement of a mixed prediction; components of ContextMixing and
/// NucleotideMixing.

#include <array>
#include <cstdint>
#include <vector>

#include "model/context_mixing/context_mixing_parts.h"
#include "model/context_mixing/zero_pages.h"
#include "numerics/gated_sums.h"

namespace unfold {

/// Options of the weight updates of a GatedMixer.
struct GatedLearning {
  float min_error = 0;          ///< a row with a smaller error is not updated, which saves time
  bool boost_new_rows = false;  ///< rows that were rarely selected have a higher learning rate
};

/// Gated mixing in the logistic domain: in each of several sets, a context selects one row of weights. Several final
/// mixers, each with a row that is selected by a context, combine the results of the sets; the result is the mean of
/// their outputs. Weights follow the gradient of the coding cost.
class GatedMixer {
 public:
  static constexpr std::size_t kMostSets = kMixLanes, kMostLast = 2;
  /// `sets`, `lasts`: number of contexts of each set and of each final mixer; `start`: initial weights, a multiple of
  /// kMixingLanes.
  GatedMixer(const std::vector<float>& start, const std::vector<std::size_t>& sets,
             const std::vector<std::size_t>& lasts, GatedLearning learning = {});
  void select(std::size_t set, std::size_t context) { chosen_[set] = first_[set] + context; }
  /// Prefetches the row that will be selected.
  void prefetch(std::size_t set, std::size_t context) const {
    const float* const row = &weights_[(first_[set] + context) * static_cast<std::size_t>(inputs_)];
    for (Index i = 0; i < inputs_; i += kMixingLanes) __builtin_prefetch(row + i, 1);
  }
  void select_last(std::size_t last, std::size_t context) { last_chosen_[last] = context; }
  float mix(const float* x);  ///< returns a logit
  void learn(const float* x, int bit);

 private:
  FourFloats rate_boost(std::size_t set);
  Index inputs_;
  std::size_t sets_;
  std::array<std::size_t, kMostSets> first_{}, chosen_{};      // for each set: the first row and the selected row
  alignas(16) std::array<std::int32_t, kMostSets> present_{};  // all bits set for each set that exists
  std::vector<float> weights_;                                 // row by row
  std::vector<float> hurry_;                                   // learning rate increase of each row; may be empty
  std::vector<std::vector<float>> last_weights_;
  std::array<float*, kMostSets> rows_{};
  std::array<std::size_t, kMostLast> last_chosen_{};
  std::array<float*, kMostLast> last_rows_{};
  alignas(64) std::array<float, kMostSets> outputs_{}, probabilities_{}, steps_{};
  std::array<float, 4> mixed_{};  // outputs of the final mixers
  float least_error_, rate_,
      // Counts up to 2^24, the limit of exact counting in float; by then the learning rate has reached its minimum.
      steps_taken_ = 0;
};

/// A RefinementMap whose values have a higher learning rate the fewer observations they have.
class CountedRefinement {
 public:
  explicit CountedRefinement(std::size_t contexts);
  void select(std::size_t context);
  float refine(float logit);  ///< returns a probability
  void learn(int bit);

 private:
  static constexpr std::size_t kPlaces = 33;
  ZeroPages<std::uint32_t> map_;  // 22 bits above a 10-bit count, as AdaptiveProbability; 0: not initialized
  std::array<std::uint32_t, kPlaces> first_{};
  std::size_t row_ = 0, nearest_ = 0;
};

}  // namespace unfold
