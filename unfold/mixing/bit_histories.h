#pragma once
/// Counters of bits in 16 bits each, and rows of them in bounded memory: what history_mixing.h keeps of its contexts.
///
/// A counter begins as the history of its bits, exact up to seven of them (a leading one, then the bits; 0: nothing
/// seen). From the eighth on it is an estimate: a logit of 9 bits in steps of 1/30, how far it is trusted in 2 bits
/// (the steps become shorter) and the last four bits,
///
///   1 eeeeeeeee tt hhhh     logit = e / 30 - 8.5
///
/// A step of the estimate is rounded up or down by chance that is the same everywhere, so that steps shorter than 1/30
/// count in the mean.

#include <array>
#include <cstdint>

#include "unfold/mixing/zero_pages.h"

namespace unfold {

/// The arithmetic of several counters side by side, without a branch.
class BitHistories {
 public:
  static constexpr std::size_t kSide = 8;                   ///< counters that a call takes
  static constexpr std::size_t kByHistory = 256 + 32 * 16;  ///< values of `by_history`
  static constexpr std::size_t kByEstimate = 256 + 64 * 4;  ///< values of `by_estimate`
  using Counters = std::array<std::uint16_t, kSide>;

  static const BitHistories& tables();

  /// Cells for what counters say, of which 0 is that of nothing seen: the history, or 32 levels of the estimate and the
  /// last four bits; the history, or 64 levels and the trust.
  static void history_cells(const std::uint16_t* counters, std::uint16_t* cells);
  static void estimate_cells(const std::uint16_t* counters, std::uint16_t* cells);
  /// Probabilities of a one that such cells stand for.
  double meaning_of_history(std::size_t cell) const;
  double meaning_of_estimate(std::size_t cell) const;

  /// The counters after one more bit. `chance`: of this bit, 32 random bits.
  void learn(const std::uint16_t* counters, int bit, std::uint32_t chance, std::uint16_t* next) const;

 private:
  BitHistories();
  static constexpr std::size_t kExact = 256, kEstimates = 512, kTrusts = 4;
  std::array<double, kExact> exact_{};  // what exact histories mean
  // By bit: the next history; or the next estimate with six bits below it, where the trust and the last bits stand.
  std::array<std::array<std::uint16_t, kExact + kEstimates * kTrusts>, 2> next_{};
};

/// The 15 counters of half a symbol (four bits) in one context. `mark`: 12 bits of the hash above 4 of use, 0: free.
struct HistoryRow {
  std::uint16_t mark = 0;
  std::array<std::uint16_t, 15> counter{};
};
static_assert(sizeof(HistoryRow) == 32, "two rows are a cache line");

/// A hash table of rows for all contexts together: a new row takes the place of the one of its line that was used less.
class HistoryTable {
 public:
  static constexpr std::size_t kLine = 2;    ///< rows
  explicit HistoryTable(std::size_t bytes);  ///< as many lines as fit, one at least
  void prefetch(std::uint64_t key) const { __builtin_prefetch(line(key), 1); }
  HistoryRow* line(std::uint64_t key) const { return rows_.data() + ((key & 0xFFFFFFFF) * lines_ >> 32) * kLine; }
  /// `none`: there is none.
  HistoryRow* find(std::uint64_t key, HistoryRow* none = nullptr) const { return find_in(line(key), key, none); }
  /// In the line of the key, or in another; without a branch, for there is no telling which it will be.
  static HistoryRow* find_in(HistoryRow* line, std::uint64_t key, HistoryRow* none) {
    const auto least = static_cast<std::uint16_t>(check(key) << 4 | 1);  // of use 1 .. 15
    const bool first = static_cast<std::uint16_t>(line[0].mark - least) < kUse,
               second = static_cast<std::uint16_t>(line[1].mark - least) < kUse;
    HistoryRow* const found = second ? line + 1 : none;
    return first ? line : found;
  }
  HistoryRow* create(std::uint64_t key);  ///< REQUIRES that there is none
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
