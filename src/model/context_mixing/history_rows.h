#pragma once
/// Internal to ContextMixing: the rows of counters (bit_histories.h) of all contexts for one symbol, half by half.
///
/// A context that has always been followed by the same symbol takes a single row: its first counter is replaced by
/// 0x4000 | occurrences << 8 | symbol, which determines the counters of both halves. It is converted to two ordinary
/// rows when a different symbol occurs, or at the eighth occurrence.

#include <array>
#include <bit>
#include <cstdint>

#include "model/context_mixing/bit_histories.h"
#include "model/context_mixing/bitwise_predictor.h"

namespace unfold {

class HistoryRows {
 public:
  static constexpr std::size_t kMost = 24;  ///< maximum number of contexts, a multiple of BitHistories::kSide
  static constexpr std::size_t kRunCells = 16;
  using Counters = std::array<std::uint16_t, kMost>;

  HistoryRows(std::size_t contexts, std::size_t bytes, int symbol_bits);
  HistoryRows(const HistoryRows& other);
  HistoryRows(HistoryRows&&) = delete;
  HistoryRows& operator=(const HistoryRows&) = delete;
  HistoryRows& operator=(HistoryRows&&) = delete;
  ~HistoryRows() = default;

  /// Returns the hashed contexts of the next symbol, which must be set before `begin`.
  std::array<std::uint64_t, kMost>& hashes() { return next_; }
  /// Prefetches the memory for the next symbol, as soon as its contexts are known.
  void prefetch() const;
  void begin();                                 ///< the next symbol becomes the current one
  void select(BitPath path, int depth);         ///< finds the counters of a node
  std::size_t lanes() const { return lanes_; }  ///< the number of contexts, rounded up to BitHistories::kSide
  /// Returns the counters of eight contexts, from context i on.
  template <std::size_t kUsed = BitHistories::kSide>
  EightCounters counters(std::size_t i) const;
  /// Replaces the cells of the contexts that are in a run by `first` + 2 occurrences + the expected bit.
  EightCounters run_cells(std::size_t i, EightCounters counters, int depth, std::uint16_t first,
                          EightCounters cells) const;
  /// Learning a bit: `prepare`, then `put` and `end_runs` for every eight contexts, then `finish_bit`.
  void prepare(BitPath path, int depth, int bit);
  template <std::size_t kUsed = BitHistories::kSide>
  void put(std::size_t i, EightCounters next);  ///< stores updated counters
  void end_runs(std::size_t i, int depth, int bit);
  void finish(Symbol symbol);  ///< must be called before the contexts of the next symbol are set

  /// Returns the history of `seen` equal bits; 0 for none.
  static std::uint16_t alike(std::uint32_t seen, int bit) {
    const std::uint32_t one = 1U << seen;
    return static_cast<std::uint16_t>(seen == 0 ? 0 : bit != 0 ? 2 * one - 1 : one);
  }

 private:
  HistoryRows(std::size_t contexts, HistoryTable table, int symbol_bits);
  static constexpr std::uint32_t kMostSeen = 7;  // maximum length of exact histories
  static constexpr std::uint16_t kRun = 0x4000, kRunMask = 0xC000;
  static bool is_run(const HistoryRow& row) { return (row.counter[0] & kRunMask) == kRun; }
  /// Returns the key of the row of a context for the half of a symbol that begins with `prefix`.
  static std::uint64_t key_of(std::uint64_t hashed, BitPath prefix) {
    const std::uint64_t k = (hashed ^ prefix * 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
    return k ^ k >> 32;
  }

  bool running(std::size_t i) const { return running_[i] != 0; }
  static std::size_t take_first(std::uint32_t& set) {  // removes and returns the smallest number in a set
    const auto i = static_cast<std::size_t>(std::countr_zero(set));
    set &= set - 1;
    return i;
  }
  BitPath expected_prefix(std::size_t i) const {
    return BitPath{1} << first_bits_ | static_cast<BitPath>(expected_[i]) >> (bits_ - first_bits_);
  }
  const HistoryRow& first_of_run(std::size_t i) const;
  const HistoryRow& second_of_run(std::size_t i) const;
  HistoryRow* find_or_create(std::uint64_t key);
  void select_first();
  void select_second(BitPath prefix);
  void foresee(BitPath prefix) const;
  void own_rows();
  using Eight = std::array<std::uint16_t, BitHistories::kSide>;
  void end_these_runs(std::size_t i, const Eight& ended, int depth);
  void end_run(std::size_t context, int depth);
  void expand_run(std::size_t context, bool in_first);

  HistoryTable table_;
  std::size_t contexts_, lanes_;
  int bits_, first_bits_;                        // bits per symbol; bits of its first half
  const HistoryRow *first_runs_, *second_runs_;  // rows implied by runs
  // Hashes of the current and of the next contexts; keys of the rows in the current half.
  std::array<std::uint64_t, kMost> hashes_{}, next_{}, keys_{};
  // `nothing_`: a row that will be created when it is updated.
  std::array<HistoryRow*, kMost> rows_{};
  // `running_`: 0xFFFF in a run or for a new context, otherwise 0. In that case, `expected_` is the symbol of the run
  // and `seen_` its number of occurrences (0 for a new context).
  Counters running_{}, expected_{}, seen_{};
  std::uint32_t running_set_ = 0, missing_set_ = 0;   // bit i: context i is in a run; its row is `nothing_`
  std::array<HistoryRow, kMost> first_{}, second_{};  // rows implied by runs, and the rows to which runs are converted
  struct Left {
    std::uint8_t context;
    bool in_first;  // the run ended in the first half of the symbol
  };
  std::array<Left, kMost> left_{};  // the runs that ended with this symbol
  std::size_t left_count_ = 0;
  HistoryRow nothing_;
  HistoryRow beyond_;  // of the lanes beyond the last context, which have no counters
  std::array<HistoryRow, HistoryTable::kLine> no_line_{};
  BitPath half_ = 0;  // prefix of the current half; 0: none yet
  // Whether rows were written in this half; whether bits of this symbol were learned.
  bool taught_ = false, learnt_ = false;
  std::size_t node_ = 0;  // node within the half
};

UNFOLD_ALWAYS_INLINE void HistoryRows::select(BitPath path, int depth) {
  const HalfPlace at = half_place(path, depth);
  if (at.prefix != half_) {
    half_ = at.prefix;
    taught_ = false;
    if (half_ == 1)
      select_first();
    else
      select_second(half_);
  }
  node_ = at.node;
}

template <std::size_t kUsed>
UNFOLD_ALWAYS_INLINE EightCounters HistoryRows::counters(std::size_t i) const {
  const auto of = [&](std::size_t k) __attribute__((always_inline)) {
    return k < kUsed ? rows_[i + k]->counter[node_] : std::uint16_t{0};
  };
  return EightCounters{of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)};
}

UNFOLD_ALWAYS_INLINE EightCounters HistoryRows::run_cells(std::size_t i, EightCounters counters, int depth,
                                                          std::uint16_t first, EightCounters cells) const {
  const auto at = static_cast<std::uint16_t>(1 << (bits_ - 1 - depth));
  const auto one = reinterpret_cast<EightCounters>((load<EightCounters>(&expected_[i]) & at) != 0) & 1;
  const EightCounters cell = first + 2 * load<EightCounters>(&seen_[i]) + one;
  const EightCounters told = reinterpret_cast<EightCounters>(counters != 0) & load<EightCounters>(&running_[i]);
  return choose(told, cell, cells);
}

UNFOLD_ALWAYS_INLINE void HistoryRows::prepare(BitPath path, int depth, int bit) {
  if (depth == 2) foresee(2 * path + static_cast<BitPath>(bit));
  learnt_ = true;
  if (!taught_) own_rows();
}

template <std::size_t kUsed>
UNFOLD_ALWAYS_INLINE void HistoryRows::put(std::size_t i, EightCounters next) {
  const auto to = [&](std::size_t k) __attribute__((always_inline)) {
    if (k < kUsed) rows_[i + k]->counter[node_] = next[k];
  };
  to(0), to(1), to(2), to(3), to(4), to(5), to(6), to(7);
}

UNFOLD_ALWAYS_INLINE void HistoryRows::end_runs(std::size_t i, int depth, int bit) {
  const auto at = static_cast<std::uint16_t>(1 << (bits_ - 1 - depth)), as_learnt = bit != 0 ? at : std::uint16_t{0};
  const auto known = reinterpret_cast<EightCounters>(load<EightCounters>(&seen_[i]) != 0);
  const auto other = reinterpret_cast<EightCounters>((load<EightCounters>(&expected_[i]) & at) != as_learnt);
  const EightCounters unlike = known & other & load<EightCounters>(&running_[i]);
  if (!any_bit(unlike)) return;  // usually there is no such context
  Eight ended;
  store(unlike, ended.data());
  end_these_runs(i, ended, depth);
}

}  // namespace unfold
