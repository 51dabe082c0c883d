#include "model/context_mixing/context_mixing_parts.h"

#include <algorithm>

namespace unfold {
namespace {

const Logistic& kLogistic = Logistic::tables();

}  // namespace

AdaptiveProbability AdaptiveProbability::of(double p, std::uint32_t count) {
  return {static_cast<std::uint32_t>(p * ((1 << 22) - 1)) << 10 | count};
}

// Matches

MatchModel::MatchModel(int size, int least)
    : least_(static_cast<std::uint64_t>(least)),
      mask_((std::uint64_t{1} << size) - 1),
      history_(mask_ + 1),
      last_(mask_ + 1),
      map_(std::size_t{16} * 2) {
  for (std::size_t i = 0; i < 16; ++i) {
    const double sure = 1 - 1 / static_cast<double>(i + 2);
    map_[2 * i] = AdaptiveProbability::of(1 - sure, 0);
    map_[2 * i + 1] = AdaptiveProbability::of(sure, 0);
  }
}

void MatchModel::start() {
  for (std::size_t i = 0; i < overwritten_.size(); ++i) history_[(remembered_ + i) & mask_] = overwritten_[i];
  overwritten_.clear();
  begin_ = end_ = remembered_;
  length_ = 0;
  class_ = 0;
}

std::uint64_t MatchModel::place() const { return (line_ | (history_[(end_ - 1) & mask_] * 0x9E3779B1U >> 28)) & mask_; }

void MatchModel::foresee() {
  std::uint64_t key = 0;
  for (std::uint64_t i = 1; i < least_; ++i) key = key << 8 | history_[(end_ - i) & mask_];
  line_ = (hash(key, 0) << 4) & mask_;
  for (std::uint64_t line = 0; line < 16; line += 8) __builtin_prefetch(&last_[(line_ | line) & mask_], 1);
}

void MatchModel::look_up(bool remember) {
  constexpr std::uint64_t kLongestMatch = 65535;
  if (end_ - begin_ < least_) return;
  std::uint64_t& last = last_[place()];
  if (length_ == 0 && last != 0 && end_ - last + kLongestMatch < mask_) {
    pointer_ = last;
    const std::uint64_t read = end_ - begin_;  // symbols before the current sequence are not part of a match
    while (length_ < kLongestMatch && length_ < pointer_ && length_ < read &&
           history_[(pointer_ - 1 - length_) & mask_] == history_[(end_ - 1 - length_) & mask_])
      ++length_;
    if (length_ < least_) length_ = 0;
  }
  if (remember) last = end_;
}

void MatchModel::advance(Symbol symbol, bool remember) {
  if (length_ > 0 && history_[pointer_ & mask_] == static_cast<std::uint8_t>(symbol)) {
    ++length_;
    ++pointer_;
    if (end_ - pointer_ >= mask_) length_ = 0;
  } else {
    length_ = 0;
  }
  std::uint8_t& here = history_[end_ & mask_];
  if (!remember && overwritten_.size() <= mask_) overwritten_.push_back(here);
  here = static_cast<std::uint8_t>(symbol);
  ++end_;
  if (remember) {
    remembered_ = end_;
    overwritten_.clear();
  }
  look_up(remember);
  foresee();
  expected_ = history_[pointer_ & mask_];
  class_ = length_ == 0     ? 0
           : length_ < 16   ? 1 + length_ / 2
           : length_ < 32   ? 9 + (length_ - 16) / 8
           : length_ < 64   ? 11
           : length_ < 128  ? 12
           : length_ < 512  ? 13
           : length_ < 4096 ? 14
                            : 15;
}

// Mixers

namespace {
constexpr float kFirstRate = 0.02F, kLastRate = 0.002F, kRateFall = 1e-4F;
}

MixerLayers::MixerLayers(const std::vector<float>& start, const std::vector<std::size_t>& sets,
                         std::size_t last_contexts)
    : inputs_(static_cast<Index>(start.size())),
      chosen_(sets.size()),
      last_weights_(last_contexts * static_cast<std::size_t>(kMixLanes)),
      rate_(kFirstRate) {
  for (const std::size_t contexts : sets) {
    std::vector<float>& w = weights_.emplace_back();
    w.reserve(contexts * start.size());
    for (std::size_t c = 0; c < contexts; ++c) w.insert(w.end(), start.begin(), start.end());
  }
  for (std::size_t i = 0; i < last_weights_.size(); ++i)
    last_weights_[i] = i % static_cast<std::size_t>(kMixLanes) < sets.size() ? 1 / static_cast<float>(sets.size()) : 0;
}

float MixerLayers::mix(const float* x, std::size_t last_context) {
  for (std::size_t s = 0; s < weights_.size(); ++s) {
    outputs_[s] = std::clamp(mix_dot(x, weights(s), inputs_), -kLargestLogit, kLargestLogit);
    probabilities_[s] = kLogistic.squash(outputs_[s]);
  }
  last_chosen_ = last_context * static_cast<std::size_t>(kMixLanes);
  mixed_ = std::clamp(mix_dot(outputs_.data(), last_weights_.data() + last_chosen_, kMixLanes), -kLargestLogit,
                      kLargestLogit);
  return mixed_;
}

void MixerLayers::learn(const float* x, int bit) {
  const auto target = static_cast<float>(bit);
  for (std::size_t s = 0; s < weights_.size(); ++s)
    mix_step(weights(s), x, rate_ * (target - probabilities_[s]), inputs_);
  mix_step(last_weights_.data() + last_chosen_, outputs_.data(), kLastRate * (target - kLogistic.squash(mixed_)),
           kMixLanes);
  rate_ += (kLastRate - rate_) * kRateFall;
}

// Refinement

RefinementMap::RefinementMap(std::size_t contexts) : map_(contexts * kPlaces) {
  for (std::size_t i = 0; i < kPlaces; ++i)
    map_[i] =
        static_cast<std::uint16_t>(std::min(65535.0F, kLogistic.squash((static_cast<float>(i) - 16) * 0.5F) * 65536));
  for (std::size_t i = kPlaces; i < map_.size(); ++i) map_[i] = map_[i - kPlaces];
}

float RefinementMap::refine(float logit) {
  const float place = (std::clamp(logit, -7.999F, 7.999F) + 8) * 2;
  const auto i = static_cast<std::size_t>(place);
  share_ = place - static_cast<float>(i);
  low_ = row_ + i;
  const float p = static_cast<float>(map_[low_]) * (1 - share_) + static_cast<float>(map_[low_ + 1]) * share_;
  return kLogistic.stretch(static_cast<std::uint32_t>(p) >> 4);
}

void RefinementMap::learn(int bit) {
  std::uint16_t& nearest = map_[low_ + (share_ >= 0.5F ? 1 : 0)];
  const std::int32_t target = bit != 0 ? 65535 : 0;
  nearest = static_cast<std::uint16_t>(nearest + (target - nearest) / 64);
}

}  // namespace unfold
