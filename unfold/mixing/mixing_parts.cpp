#include "unfold/mixing/mixing_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

const Logistic& kLogit = Logistic::tables();

/// A cell for an estimate in units of 2^-12.
const std::array<std::uint16_t, 4096> kEstimateCell = [] {
  std::array<std::uint16_t, 4096> table{};
  for (std::uint32_t p = 0; p < 4096; ++p) table[p] = static_cast<std::uint16_t>(kUseClasses * estimate_level(p));
  return table;
}();

/// AdaptiveProbability::learn with the target in its units.
inline std::uint32_t taught(std::uint32_t value, std::int64_t target22) {
  const std::uint32_t count = value & 1023;
  const std::int64_t p = value >> 10;
  const auto next = static_cast<std::uint32_t>(p + (((target22 - p) * std::int64_t{kRates[count]}) >> 16));
  return next << 10 | std::min(count + 1, 1023U);
}

}  // namespace

void require_mixing(Index alphabet, Index memory, Index row) {
  constexpr Index kLeastMemory = Index{1} << 20, kMostMemory = Index{16} << 30, kLongestRow = 65535;
  if (alphabet > 256)
    throw UsageError(fmt::format("cm: {} symbols; context mixing takes at most 256, so use --symbols bytes", alphabet));
  if (memory < kLeastMemory || memory > kMostMemory)
    throw UsageError(fmt::format("cm: memory of {} bytes is not in 1 MiB .. 16 GiB", memory));
  if (row < 0 || row > kLongestRow) throw UsageError(fmt::format("cm: row {} is not in 0 .. {}", row, kLongestRow));
}

CounterMeaning::CounterMeaning(int limit) : limit_(static_cast<std::uint32_t>(limit)) {
  constexpr std::uint32_t kTrustInMeaning = 6;  // before anything is learnt a counter means what it says
  for (std::uint32_t p = 0; p < 4096; ++p)
    for (std::size_t c = 1; c < kUseClasses; ++c)
      by_estimate_[kEstimateCell[p] + c] =
          AdaptiveProbability::of((static_cast<double>(p) + 0.5) / 4096, kTrustInMeaning);
  for (std::uint32_t past = 2; past < 256; ++past) {
    double ones = 0.4, seen = 0.8;
    for (std::uint32_t p = past; p > 1; p >>= 1) {
      ones += p & 1;
      seen += 1;
    }
    by_past_[past] = AdaptiveProbability::of(ones / seen, kTrustInMeaning);
  }
}

bool CounterMeaning::ask(const CounterRow& row, std::size_t node, float* x) {
  const std::uint32_t count = row.count[node];
  if (count == 0) {
    x[0] = x[1] = x[2] = 0;
    return false;
  }
  cell_ = std::uint32_t{kEstimateCell[row.estimate[node] >> 4]} + kUseClass[count];
  const std::uint32_t p = by_estimate_[cell_].p12();
  x[0] = kLogit.stretch(p);
  x[1] = (static_cast<float>(p) - 2048) * (1.0F / 1024);
  x[2] = kLogit.stretch(by_past_[row.past[node]].p12());
  return true;
}

void CounterMeaning::learn(CounterRow& row, std::size_t node, int bit) {
  const std::uint32_t count = row.count[node], past = row.past[node];
  const std::int32_t p = row.estimate[node], target = bit != 0 ? 65535 : 0;
  if (count != 0) {
    const std::int64_t target22 = bit != 0 ? (1 << 22) - 1 : 0;
    std::uint32_t &by_estimate = by_estimate_[cell_].value, &by_past = by_past_[past].value;
    by_estimate = taught(by_estimate, target22);
    by_past = taught(by_past, target22);
  }
  const auto change = static_cast<std::int32_t>((target - p) * std::int64_t{kRates[count]} >> 16);
  row.estimate[node] = static_cast<std::uint16_t>(p + change);
  row.past[node] = static_cast<std::uint8_t>(((past & 0x7F) * 2 + static_cast<std::uint32_t>(bit)) | (past & 0x80));
  row.count[node] = static_cast<std::uint8_t>(count + (count < limit_ ? 1 : 0));
}

namespace {
constexpr float kFirstStep = 0.02F, kLastStep = 0.0015F, kStepFall = 2e-5F, kOuterStep = 0.002F;
}  // namespace

GatedMixer::GatedMixer(const std::vector<float>& start, const std::vector<std::size_t>& sets, std::size_t last_contexts,
                       float least_error)
    : inputs_(static_cast<Index>(start.size())),
      sets_(sets.size()),
      last_weights_(last_contexts * kMostSets),
      least_error_(least_error),
      rate_(kFirstStep) {
  for (const std::size_t contexts : sets) {
    std::vector<float>& w = weights_.emplace_back();
    w.reserve(contexts * start.size());
    for (std::size_t c = 0; c < contexts; ++c) w.insert(w.end(), start.begin(), start.end());
  }
  for (std::size_t i = 0; i < last_weights_.size(); ++i)
    last_weights_[i] = i % kMostSets < sets.size() ? 1 / static_cast<float>(sets.size()) : 0;
}

float GatedMixer::mix(const float* x, std::size_t last_context) {
  for (std::size_t s = 0; s < sets_; ++s)
    rows_[s] = weights_[s].data() + chosen_[s] * static_cast<std::size_t>(inputs_);
  gated_sums(x, inputs_, rows_.data(), static_cast<Index>(sets_), outputs_.data());
  for (std::size_t s = 0; s < sets_; ++s) {
    outputs_[s] = std::clamp(outputs_[s], -kLargestLogit, kLargestLogit);
    probabilities_[s] = kLogit.squash(outputs_[s]);
  }
  last_row_ = last_weights_.data() + last_context * kMostSets;
  const float* const last = last_row_;
  gated_sums(outputs_.data(), kMixingLanes, &last, 1, &mixed_);
  return mixed_ = std::clamp(mixed_, -kLargestLogit, kLargestLogit);
}

void GatedMixer::learn(const float* x, int bit) {
  const auto target = static_cast<float>(bit);
  for (std::size_t s = 0; s < sets_; ++s) {
    const float error = target - probabilities_[s];
    steps_[s] = std::abs(error) < least_error_ ? 0 : rate_ * error;
  }
  gated_steps(x, inputs_, rows_.data(), steps_.data(), static_cast<Index>(sets_));
  const float step = kOuterStep * (target - kLogit.squash(mixed_));
  gated_steps(outputs_.data(), kMixingLanes, &last_row_, &step, 1);
  steps_taken_ += 1;
  rate_ = kLastStep + (kFirstStep - kLastStep) / (1 + kStepFall * steps_taken_);
}

}  // namespace unfold
