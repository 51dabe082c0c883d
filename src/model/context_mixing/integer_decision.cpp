#include "model/context_mixing/integer_decision.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>

#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr std::uint32_t kMaximumCount = 200;
constexpr std::int32_t kBiasInput = 96;  // input of the last weight
constexpr std::uint32_t kTrusted = 1;    // number of observations that a prior counts for

/// 2^14 / (n + 1.6)
const std::array<std::uint32_t, kMaximumCount + 1> kCellSteps = [] {
  std::array<std::uint32_t, kMaximumCount + 1> steps{};
  for (std::uint32_t n = 0; n <= kMaximumCount; ++n) steps[n] = (65536 * 10) / (n * 10 + 16) / 4;
  return steps;
}();

std::int16_t rounded(double x) { return static_cast<std::int16_t>(x < 0 ? x - 0.5 : x + 0.5); }

using WeightRows = std::array<std::int32_t*, 3>;
using DecisionInputs = std::array<std::int32_t, IntegerDecision::kInputs>;
static_assert(IntegerDecision::kInputs == 8);

#ifdef __SSE2__  // part of every x86-64 processor

/// Returns the inputs as numbers of 16 bits.
__m128i packed_inputs(const DecisionInputs& x) {
  const auto* const from = reinterpret_cast<const __m128i*>(x.data());
  return _mm_packs_epi32(_mm_load_si128(from), _mm_load_si128(from + 1));
}

/// Returns floor(sum_i x_i (a_i + b_i + c_i) / 2^16). Each sum of weights is divided into two signed halves of 16 bits.
std::int32_t mixed_logit(const DecisionInputs& inputs, const WeightRows& rows) {
  const auto load = [](const void* from) { return _mm_load_si128(static_cast<const __m128i*>(from)); };
  const auto sums = [&](std::size_t first) {
    return _mm_add_epi32(_mm_add_epi32(load(rows[0] + first), load(rows[1] + first)), load(rows[2] + first));
  };
  const auto low = [](__m128i w) { return _mm_srai_epi32(_mm_slli_epi32(w, 16), 16); };
  const auto high = [](__m128i w, __m128i of_low) { return _mm_srai_epi32(_mm_sub_epi32(w, of_low), 16); };
  const __m128i w0 = sums(0), w1 = sums(4), low0 = low(w0), low1 = low(w1);
  const __m128i x = packed_inputs(inputs);
  __m128i lower = _mm_madd_epi16(x, _mm_packs_epi32(low0, low1));
  __m128i upper = _mm_madd_epi16(x, _mm_packs_epi32(high(w0, low0), high(w1, low1)));
  lower = _mm_add_epi32(_mm_unpacklo_epi64(lower, upper), _mm_unpackhi_epi64(lower, upper));
  lower = _mm_add_epi32(lower, _mm_shuffle_epi32(lower, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(_mm_unpackhi_epi64(lower, lower)) + (_mm_cvtsi128_si32(lower) >> 16);
}

/// Adds x_i * error >> 15 to the weights; `error` has 16 bits.
void adjust_weights(const DecisionInputs& inputs, std::int32_t error, const WeightRows& rows) {
  const __m128i x = packed_inputs(inputs);
  const __m128i e = _mm_set1_epi16(static_cast<std::int16_t>(error));
  const __m128i low = _mm_mullo_epi16(x, e), high = _mm_mulhi_epi16(x, e);
  const __m128i changes[2] = {_mm_srai_epi32(_mm_unpacklo_epi16(low, high), 15),
                              _mm_srai_epi32(_mm_unpackhi_epi16(low, high), 15)};
  for (std::int32_t* const row : rows) {
    auto* const to = reinterpret_cast<__m128i*>(row);
    _mm_store_si128(to, _mm_add_epi32(_mm_load_si128(to), changes[0]));
    _mm_store_si128(to + 1, _mm_add_epi32(_mm_load_si128(to + 1), changes[1]));
  }
}

#else

std::int32_t mixed_logit(const DecisionInputs& inputs, const WeightRows& rows) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    sum += std::int64_t{inputs[i]} * (rows[0][i] + rows[1][i] + rows[2][i]);
  return static_cast<std::int32_t>(sum >> 16);
}

void adjust_weights(const DecisionInputs& inputs, std::int32_t error, const WeightRows& rows) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int32_t change = (inputs[i] * error) >> 15;
    for (std::int32_t* const row : rows) row[i] += change;
  }
}

#endif

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

IntegerDecision::IntegerDecision()
    : logistic_(&IntegerLogistic::tables()),
      cells_(kHints << kCellBits),
      weights_(static_cast<Index>(3 * kGates * kInputs)),
      refined_(static_cast<Index>(kRefined * kRowPlaces)) {
  std::array<std::uint16_t, kRowPlaces> row{};
  for (std::int32_t i = 0; i < kPlaces; ++i)
    row[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(logistic_->squash((i - kPlaces / 2) * kApart));
  for (std::size_t r = 0; r < kRefined; ++r) std::ranges::copy(row, refined_.data() + r * kRowPlaces);
  constexpr std::int32_t kEach = 65536 / (3 * kHints);
  constexpr std::array<std::int32_t, kInputs> kInitial = {kEach, kEach, kEach, kEach, kEach, kEach, 4400, 0};
  for (std::size_t r = 0; r < 3 * kGates; ++r) std::ranges::copy(kInitial, weights_.data() + r * kInputs);
}

std::uint32_t IntegerDecision::estimate(const Case& c, std::uint32_t prior) {
  const IntegerLogistic& logistic = *logistic_;
  std::array<std::uint32_t, kHints> places;
  for (std::size_t i = 0; i < kHints; ++i) {
    std::uint32_t h = (c.hints[i] + static_cast<std::uint32_t>(i)) * 0x9E3779B1U;
    h = (h ^ h >> 15) * 0x85EBCA77U;
    places[i] = (static_cast<std::uint32_t>(i) << kCellBits) + (h >> (32 - kCellBits));
  }
  std::uint16_t* const refined_row = refined_.data() + c.refine * kRowPlaces;
  __builtin_prefetch(refined_row);  // the position within the row is known only after mixing
  for (std::size_t i = 0; i < kHints; ++i) found_[i] = &cells_[places[i]];
  const auto input = [&](std::size_t i) {
    const std::uint32_t unseen = found_[i]->count == 0 ? ~0U : 0;  // branch-free, because the outcome is unpredictable
    return logistic.stretch((prior & unseen) | (found_[i]->p & ~unseen));
  };
  prior_ = prior;
  inputs_ = {input(0), input(1), input(2), input(3), input(4), input(5), logistic.stretch(prior), kBiasInput};
  std::int32_t* const weights = weights_.data();
  rows_ = {weights + c.gates[0] * kInputs, weights + (kGates + c.gates[1]) * kInputs,
           weights + (2 * kGates + c.gates[2]) * kInputs};
  const std::int32_t logit = std::clamp(mixed_logit(inputs_, rows_), -IntegerLogistic::kMost, IntegerLogistic::kMost);
  mixed_ = logistic.squash(logit);
  const std::int32_t place = logit + kPlaces / 2 * kApart, share = place % kApart;
  std::uint16_t* const low = refined_row + place / kApart;
  nearest_ = low + (share >= kApart / 2 ? 1 : 0);
  const auto refined = static_cast<std::uint32_t>((low[0] * (kApart - share) + low[1] * share) / kApart);
  return p_ = std::clamp((mixed_ + refined) / 2, 1U, 65535U);
}

void IntegerDecision::learn(bool yes) {
  const std::int32_t target = yes ? 65535 : 0;
  const std::int32_t error = target - static_cast<std::int32_t>(mixed_);
  *nearest_ = static_cast<std::uint16_t>(*nearest_ + (target - *nearest_) / 64);
  adjust_weights(inputs_, error >> 2, rows_);
  for (Cell* const found : found_) {
    Cell cell = *found;
    if (cell.count == 0) cell = {static_cast<std::uint16_t>(prior_), kTrusted};
    const std::uint32_t step = kCellSteps[cell.count];
    const std::uint32_t p = cell.p;
    cell.p = static_cast<std::uint16_t>(yes ? std::min(p + ((65535 - p) * step >> 14), 65520U)
                                            : std::max(p - (p * step >> 14), 16U));
    cell.count = static_cast<std::uint16_t>(cell.count + (cell.count < kMaximumCount ? 1 : 0));
    *found = cell;
  }
}

}  // namespace unfold
