#pragma once
/// 16-bit counters of bits, and rows of counters in bounded memory; the state of the contexts of context_mixing.h.
///
/// A counter begins as the history of its bits, exact for up to seven bits (a leading 1, then the bits; 0: no
/// observation). From the eighth bit on it is an estimate: a 9-bit logit in steps of 1/30, a 2-bit confidence (which
/// reduces the learning rate), and the last four bits:
///
///   1 eeeeeeeee tt hhhh     logit = e / 30 - 8.5
///
/// Updates of the estimate are rounded stochastically, with random numbers that are the same on every machine; updates
/// smaller than 1/30 are therefore correct on average.

#include <array>
#include <cstdint>

#include "model/context_mixing/simd.h"
#include "model/context_mixing/zero_pages.h"

namespace unfold {

/// Branch-free operations on several counters in parallel.
class BitHistories {
 public:
  static constexpr std::size_t kSide = 8;               ///< number of counters per call
  static constexpr std::size_t kCells = 256 + 32 * 16;  ///< number of cells that counters are mapped to
  using Counters = std::array<std::uint16_t, kSide>;

  static const BitHistories& tables();

  /// Maps counters to cells: the history, or 32 levels of the estimate and the last four bits; 0: no observation.
  static EightCounters cells(EightCounters counters);
  static void cells(const std::uint16_t* counters, std::uint16_t* cells) {
    store(BitHistories::cells(load<EightCounters>(counters)), cells);
  }
  double initial_probability(std::size_t cell) const;  ///< of a 1

  /// Updates counters with one more bit. `chance`: 32 random bits for this update.
  EightCounters learn(EightCounters counters, int bit, std::uint32_t chance) const;
  void learn(const std::uint16_t* counters, int bit, std::uint32_t chance, std::uint16_t* next) const {
    store(learn(load<EightCounters>(counters), bit, chance), next);
  }

 private:
  BitHistories();
  static constexpr std::size_t kExact = 256, kEstimates = 512, kTrusts = 4;
  std::array<double, kExact> exact_{};  // probabilities of exact histories
  // The successor of a counter for each bit: the next history, or the next estimate with six fractional bits in place
  // of the confidence and the last bits.
  std::array<std::array<std::uint16_t, kExact + kEstimates * kTrusts>, 2> next_{};
};

UNFOLD_ALWAYS_INLINE EightCounters BitHistories::cells(EightCounters c) {
  return choose((c >> 15) != 0, kExact + ((c >> 6 & 0x1F0) | (c & 15)), c);
}

UNFOLD_ALWAYS_INLINE EightCounters BitHistories::learn(EightCounters c, int bit, std::uint32_t chance) const {
  // Decorrelates the random numbers of adjacent counters; arbitrary odd numbers.
  static constexpr EightCounters kUnlike = {0x9E37, 0x79B9, 0x7F4B, 0x85EB, 0xCA6B, 0xC2B3, 0x27D5, 0x1657};
  const auto estimated = (c >> 15) != 0;
  const EightCounters places = choose(estimated, kExact + (c >> 4 & 0x7FF), c);
  const auto& table = next_[static_cast<std::size_t>(bit)];
  const EightCounters moved = {table[places[0]], table[places[1]], table[places[2]], table[places[3]],
                               table[places[4]], table[places[5]], table[places[6]], table[places[7]]};
  const auto one = static_cast<std::uint16_t>(bit);
  const auto low = static_cast<std::uint16_t>(chance), high = static_cast<std::uint16_t>(chance >> 16);
  const EightCounters fraction = (low * kUnlike) >> 10, lot = (high * kUnlike) >> 8;
  // The confidence increases after about 8, 18 or 64 bits: with probability (3 q + 1) q / 256, where q is the
  // difference to its maximum.
  const EightCounters trust = c >> 4 & 3, lacking = 3 - trust;
  const auto grows = reinterpret_cast<EightCounters>(lot < (3 * lacking + 1) * lacking) & 1;
  const EightCounters estimate = (moved + fraction) & 0xFFC0;
  const EightCounters grown = estimate | (trust + grows) << 4 | ((2 * c | one) & 15);
  return choose(estimated, grown, moved);
}

/// The 15 counters of a nibble, which is half a symbol (four bits), in one context. `mark`: 12 bits of the hash above a
/// 4-bit use count; a use count of 0 marks a free row.
struct HistoryRow {
  std::uint16_t mark = 0;
  std::array<std::uint16_t, 15> counter{};
};
static_assert(sizeof(HistoryRow) == 32, "two rows are a cache line");

/// A hash table of rows shared by all contexts: a new row replaces the less frequently used row of its cache line.
class HistoryTable {
 public:
  static constexpr std::size_t kLine = 2;    ///< number of rows
  explicit HistoryTable(std::size_t bytes);  ///< as many lines as fit, at least one
  void prefetch(std::uint64_t key) const { __builtin_prefetch(line(key), 1); }
  HistoryRow* line(std::uint64_t key) const { return rows_.data() + ((key & 0xFFFFFFFF) * lines_ >> 32) * kLine; }
  /// Returns `none` if there is no such row.
  HistoryRow* find(std::uint64_t key, HistoryRow* none = nullptr) const { return find_in(line(key), key, none); }
  /// Searches a given line for the key; branch-free, because the outcome is unpredictable.
  static HistoryRow* find_in(HistoryRow* line, std::uint64_t key, HistoryRow* none) {
    const auto least = static_cast<std::uint16_t>(check(key) << 4 | 1);  // for use counts 1 .. 15
    const bool first = static_cast<std::uint16_t>(line[0].mark - least) < kUse,
               second = static_cast<std::uint16_t>(line[1].mark - least) < kUse;
    HistoryRow* const found = second ? line + 1 : none;
    return first ? line : found;
  }
  HistoryRow* create(std::uint64_t key);  ///< REQUIRES that the key does not exist
  static void use(HistoryRow& row) {
    row.mark = static_cast<std::uint16_t>(row.mark + ((row.mark & kUse) != kUse ? 1 : 0));
  }

 private:
  static constexpr std::uint16_t kUse = 15;
  static std::uint32_t check(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 52); }

  std::size_t lines_;
  ZeroPages<HistoryRow> rows_;
};

}  // namespace unfold
