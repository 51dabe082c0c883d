#include "model/context_mixing/integer_decision.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>

#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr std::uint32_t kMaximumCount = 200;
constexpr std::int16_t kBiasInput = 96;  // input of the last weight
constexpr std::uint32_t kTrusted = 1;    // number of observations that a prior counts for
constexpr std::uint32_t kLeastCellEstimate = 16, kMostCellEstimate = 65520;

/// 2^16 / (n + 1.6)
const std::array<std::uint16_t, kMaximumCount + 1> kCellSteps = [] {
  std::array<std::uint16_t, kMaximumCount + 1> steps{};
  for (std::uint32_t n = 0; n <= kMaximumCount; ++n)
    steps[n] = static_cast<std::uint16_t>((65536 * 10) / (n * 10 + 16) / 4 * 4);
  return steps;
}();

std::int16_t rounded(double x) { return static_cast<std::int16_t>(x < 0 ? x - 0.5 : x + 0.5); }

constexpr std::size_t kHints = IntegerDecision::kHints;
using DecisionWeights = std::array<std::int32_t*, 3>;
using DecisionCells = std::array<IntegerDecision::Cell*, kHints>;
using Lanes = IntegerDecision::Lanes;
static_assert(IntegerDecision::kInputs == 8 && kHints == 6);

#ifdef __SSE2__  // part of every x86-64 processor

__m128i load_lanes(const void* from) { return _mm_load_si128(static_cast<const __m128i*>(from)); }
void store_lanes(__m128i lanes, void* to) { _mm_store_si128(static_cast<__m128i*>(to), lanes); }

/// Reads the cells; a cell without observations is replaced by the prior, observed kTrusted times.
void read_decision_cells(const DecisionCells& cells, std::uint32_t prior, Lanes& estimates, Lanes& counts) {
  const auto word = [&](std::size_t i) { return _mm_loadu_si32(cells[i]); };
  const __m128i first = _mm_unpacklo_epi64(_mm_unpacklo_epi32(word(0), word(1)), _mm_unpacklo_epi32(word(2), word(3)));
  const __m128i last = _mm_unpacklo_epi32(word(4), word(5));
  const auto separate = [](__m128i x) {  // estimates in the lower half, counts in the upper half
    constexpr int kEvenFirst = _MM_SHUFFLE(3, 1, 2, 0);
    return _mm_shuffle_epi32(_mm_shufflehi_epi16(_mm_shufflelo_epi16(x, kEvenFirst), kEvenFirst), kEvenFirst);
  };
  const __m128i a = separate(first), b = separate(last), p = _mm_unpacklo_epi64(a, b), n = _mm_unpackhi_epi64(a, b);
  const __m128i unseen = _mm_cmpeq_epi16(n, _mm_setzero_si128());
  const __m128i priors = _mm_set1_epi16(static_cast<std::int16_t>(prior));
  store_lanes(_mm_or_si128(_mm_and_si128(unseen, priors), _mm_andnot_si128(unseen, p)), &estimates);
  static_assert(kTrusted == 1);
  store_lanes(_mm_sub_epi16(n, unseen), &counts);
}

void store_decision_inputs(const std::array<std::int16_t, 8>& x, Lanes& inputs) {
  store_lanes(_mm_setr_epi16(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]), &inputs);
}

/// Moves the estimates towards the outcome and writes the cells.
void update_decision_cells(const Lanes& estimates, const Lanes& counts, bool yes, const DecisionCells& cells) {
  const auto lane = [&](std::size_t i) { return static_cast<std::int16_t>(kCellSteps[counts.of[i]]); };
  const __m128i step = _mm_setr_epi16(lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), 0, 0);
  const __m128i n = load_lanes(&counts);
  __m128i p = load_lanes(&estimates);
  if (yes) {
    p = _mm_add_epi16(p, _mm_mulhi_epu16(_mm_xor_si128(p, _mm_set1_epi16(-1)), step));
    p = _mm_sub_epi16(p,
                      _mm_subs_epu16(p, _mm_set1_epi16(static_cast<std::int16_t>(kMostCellEstimate))));  // the smaller
  } else {
    p = _mm_sub_epi16(p, _mm_mulhi_epu16(p, step));
    p = _mm_add_epi16(p, _mm_subs_epu16(_mm_set1_epi16(kLeastCellEstimate), p));  // the larger
  }
  const __m128i more = _mm_sub_epi16(n, _mm_cmpgt_epi16(_mm_set1_epi16(kMaximumCount), n));
  const __m128i first = _mm_unpacklo_epi16(p, more), last = _mm_unpackhi_epi16(p, more);
  const auto store = [&](std::size_t i, __m128i word) { _mm_storeu_si32(cells[i], word); };
  store(0, first);
  store(1, _mm_shuffle_epi32(first, 1));
  store(2, _mm_shuffle_epi32(first, 2));
  store(3, _mm_shuffle_epi32(first, 3));
  store(4, last);
  store(5, _mm_shuffle_epi32(last, 1));
}

/// Returns floor(sum_i x_i (a_i + b_i + c_i) / 2^16). Each sum of weights is divided into two signed halves of 16 bits.
std::int32_t mixed_logit(const Lanes& inputs, const DecisionWeights& rows) {
  const auto sums = [&](std::size_t first) {
    return _mm_add_epi32(_mm_add_epi32(load_lanes(rows[0] + first), load_lanes(rows[1] + first)),
                         load_lanes(rows[2] + first));
  };
  const auto low = [](__m128i w) { return _mm_srai_epi32(_mm_slli_epi32(w, 16), 16); };
  const auto high = [](__m128i w, __m128i of_low) { return _mm_srai_epi32(_mm_sub_epi32(w, of_low), 16); };
  const __m128i w0 = sums(0), w1 = sums(4), low0 = low(w0), low1 = low(w1);
  const __m128i x = load_lanes(&inputs);
  __m128i lower = _mm_madd_epi16(x, _mm_packs_epi32(low0, low1));
  __m128i upper = _mm_madd_epi16(x, _mm_packs_epi32(high(w0, low0), high(w1, low1)));
  lower = _mm_add_epi32(_mm_unpacklo_epi64(lower, upper), _mm_unpackhi_epi64(lower, upper));
  lower = _mm_add_epi32(lower, _mm_shuffle_epi32(lower, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(_mm_unpackhi_epi64(lower, lower)) + (_mm_cvtsi128_si32(lower) >> 16);
}

/// Adds x_i * error >> 15 to the weights; `error` has 16 bits.
void adjust_weights(const Lanes& inputs, std::int32_t error, const DecisionWeights& rows) {
  const __m128i x = load_lanes(&inputs);
  const __m128i e = _mm_set1_epi16(static_cast<std::int16_t>(error));
  const __m128i low = _mm_mullo_epi16(x, e), high = _mm_mulhi_epi16(x, e);
  const __m128i changes[2] = {_mm_srai_epi32(_mm_unpacklo_epi16(low, high), 15),
                              _mm_srai_epi32(_mm_unpackhi_epi16(low, high), 15)};
  for (std::int32_t* const row : rows) {
    store_lanes(_mm_add_epi32(load_lanes(row), changes[0]), row);
    store_lanes(_mm_add_epi32(load_lanes(row + 4), changes[1]), row + 4);
  }
}

#else

void read_decision_cells(const DecisionCells& cells, std::uint32_t prior, Lanes& estimates, Lanes& counts) {
  for (std::size_t i = 0; i < kHints; ++i) {
    const bool unseen = cells[i]->count == 0;
    estimates.of[i] = unseen ? static_cast<std::uint16_t>(prior) : cells[i]->p;
    counts.of[i] = unseen ? kTrusted : cells[i]->count;
  }
}

void store_decision_inputs(const std::array<std::int16_t, 8>& x, Lanes& inputs) {
  for (std::size_t i = 0; i < x.size(); ++i) inputs.of[i] = static_cast<std::uint16_t>(x[i]);
}

void update_decision_cells(const Lanes& estimates, const Lanes& counts, bool yes, const DecisionCells& cells) {
  for (std::size_t i = 0; i < kHints; ++i) {
    const std::uint32_t p = estimates.of[i], step = kCellSteps[counts.of[i]];
    const std::uint32_t moved = yes ? std::min(p + ((65535 - p) * step >> 16), kMostCellEstimate)
                                    : std::max(p - (p * step >> 16), kLeastCellEstimate);
    *cells[i] = {static_cast<std::uint16_t>(moved),
                 static_cast<std::uint16_t>(counts.of[i] + (counts.of[i] < kMaximumCount ? 1 : 0))};
  }
}

std::int32_t mixed_logit(const Lanes& inputs, const DecisionWeights& rows) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < inputs.of.size(); ++i)
    sum += std::int64_t{static_cast<std::int16_t>(inputs.of[i])} * (rows[0][i] + rows[1][i] + rows[2][i]);
  return static_cast<std::int32_t>(sum >> 16);
}

void adjust_weights(const Lanes& inputs, std::int32_t error, const DecisionWeights& rows) {
  for (std::size_t i = 0; i < inputs.of.size(); ++i) {
    const std::int32_t change = (static_cast<std::int16_t>(inputs.of[i]) * error) >> 15;
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

void IntegerDecision::select(const Case& c) {
#pragma GCC unroll 6
  for (std::size_t i = 0; i < kHints; ++i) {
    std::uint32_t h = (c.hints[i] + static_cast<std::uint32_t>(i)) * 0x9E3779B1U;
    h = (h ^ h >> 15) * 0x85EBCA77U;
    found_[i] = &cells_[(i << kCellBits) + (h >> (32 - kCellBits))];
    __builtin_prefetch(found_[i]);
  }
  std::int32_t* const weights = weights_.data();
  rows_ = {weights + c.gates[0] * kInputs, weights + (kGates + c.gates[1]) * kInputs,
           weights + (2 * kGates + c.gates[2]) * kInputs};
  for (const std::int32_t* row : rows_) __builtin_prefetch(row);
  refined_row_ = refined_.data() + c.refine * kRowPlaces;
  __builtin_prefetch(refined_row_);
}

std::uint32_t IntegerDecision::estimate(std::uint32_t prior) {
  const IntegerLogistic& logistic = *logistic_;
  read_decision_cells(found_, prior, estimates_, counts_);
  const auto input = [&](std::size_t i) { return static_cast<std::int16_t>(logistic.stretch(estimates_.of[i])); };
  store_decision_inputs({input(0), input(1), input(2), input(3), input(4), input(5),
                         static_cast<std::int16_t>(logistic.stretch(prior)), kBiasInput},
                        inputs_);
  const std::int32_t logit = std::clamp(mixed_logit(inputs_, rows_), -IntegerLogistic::kMost, IntegerLogistic::kMost);
  mixed_ = logistic.squash(logit);
  const std::int32_t place = logit + kPlaces / 2 * kApart, share = place % kApart;
  std::uint16_t* const low = refined_row_ + place / kApart;
  nearest_ = low + (share >= kApart / 2 ? 1 : 0);
  const auto refined = static_cast<std::uint32_t>((low[0] * (kApart - share) + low[1] * share) / kApart);
  return std::clamp((mixed_ + refined) / 2, 1U, 65535U);
}

void IntegerDecision::learn(bool yes) {
  const std::int32_t target = yes ? 65535 : 0;
  const std::int32_t error = target - static_cast<std::int32_t>(mixed_);
  *nearest_ = static_cast<std::uint16_t>(*nearest_ + (target - *nearest_) / 64);
  adjust_weights(inputs_, error >> 2, rows_);
  update_decision_cells(estimates_, counts_, yes, found_);
}

}  // namespace unfold
