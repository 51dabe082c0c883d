#pragma once
/// Internal to HistoryMixing: the rows of counters (bit_histories.h) of all contexts of one symbol, half by half.
///
/// With runs, a context that one symbol alone has followed takes one row and no more: in the place of its first counter
/// stands 0x4000 | occurrences << 8 | symbol, from which the counters of both halves follow. It becomes two ordinary
/// rows when another symbol comes, or with the eighth occurrence.

#include <array>
#include <cstdint>

#include "unfold/mixing/bit_histories.h"
#include "unfold/mixing/bitwise_predictor.h"

namespace unfold {

class HistoryRows {
 public:
  static constexpr std::size_t kMost = 24;  ///< contexts, a multiple of BitHistories::kSide
  static constexpr std::size_t kRunCells = 16;
  using Counters = std::array<std::uint16_t, kMost>;

  HistoryRows(std::size_t contexts, std::size_t bytes, int symbol_bits, bool runs);
  HistoryRows(const HistoryRows& other);
  HistoryRows(HistoryRows&&) = delete;
  HistoryRows& operator=(const HistoryRows&) = delete;
  HistoryRows& operator=(HistoryRows&&) = delete;
  ~HistoryRows() = default;

  /// The contexts of the next symbol, hashed: to be set before `begin`.
  std::array<std::uint64_t, kMost>& hashes() { return next_; }
  /// Asks for the memory of the next symbol, as soon as its contexts are known.
  void prefetch() const;
  void begin();  ///< the next symbol is the present one
  void ask(BitPath path, int depth, std::uint16_t* counters);
  /// Of the contexts asked last that stand in a run, `cells` become `first` + 2 occurrences + the bit expected.
  void tell_runs(const std::uint16_t* counters, int depth, std::uint16_t first, std::uint16_t* cells) const;
  /// What the counters asked last have become.
  void learn(BitPath path, int depth, int bit, const std::uint16_t* next);
  void finish(Symbol symbol);  ///< before the contexts of the next one are set

  /// The history of so many bits alike; 0 of none.
  static std::uint16_t alike(std::uint32_t seen, int bit) {
    const std::uint32_t one = 1U << seen;
    return static_cast<std::uint16_t>(seen == 0 ? 0 : bit != 0 ? 2 * one - 1 : one);
  }

 private:
  HistoryRows(std::size_t contexts, HistoryTable table, int symbol_bits, bool runs);
  static constexpr std::uint32_t kMostSeen = 7;  // as long as histories are exact
  static constexpr std::uint16_t kRun = 0x4000, kRunMask = 0xC000;
  static bool is_run(const HistoryRow& row) { return (row.counter[0] & kRunMask) == kRun; }
  /// Of the row of a context in the half of a symbol that begins with `prefix`.
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
  void leave_run(std::size_t context, int depth);
  void write_down(std::size_t context, bool in_first);

  HistoryTable table_;
  std::size_t contexts_, lanes_;
  int bits_, first_bits_;  // of a symbol; of its first half
  bool runs_;
  const HistoryRow *first_runs_, *second_runs_;                  // rows that runs stand for
  std::array<std::uint64_t, kMost> hashes_{}, next_{}, keys_{};  // of the contexts; of their rows in the present half
  std::array<HistoryRow*, kMost> rows_{};                        // `nothing_`: to be made when something is taught
  // 0xFFFF in a run or new; if so, the symbol, and how often: 0 of what is new.
  Counters running_{}, expected_{}, seen_{};
  std::array<HistoryRow, kMost> first_{}, second_{};  // what runs say, and what they become
  struct Left {
    std::uint8_t context;
    bool in_first;  // in the first half of the symbol
  };
  std::array<Left, kMost> left_{};  // the runs that ended with this symbol
  std::size_t left_count_ = 0;
  HistoryRow nothing_;
  std::array<HistoryRow, HistoryTable::kLine> no_line_{};
  BitPath half_ = 0;                      // prefix of the present half; 0: none yet
  bool taught_ = false, learnt_ = false;  // in this half; of this symbol
  std::size_t node_ = 0;                  // within the half
};

}  // namespace unfold
