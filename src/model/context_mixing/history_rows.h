#pragma once
/// Internal to ContextMixing: the rows of counters (bit_histories.h) of all contexts for one symbol, half by half.
///
/// A context that has always been followed by the same symbol takes a single row: its first counter is replaced by
/// 0x4000 | occurrences << 8 | symbol, which determines the counters of both halves. It is converted to two ordinary
/// rows when a different symbol occurs, or at the eighth occurrence.

#include <array>
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
  void begin();  ///< the next symbol becomes the current one
  void ask(BitPath path, int depth, std::uint16_t* counters);
  /// For the contexts of the last query that are in a run, sets `cells` to `first` + 2 occurrences + the expected bit.
  void set_run_cells(const std::uint16_t* counters, int depth, std::uint16_t first, std::uint16_t* cells) const;
  /// Stores the updated values of the counters of the last query.
  void learn(BitPath path, int depth, int bit, const std::uint16_t* next);
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
  std::array<HistoryRow, kMost> first_{}, second_{};  // rows implied by runs, and the rows to which runs are converted
  struct Left {
    std::uint8_t context;
    bool in_first;  // the run ended in the first half of the symbol
  };
  std::array<Left, kMost> left_{};  // the runs that ended with this symbol
  std::size_t left_count_ = 0;
  HistoryRow nothing_;
  std::array<HistoryRow, HistoryTable::kLine> no_line_{};
  BitPath half_ = 0;  // prefix of the current half; 0: none yet
  // Whether rows were written in this half; whether bits of this symbol were learned.
  bool taught_ = false, learnt_ = false;
  std::size_t node_ = 0;  // node within the half
};

}  // namespace unfold
