#pragma once
/// Components of context mixing (context_mixing.h) and of mixtures: adaptive probabilities, the match model, layers of
/// mixers, and the refinement of a prediction.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/context_mixing/bitwise_predictor.h"
#include "model/context_mixing/logistic.h"
#include "model/context_mixing/zero_pages.h"

namespace unfold {

/// 2^16 / (n + 1.5), the learning rate of a counter that was used n times.
inline constexpr std::array<std::uint32_t, 1024> kRates = [] {
  std::array<std::uint32_t, 1024> table{};
  for (std::uint32_t n = 0; n < 1024; ++n) table[n] = 2 * 65536 / (2 * n + 3);
  return table;
}();

inline std::uint64_t hash(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a + 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
  h = (h ^ (h >> 32) ^ ((b + 1) * 0xA0761D6478BD642FULL)) * 0xE7037ED1A0B428DBULL;
  return h ^ (h >> 29);
}

/// An adaptive probability: P(1) in 22 bits above a 10-bit count; the learning rate decreases as 1 / (count + 1.5).
struct AdaptiveProbability {
  std::uint32_t value = 1U << 31;
  std::uint32_t p12() const { return value >> 20; }
  void learn(int bit);
  static AdaptiveProbability of(double p, std::uint32_t count);
};

UNFOLD_ALWAYS_INLINE void AdaptiveProbability::learn(int bit) {
  const std::uint32_t count = value & 1023;
  const std::int64_t p = value >> 10, target = bit != 0 ? (1 << 22) - 1 : 0;
  const auto next = static_cast<std::uint32_t>(p + (((target - p) * static_cast<std::int64_t>(kRates[count])) >> 16));
  value = next << 10 | std::min(count + 1, 1023U);
}

/// Predicts the symbol that followed the last occurrence of the last few symbols.
class MatchModel {
 public:
  static constexpr Index kInputs = 2;
  /// Stores 2^size symbols and finds matches of at least `least` symbols. The hash-table line of the next lookup is
  /// computed before the last four bits of a symbol are known, early enough to be prefetched.
  MatchModel(int size, int least);
  void start();                                       ///< starts a new sequence
  void advance(Symbol symbol, bool remember = true);  ///< symbols that are not stored are never matched
  /// Computes the inputs from the expected bit. `bits`: number of bits per symbol.
  void inputs(BitPath path, int depth, int bits, float* x);
  void learn(int bit);
  std::size_t length_class() const { return class_; }  ///< 0: no match; at most 15
  Symbol expected() const { return class_ == 0 ? kNoSymbol : expected_; }

 private:
  void look_up(bool remember);
  std::uint64_t place() const;
  void foresee();
  std::uint64_t least_, mask_;
  const Logistic& logistic_ = Logistic::tables();
  std::uint64_t line_ = 0;           // the line of the next look-up
  ZeroPages<std::uint8_t> history_;  // ring buffer
  ZeroPages<std::uint64_t> last_;    // the position after the last occurrence, by hash; 0: none
  std::uint64_t end_ = 0, begin_ = 0, pointer_ = 0, length_ = 0;
  std::uint64_t remembered_ = 0;           // the end of the stored symbols
  std::vector<std::uint8_t> overwritten_;  // the overwritten contents of the ring, from `remembered_` on
  std::size_t class_ = 0, cell_ = 0;
  Symbol expected_ = kNoSymbol;
  int expected_bit_ = -1;
  std::vector<AdaptiveProbability> map_;
};

UNFOLD_ALWAYS_INLINE void MatchModel::inputs(BitPath path, int depth, int bits, float* x) {
  expected_bit_ = -1;
  x[0] = x[1] = 0;
  if (class_ == 0) return;
  const auto whole = static_cast<BitPath>(expected_) | BitPath{1} << bits;
  if (whole >> (bits - depth) != path) return;
  expected_bit_ = static_cast<int>(whole >> (bits - depth - 1)) & 1;
  cell_ = class_ * 2 + static_cast<std::size_t>(expected_bit_);
  const std::uint32_t p = map_[cell_].p12();
  x[0] = logistic_.stretch(p);
  x[1] = (static_cast<float>(p) - 2048) * (1.0F / 1024);
}

UNFOLD_ALWAYS_INLINE void MatchModel::learn(int bit) {
  if (expected_bit_ < 0) return;
  map_[cell_].learn(bit);
  if (bit != expected_bit_) {
    length_ = 0;
    class_ = 0;
  }
}

/// Gated mixing in the logistic domain: in each of several sets, a context selects one weight vector; a final mixer
/// combines the results of the sets. Weights follow the gradient of the coding cost.
class MixerLayers {
 public:
  /// `sets`: number of contexts of each set, at most kMixLanes sets; `start`: initial weights, [inputs].
  MixerLayers(const std::vector<float>& start, const std::vector<std::size_t>& sets, std::size_t last_contexts);
  void select(std::size_t set, std::size_t context) { chosen_[set] = context; }
  float mix(const float* x, std::size_t last_context);  ///< returns a logit
  void learn(const float* x, int bit);

 private:
  float* weights(std::size_t set) { return weights_[set].data() + chosen_[set] * static_cast<std::size_t>(inputs_); }

  Index inputs_;
  std::vector<std::size_t> chosen_;
  std::vector<std::vector<float>> weights_;
  std::vector<float> last_weights_;
  std::array<float, kMixLanes> outputs_{}, probabilities_{};
  std::size_t last_chosen_ = 0;
  float mixed_ = 0, rate_;
};

/// Corrects a prediction in a context (secondary symbol estimation): interpolates between adaptive values at 33 points
/// of the logistic domain.
class RefinementMap {
 public:
  explicit RefinementMap(std::size_t contexts);
  void select(std::size_t context) {
    row_ = context * kPlaces;
    for (std::size_t i = 0; i < kPlaces; i += kPlaces / 2) __builtin_prefetch(&map_[row_ + i]);
  }
  float refine(float logit);
  void learn(int bit);

 private:
  static constexpr std::size_t kPlaces = 33;
  std::vector<std::uint16_t> map_;  // probabilities in units of 2^-16
  std::size_t row_ = 0, low_ = 0;
  float share_ = 0;
};

}  // namespace unfold
