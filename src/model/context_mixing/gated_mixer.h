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
  /// A logit between two of the values of a row.
  struct Place {
    std::size_t low;
    float share;
  };
  static Place place(float logit);
  float refine(float logit) { return refine(place(logit)); }  ///< returns a probability
  float refine(Place place);
  void learn(int bit);

 private:
  static constexpr std::size_t kPlaces = 33;
  ZeroPages<std::uint32_t> map_;  // 22 bits above a 10-bit count, as AdaptiveProbability; 0: not initialized
  std::array<std::uint32_t, kPlaces> first_{};
  std::size_t row_ = 0, nearest_ = 0;
};

/// Like AdaptiveProbability::learn, with the target in units of the probability.
UNFOLD_ALWAYS_INLINE std::uint32_t taught_probability(std::uint32_t value, std::int64_t target22) {
  const std::uint32_t count = value & 1023;
  const std::int64_t p = value >> 10;
  const auto next = static_cast<std::uint32_t>(p + (((target22 - p) * std::int64_t{kRates[count]}) >> 16));
  return next << 10 | std::min(count + 1, 1023U);
}

UNFOLD_ALWAYS_INLINE void CountedRefinement::select(std::size_t context) {
  row_ = context * kPlaces;
  for (std::size_t i = 0; i < kPlaces; i += kPlaces / 2) __builtin_prefetch(&map_[row_ + i], 1);
}

UNFOLD_ALWAYS_INLINE CountedRefinement::Place CountedRefinement::place(float logit) {
  const float at = (std::clamp(logit, -7.999F, 7.999F) + 8) * 2;
  const auto low = static_cast<std::int32_t>(at);
  return {static_cast<std::size_t>(low), at - static_cast<float>(low)};
}

UNFOLD_ALWAYS_INLINE float CountedRefinement::refine(Place place) {
  if (map_[row_] == 0) std::copy(first_.begin(), first_.end(), &map_[row_]);
  const auto [i, share] = place;
  nearest_ = row_ + i + (share >= 0.5F ? 1 : 0);
  const auto low = static_cast<float>(static_cast<std::int32_t>(map_[row_ + i] >> 10));
  const auto high = static_cast<float>(static_cast<std::int32_t>(map_[row_ + i + 1] >> 10));
  return (low * (1 - share) + high * share) * (1.0F / (1 << 22));
}

UNFOLD_ALWAYS_INLINE void CountedRefinement::learn(int bit) {
  constexpr std::uint32_t kMostCount = 255;
  const std::uint32_t next = taught_probability(map_[nearest_], bit != 0 ? (1 << 22) - 1 : 0);
  map_[nearest_] = (next & 1023) > kMostCount ? (next & ~1023U) | kMostCount : next;
}

}  // namespace unfold
