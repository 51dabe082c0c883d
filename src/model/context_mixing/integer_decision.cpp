#include "model/context_mixing/integer_decision.h"

#include <algorithm>

#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr std::uint32_t kMaximumCount = 200;
constexpr std::uint32_t kTrusted = 1;  // number of observations that a prior counts for

/// 2^16 / (n + 1.6)
const std::array<std::uint32_t, kMaximumCount + 1> kCellSteps = [] {
  std::array<std::uint32_t, kMaximumCount + 1> steps{};
  for (std::uint32_t n = 0; n <= kMaximumCount; ++n) steps[n] = (65536 * 10) / (n * 10 + 16);
  return steps;
}();

std::int16_t rounded(double x) { return static_cast<std::int16_t>(x < 0 ? x - 0.5 : x + 0.5); }

}  // namespace

IntegerLogistic::IntegerLogistic() {
  const auto logit = [](double p) {
    std::array<double, 2> x = {p, 1 - p};
    vector_log(x.data(), x.data(), 2);
    return std::clamp(256 * (x[0] - x[1]), -static_cast<double>(kMost), static_cast<double>(kMost));
  };
  for (std::size_t p = 0; p < stretch_.size(); ++p) stretch_[p] = rounded(logit((static_cast<double>(p) + 0.5) / 4096));
  for (std::size_t i = 0; i < squash_.size(); ++i) {
    double x = (static_cast<double>(i) - kMost) / 256;
    vector_sigmoid(&x, &x, 1);
    squash_[i] = static_cast<std::uint16_t>(std::clamp(65536 * x + 0.5, 1.0, 65535.0));
  }
}

const IntegerLogistic& IntegerLogistic::tables() {
  static const IntegerLogistic tables;
  return tables;
}

IntegerDecision::IntegerDecision() : cells_(kHints << kCellBits), weights_(3 * kGates * kInputs) {
  refined_.resize(kRefined * kPlaces);
  for (std::size_t i = 0; i < refined_.size(); ++i)
    refined_[i] = static_cast<std::uint16_t>(
        IntegerLogistic::tables().squash((static_cast<std::int32_t>(i % kPlaces) - kPlaces / 2) * kApart));
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const std::size_t input = i % kInputs;
    weights_[i] = input < kHints ? 65536 / (3 * kHints) : input == kHints ? 4400 : 0;
  }
}

std::uint32_t IntegerDecision::estimate(const Case& c, std::uint32_t prior) {
  const IntegerLogistic& logistic = IntegerLogistic::tables();
  std::array<std::uint32_t, kHints> places;
  for (std::size_t i = 0; i < kHints; ++i) {
    std::uint32_t h = (c.hints[i] + static_cast<std::uint32_t>(i)) * 0x9E3779B1U;
    h = (h ^ h >> 15) * 0x85EBCA77U;
    places[i] = (static_cast<std::uint32_t>(i) << kCellBits) + (h >> (32 - kCellBits));
  }
  const std::uint16_t* const refined_row = &refined_[c.refine * kPlaces];
  __builtin_prefetch(refined_row);  // the position within the row is known only after mixing
  __builtin_prefetch(refined_row + kPlaces - 1);
  for (std::size_t i = 0; i < kHints; ++i) found_[i] = &cells_[places[i]];
  for (std::size_t i = 0; i < kHints; ++i) {
    const std::uint32_t unseen = found_[i]->count == 0 ? ~0U : 0;  // branch-free, because the outcome is unpredictable
    inputs_[i] = logistic.stretch((prior & unseen) | (found_[i]->p & ~unseen));
  }
  prior_ = prior;
  inputs_[kHints] = logistic.stretch(prior);
  inputs_[kHints + 1] = 96;  // bias
  rows_ = {&weights_[c.gates[0] * kInputs], &weights_[(kGates + c.gates[1]) * kInputs],
           &weights_[(2 * kGates + c.gates[2]) * kInputs]};
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kInputs; ++i) sum += std::int64_t{inputs_[i]} * (rows_[0][i] + rows_[1][i] + rows_[2][i]);
  const auto logit =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(sum >> 16, -IntegerLogistic::kMost, IntegerLogistic::kMost));
  mixed_ = logistic.squash(logit);
  const std::int32_t place = logit + kPlaces / 2 * kApart, share = place % kApart;
  std::uint16_t* const low = &refined_[c.refine * kPlaces + static_cast<std::uint32_t>(place / kApart)];
  nearest_ = low + (share >= kApart / 2 ? 1 : 0);
  const auto refined = static_cast<std::uint32_t>((low[0] * (kApart - share) + low[1] * share) / kApart);
  return p_ = std::clamp((mixed_ + refined) / 2, 1U, 65535U);
}

void IntegerDecision::learn(bool yes) {
  const std::int32_t target = yes ? 65535 : 0;
  const std::int32_t error = target - static_cast<std::int32_t>(mixed_);
  *nearest_ = static_cast<std::uint16_t>(*nearest_ + (target - *nearest_) / 64);
  for (std::size_t i = 0; i < kInputs; ++i) {
    const std::int32_t change = (inputs_[i] * (error >> 2)) >> 15;
    rows_[0][i] += change;
    rows_[1][i] += change;
    rows_[2][i] += change;
  }
  for (Cell* cell : found_) {
    if (cell->count == 0) *cell = {static_cast<std::uint16_t>(prior_), kTrusted};
    const std::int32_t p = cell->p;
    const std::int32_t next = p + (target - p) * static_cast<std::int32_t>(kCellSteps[cell->count] >> 2) / 16384;
    cell->p = static_cast<std::uint16_t>(std::clamp(next, 16, 65520));
    if (cell->count < kMaximumCount) ++cell->count;
  }
}

}  // namespace unfold
