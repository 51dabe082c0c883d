#pragma once
/// The components of context mixing (context_mixing.h): hash tables of trees of bit counters, adaptive maps, the match
/// model, and the layers of mixers.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/context_mixing/bitwise_predictor.h"
#include "model/context_mixing/logistic.h"
#include "model/context_mixing/zero_pages.h"

namespace unfold {

/// Classes of use counts, exact in the range where differences matter.
inline constexpr std::size_t kUseClasses = 16;
inline constexpr std::array<std::uint8_t, 256> kUseClass = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t n = 0; n < 256; ++n)
    table[n] = static_cast<std::uint8_t>(n <= 8    ? n
                                         : n < 12  ? 9
                                         : n < 16  ? 10
                                         : n < 24  ? 11
                                         : n < 32  ? 12
                                         : n < 64  ? 13
                                         : n < 255 ? 14
                                                   : 15);
  return table;
}();

/// 2^16 / (n + 1.5): the learning rate of a counter that was used n times.
inline constexpr std::array<std::uint32_t, 1024> kRates = [] {
  std::array<std::uint32_t, 1024> table{};
  for (std::uint32_t n = 0; n < 1024; ++n) table[n] = 2 * 65536 / (2 * n + 3);
  return table;
}();

/// Cells of the logistic domain, of width 1/4, for estimates in units of 2^-12.
inline constexpr std::size_t kEstimateLevels = 64;
inline std::size_t estimate_level(std::uint32_t estimate) {
  const int cell = static_cast<int>((Logistic::tables().stretch(estimate) + 8) * 4);
  return static_cast<std::size_t>(std::clamp(cell, 0, static_cast<int>(kEstimateLevels) - 1));
}

inline std::uint64_t hash(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a + 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
  h = (h ^ (h >> 32) ^ ((b + 1) * 0xA0761D6478BD642FULL)) * 0xE7037ED1A0B428DBULL;
  return h ^ (h >> 29);
}

/// The 15 bit counters of half a symbol (four bits) in one context: an estimate of P(1) in units of 2^-16, the number
/// of bits seen, and the last ones (up to seven) after a leading one.
struct ContextSlot {
  std::uint16_t check;
  std::array<std::uint16_t, 15> estimate;
  std::array<std::uint8_t, 15> count;
  std::array<std::uint8_t, 15> past;
  std::uint16_t spare;
  void clear();
};
static_assert(sizeof(ContextSlot) == 64, "a slot is a cache line");

/// A hash table of slots without deletion: a new context replaces the least used one of its bucket.
class ContextTable {
 public:
  explicit ContextTable(int size);  ///< 2^size slots
  ContextTable(const ContextTable& other);
  ContextTable(ContextTable&&) noexcept = default;
  ContextTable& operator=(const ContextTable&) = delete;
  ContextTable& operator=(ContextTable&&) = delete;
  ~ContextTable() = default;

  void prefetch(std::uint64_t key) const { __builtin_prefetch(bucket(key)); }
  ContextSlot* find(std::uint64_t key) const;  ///< nullptr if there is none
  ContextSlot* create(std::uint64_t key);

 private:
  static constexpr std::size_t kBucket = 4;
  ContextSlot* bucket(std::uint64_t key) const { return slots_.get() + (key & mask_) * kBucket; }
  static std::uint16_t check(std::uint64_t key) { return static_cast<std::uint16_t>(key >> 48) | 1; }  // 0: free

  struct Free {
    void operator()(ContextSlot* slots) const;
  };
  std::uint64_t mask_;  // mask of the bucket index
  std::unique_ptr<ContextSlot[], Free> slots_;
};

/// An adaptive probability: P(1) in 22 bits above a 10-bit count; the learning rate decreases as 1 / (count + 1.5).
struct AdaptiveProbability {
  std::uint32_t value = 1U << 31;
  std::uint32_t p12() const { return value >> 20; }
  void learn(int bit);
  static AdaptiveProbability of(double p, std::uint32_t count);
};

/// An adaptive map from the counters of one context model to the inputs of the mixers.
class CounterMap {
 public:
  static constexpr Index kInputs = 4;
  explicit CounterMap(int limit);  ///< maximum count: the higher it is, the slower the estimates adapt in the long run
  void inputs(const ContextSlot* slot, std::size_t node, float* x) const;
  void learn(ContextSlot& slot, std::size_t node, int bit);

 private:
  static std::size_t cell(std::uint16_t estimate, std::uint8_t count);
  int limit_;
  std::vector<AdaptiveProbability> by_estimate_, by_past_;
};

/// Predicts the symbol that followed the last occurrence of the last few symbols.
class MatchModel {
 public:
  static constexpr Index kInputs = 2;
  /// Remembers 2^size symbols and finds matches of at least `least` symbols. `foreseen`: the hash-table line of the
  /// next look-up is computed before the last four bits of a symbol are known, so that it can be prefetched in time.
  MatchModel(int size, int least, bool foreseen = false);
  void start();                                       ///< starts a new sequence
  void advance(Symbol symbol, bool remember = true);  ///< symbols that are not remembered are never found again
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
  bool foreseen_;
  std::uint64_t line_ = 0;           // the line of the next look-up, if foreseen
  ZeroPages<std::uint8_t> history_;  // ring buffer
  ZeroPages<std::uint64_t> last_;    // the position after the last occurrence, by hash; 0: none
  std::uint64_t end_ = 0, begin_ = 0, pointer_ = 0, length_ = 0;
  std::uint64_t remembered_ = 0;           // the end of what was remembered
  std::vector<std::uint8_t> overwritten_;  // what stood in the ring from there on, as far as it was written to
  std::size_t class_ = 0, cell_ = 0;
  Symbol expected_ = kNoSymbol;
  int expected_bit_ = -1;
  std::vector<AdaptiveProbability> map_;
};

/// Gated mixing in the logistic domain: in each of several sets, a context selects one weight vector; a final mixer
/// combines their results. Weights follow the gradient of the coding cost.
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
