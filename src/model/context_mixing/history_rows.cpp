#include "model/context_mixing/history_rows.h"

#include <algorithm>
#include <utility>

#include "model/context_mixing/simd.h"

namespace unfold {
namespace {

/// The counters of half a symbol that a run implies, by the number of occurrences and by the half.
class RunRows {
 public:
  static const HistoryRow* of_bits(int bits) {
    static const std::array<RunRows, 5> all = {RunRows(0), RunRows(1), RunRows(2), RunRows(3), RunRows(4)};
    return all.at(static_cast<std::size_t>(bits)).rows_.data();
  }

 private:
  explicit RunRows(int bits) {
    for (std::uint32_t seen = 0; seen < 8; ++seen)
      for (std::uint32_t half = 0; half < 1U << bits; ++half) {
        std::size_t node = 0;
        for (int depth = 0; depth < bits; ++depth) {
          const int bit = static_cast<int>(half >> (bits - 1 - depth) & 1);
          rows_.at(seen << 4 | half).counter.at(node) = HistoryRows::alike(seen, bit);
          node = 2 * node + 1 + static_cast<std::size_t>(bit);
        }
      }
  }
  std::array<HistoryRow, std::size_t{8} * 16> rows_{};
};

}  // namespace

HistoryRows::HistoryRows(std::size_t contexts, std::size_t bytes, int symbol_bits)
    : HistoryRows(contexts, HistoryTable(bytes), symbol_bits) {}

HistoryRows::HistoryRows(std::size_t contexts, HistoryTable table, int symbol_bits)
    : table_(std::move(table)),
      contexts_(contexts),
      lanes_((contexts + BitHistories::kSide - 1) / BitHistories::kSide * BitHistories::kSide),
      bits_(symbol_bits),
      first_bits_(std::min(symbol_bits, 4)),
      first_runs_(RunRows::of_bits(first_bits_)),
      second_runs_(RunRows::of_bits(bits_ - first_bits_)) {
  rows_.fill(&beyond_);
}

HistoryRows::HistoryRows(const HistoryRows& other)
    : HistoryRows(other.contexts_, HistoryTable(other.table_), other.bits_) {
  hashes_ = other.hashes_;  // the rows found belong to the table of the other object
  next_ = other.next_;
}

void HistoryRows::prefetch() const {
  for (std::size_t i = 0; i < contexts_; ++i) table_.prefetch(key_of(next_[i], 1));
}

void HistoryRows::begin() {
  half_ = 0;
  learnt_ = false;
  hashes_ = next_;
}

inline const HistoryRow& HistoryRows::first_of_run(std::size_t i) const {
  const std::uint32_t half = static_cast<std::uint32_t>(expected_[i]) >> (bits_ - first_bits_) & 15;
  return first_runs_[(seen_[i] << 4) | half];
}

inline const HistoryRow& HistoryRows::second_of_run(std::size_t i) const {
  const std::uint32_t half = expected_[i] & ((1U << (bits_ - first_bits_)) - 1);
  return second_runs_[(seen_[i] << 4) | half];
}

inline HistoryRow* HistoryRows::find_or_create(std::uint64_t key) {
  HistoryRow* const row = table_.find(key);
  return row != nullptr ? row : table_.create(key);
}

void HistoryRows::select_first() {
  running_set_ = missing_set_ = 0;
  for (std::size_t i = 0; i < contexts_; ++i) {  // branch-free
    keys_[i] = key_of(hashes_[i], 1);
    HistoryRow* const row = table_.find(keys_[i], &nothing_);
    const bool run = row == &nothing_ || is_run(*row);
    running_[i] = static_cast<std::uint16_t>(run ? 0xFFFF : 0);
    running_set_ |= std::uint32_t{run} << i;
    seen_[i] = static_cast<std::uint16_t>(row->counter[0] >> 8 & kMostSeen);
    expected_[i] = static_cast<std::uint16_t>(row->counter[0] & 0xFF);
    first_[i] = first_of_run(i);
    rows_[i] = run ? &first_[i] : row;
  }
}

void HistoryRows::select_second(BitPath prefix) {
  missing_set_ = 0;
  for (std::size_t i = 0; i < contexts_; ++i) {  // branch-free
    const int expected = int{seen_[i] == 0} | int{expected_prefix(i) == prefix};
    const bool runs_on = (int{running(i)} & expected) != 0;
    keys_[i] = key_of(hashes_[i], prefix);
    second_[i] = second_of_run(i);
    HistoryRow* const row =
        HistoryTable::find_in(runs_on ? no_line_.data() : table_.line(keys_[i]), keys_[i], &nothing_);
    // The hash of a second half can collide with that of the first half of a different context, whose run carries no
    // information here.
    HistoryRow* const counters = is_run(*row) ? &nothing_ : row;
    rows_[i] = runs_on ? &second_[i] : counters;
    missing_set_ |= std::uint32_t{rows_[i] == &nothing_} << i;
  }
}

/// Prefetches the rows of both possible halves, one bit before it is known which one follows.
void HistoryRows::foresee(BitPath prefix) const {
  for (std::uint32_t set = ~running_set_ & ((1U << contexts_) - 1); set != 0;) {
    const std::size_t i = take_first(set);
    table_.prefetch(key_of(hashes_[i], 2 * prefix));
    table_.prefetch(key_of(hashes_[i], 2 * prefix + 1));
  }
}

/// Makes the rows writable: counts their use and creates missing rows.
void HistoryRows::own_rows() {
  taught_ = true;
  if (node_ == 0)
    for (std::size_t i = 0; i < contexts_; ++i) HistoryTable::use(*rows_[i]);
  while (missing_set_ != 0) {
    const std::size_t i = take_first(missing_set_);
    rows_[i] = table_.create(keys_[i]);
  }
}

/// Handles a different symbol in a run: its counters are updated outside the table, and memory for them is prefetched.
void HistoryRows::end_run(std::size_t context, int depth) {
  running_[context] = 0;
  running_set_ &= ~(1U << context);
  left_.at(left_count_++) = {static_cast<std::uint8_t>(context), depth < first_bits_};
  if (bits_ > first_bits_) table_.prefetch(key_of(hashes_[context], expected_prefix(context)));
}

void HistoryRows::end_these_runs(std::size_t i, const Eight& ended, int depth) {
  for (std::size_t k = 0; k < ended.size(); ++k)
    if (ended[k] != 0) end_run(i + k, depth);
}

/// Converts a run to ordinary rows. `in_first`: the run ended in the first half, so the second half of the expected
/// symbol was not observed.
void HistoryRows::expand_run(std::size_t context, bool in_first) {
  HistoryRow* const first = find_or_create(key_of(hashes_[context], 1));
  first->counter = first_[context].counter;
  HistoryTable::use(*first);
  if (bits_ == first_bits_) return;
  const std::uint64_t key = key_of(hashes_[context], expected_prefix(context));
  HistoryRow* const second = find_or_create(key);
  if (!in_first)
    second->counter = second_[context].counter;
  else if (second->counter[0] == 0 || is_run(*second))
    second->counter = second_of_run(context).counter;
}

void HistoryRows::finish(Symbol symbol) {
  if (!learnt_) return;
  for (std::size_t i = 0; i < left_count_; ++i) expand_run(left_[i].context, left_[i].in_first);
  left_count_ = 0;
  for (std::uint32_t set = running_set_; set != 0;) {
    const std::size_t i = take_first(set);
    if (seen_[i] == kMostSeen) {
      if (half_ == 1) second_[i] = second_of_run(i);  // the second half of its symbol was certain
      expand_run(i, false);
      continue;
    }
    HistoryRow* const row = find_or_create(key_of(hashes_[i], 1));
    HistoryTable::use(*row);
    row->counter[0] = static_cast<std::uint16_t>(kRun | (seen_[i] + 1) << 8 | symbol);
  }
}

}  // namespace unfold
