#include "model/context_mixing/gated_mixer.h"

#include <algorithm>
#include <cmath>

#include "model/context_mixing/simd.h"

namespace unfold {
namespace {

const Logistic& kLogit = Logistic::tables();

FourFloats cut_off(FourFloats logits) {
  const FourFloats most = FourFloats{} + kLargestLogit;
  const FourFloats above = choose(logits < -most, -most, logits);
  return choose(most < above, most, above);
}

constexpr float kFirstStep = 0.02F, kLastStep = 0.0015F, kStepFall = 2e-5F, kOuterStep = 0.002F;
/// Initial increase of the learning rate of a row, its decay factor per selection, and its minimum.
constexpr float kHurry = 0.02F, kHurryLeft = 0.99F, kLeastHurry = 1e-6F;
}  // namespace

GatedMixer::GatedMixer(const std::vector<float>& start, const std::vector<std::size_t>& sets,
                       const std::vector<std::size_t>& lasts, GatedLearning learning)
    : inputs_(static_cast<Index>(start.size())),
      sets_(sets.size()),
      least_error_(learning.min_error),
      rate_(kFirstStep) {
  std::size_t rows = 0;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    first_.at(s) = chosen_.at(s) = rows;
    present_.at(s) = -1;
    rows += sets[s];
  }
  weights_.reserve(rows * start.size());
  for (std::size_t r = 0; r < rows; ++r) weights_.insert(weights_.end(), start.begin(), start.end());
  if (learning.boost_new_rows) hurry_.assign(rows, kHurry);
  for (const std::size_t contexts : lasts) {
    std::vector<float>& w = last_weights_.emplace_back(contexts * kMostSets);
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = i % kMostSets < sets.size() ? 1 / static_cast<float>(sets.size()) : 0;
  }
}

float GatedMixer::mix(const float* x) {
  for (std::size_t s = 0; s < sets_; ++s) rows_[s] = weights_.data() + chosen_[s] * static_cast<std::size_t>(inputs_);
  gated_sums(x, inputs_, rows_.data(), static_cast<Index>(sets_), outputs_.data());
  for (std::size_t s = 0; s < sets_; s += 4) {
    const FourFloats within = cut_off(load<FourFloats>(&outputs_[s]));
    store(within, &outputs_[s]);
    store(kLogit.squash_four(within), &probabilities_[s]);
  }
  const std::size_t lasts = last_weights_.size();
  for (std::size_t l = 0; l < lasts; ++l) last_rows_[l] = last_weights_[l].data() + last_chosen_[l] * kMostSets;
  float sum = 0;
  for (std::size_t l = 0; l < lasts; ++l) {
    const float mixed = mix_dot(outputs_.data(), last_rows_[l], kMostSets);
    sum += mixed_[l] = std::clamp(mixed, -kLargestLogit, kLargestLogit);
  }
  return sum / static_cast<float>(lasts);
}

/// Returns the increases of the learning rates of four sets, and decays them.
FourFloats GatedMixer::rate_boost(std::size_t set) {
  const std::size_t* const row = &chosen_[set];
  const FourFloats hurry = {hurry_[row[0]], hurry_[row[1]], hurry_[row[2]], hurry_[row[3]]};
  const FourFloats least = FourFloats{} + kLeastHurry, left = hurry * kHurryLeft;
  const FourFloats next = choose(left < least, least, left);
  for (std::size_t k = 0; k < std::min<std::size_t>(4, sets_ - set); ++k) hurry_[row[k]] = next[static_cast<int>(k)];
  return hurry;
}

void GatedMixer::learn(const float* x, int bit) {
  const auto target = static_cast<float>(bit);
  FourIntegers learns{};
  for (std::size_t s = 0; s < sets_; s += 4) {
    FourFloats rate = FourFloats{} + rate_;
    if (!hurry_.empty()) rate += rate_boost(s);
    const FourFloats error = target - load<FourFloats>(&probabilities_[s]);
    const FourIntegers large = (error >= least_error_) | (error <= -least_error_);
    const auto step = reinterpret_cast<FourIntegers>(rate * error) & large;
    store(step, &steps_[s]);
    learns |= large & load<FourIntegers>(&present_[s]);
  }
  if (any_bit(learns)) gated_steps(x, inputs_, rows_.data(), steps_.data(), static_cast<Index>(sets_));
  const FourFloats last_steps = kOuterStep * (target - kLogit.squash_four(load<FourFloats>(mixed_.data())));
  for (std::size_t l = 0; l < last_weights_.size(); ++l) {
    const FourFloats step = FourFloats{} + last_steps[l];
    for (std::size_t s = 0; s < kMostSets; s += 4) {
      float* const w = last_rows_[l] + s;
      store(load<FourFloats>(w) + step * load<FourFloats>(&outputs_[s]), w);
    }
  }
  steps_taken_ += 1;
  rate_ = kLastStep + (kFirstStep - kLastStep) / (1 + kStepFall * steps_taken_);
}

CountedRefinement::CountedRefinement(std::size_t contexts) : map_(contexts * kPlaces) {
  constexpr std::uint32_t kPlaceTrust = 6;
  for (std::size_t i = 0; i < kPlaces; ++i)
    first_.at(i) =
        AdaptiveProbability::of(static_cast<double>(kLogit.squash((static_cast<float>(i) - 16) * 0.5F)), kPlaceTrust)
            .value;
}

}  // namespace unfold
