#include "unfold/mixing/history_rows.h"

#include <algorithm>

namespace unfold {

HistoryRows::HistoryRows(std::size_t contexts, std::size_t bytes, int symbol_bits, bool runs)
    : table_(bytes), contexts_(contexts), bits_(symbol_bits), first_bits_(std::min(symbol_bits, 4)), runs_(runs) {}

HistoryRows::HistoryRows(const HistoryRows& other)
    : table_(other.table_),
      contexts_(other.contexts_),
      bits_(other.bits_),
      first_bits_(other.first_bits_),
      runs_(other.runs_),
      hashes_(other.hashes_) {}  // the rows found belong to the other's table

void HistoryRows::begin() {
  half_ = 0;
  learnt_ = false;
  for (std::size_t i = 0; i < contexts_; ++i) table_.prefetch(key_of(i, 1));
}

/// Of the row of a context in the half of a symbol that begins with `prefix`.
std::uint64_t HistoryRows::key_of(std::size_t context, BitPath prefix) const {
  const std::uint64_t k = (hashes_[context] ^ prefix * 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
  return k ^ k >> 32;
}

/// The counters of the expected symbol's bits [begin, end), which are a half.
void HistoryRows::fill(HistoryRow& row, std::size_t context, int begin, int end) const {
  row.counter.fill(0);
  std::size_t node = 0;
  for (int depth = begin; depth < end; ++depth) {
    const int bit = expected_bit(context, depth);
    row.counter[node] = alike(seen_[context], bit);
    node = 2 * node + 1 + static_cast<std::size_t>(bit);
  }
}

/// A row that holds no run: the hash of a second half may be that of the first half of another context.
HistoryRow* HistoryRows::find_counters(std::uint64_t key) const {
  HistoryRow* const row = table_.find(key);
  return row != nullptr && is_run(*row) ? nullptr : row;
}

HistoryRow* HistoryRows::find_or_create(std::uint64_t key) {
  HistoryRow* const row = table_.find(key);
  return row != nullptr ? row : table_.create(key);
}

void HistoryRows::select_first() {
  for (std::size_t i = 0; i < contexts_; ++i) {
    keys_[i] = key_of(i, 1);
    HistoryRow* const row = own_[i] = table_.find(keys_[i]);
    rows_[i] = row != nullptr ? row : &nothing_;
    running_[i] = runs_ && (row == nullptr || is_run(*row)) ? 0xFFFF : 0;
    if (!running(i)) continue;
    seen_[i] = static_cast<std::uint16_t>(row != nullptr ? row->counter[0] >> 8 & kMostSeen : 0);
    expected_[i] = static_cast<std::uint16_t>(row != nullptr ? row->counter[0] & 0xFF : 0);
    fill(first_[i], i, 0, first_bits_);
    rows_[i] = own_[i] = &first_[i];
  }
}

void HistoryRows::select_second(BitPath prefix) {
  for (std::size_t i = 0; i < contexts_; ++i) {
    if (!running(i)) {
      keys_[i] = key_of(i, prefix);
      table_.prefetch(keys_[i]);
    }
  }
  for (std::size_t i = 0; i < contexts_; ++i) {
    if (running(i) && (seen_[i] == 0 || expected_prefix(i) == prefix)) {
      fill(second_[i], i, first_bits_, bits_);
      rows_[i] = own_[i] = &second_[i];
      continue;
    }
    if (running(i)) keys_[i] = key_of(i, prefix);  // asked, but not what follows: learning would have ended the run
    own_[i] = find_counters(keys_[i]);
    rows_[i] = own_[i] != nullptr ? own_[i] : &nothing_;
  }
}

void HistoryRows::ask(BitPath path, int depth, std::uint16_t* counters) {
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
  for (std::size_t i = 0; i < contexts_; ++i) counters[i] = rows_[i]->counter[node_];
}

void HistoryRows::tell_runs(const std::uint16_t* counters, int depth, std::uint16_t first, std::uint16_t* cells) const {
  const auto at = static_cast<std::uint16_t>(1 << (bits_ - 1 - depth));
  for (std::size_t i = 0; i < kMost; ++i) {  // without a branch
    const std::uint16_t one = (expected_[i] & at) == at ? 1 : 0;
    const auto cell = static_cast<std::uint16_t>(first + 2 * seen_[i] + one);
    const std::uint16_t told = counters[i] != 0 ? running_[i] : 0;
    cells[i] = static_cast<std::uint16_t>((cell & told) | (cells[i] & ~told));
  }
}

/// Asks for the rows of both halves that may follow, a bit before it is known which it is.
void HistoryRows::foresee(BitPath prefix) const {
  for (std::size_t i = 0; i < contexts_; ++i) {
    if (running(i)) continue;
    table_.prefetch(key_of(i, 2 * prefix));
    table_.prefetch(key_of(i, 2 * prefix + 1));
  }
}

/// What is read is written to from now on.
void HistoryRows::own_rows() {
  taught_ = true;
  for (std::size_t i = 0; i < contexts_; ++i)
    if (!running(i) && own_[i] != nullptr && node_ == 0) HistoryTable::use(*own_[i]);
  for (std::size_t i = 0; i < contexts_; ++i) {
    if (own_[i] == nullptr) own_[i] = table_.create(keys_[i]);
    rows_[i] = own_[i];
  }
}

void HistoryRows::learn(BitPath path, int depth, int bit, const std::uint16_t* next) {
  if (depth == 2) foresee(2 * path + static_cast<BitPath>(bit));
  learnt_ = true;
  if (!taught_) own_rows();
  for (std::size_t i = 0; i < contexts_; ++i) own_[i]->counter[node_] = next[i];
  if (!runs_) return;
  const auto at = static_cast<std::uint16_t>(1 << (bits_ - 1 - depth)), as_learnt = bit != 0 ? at : std::uint16_t{0};
  Counters unlike;
  std::uint16_t any = 0;
  for (std::size_t i = 0; i < kMost; ++i) {  // without a branch: mostly there is none
    const std::uint16_t known = seen_[i] != 0 ? running_[i] : 0;
    unlike[i] = (expected_[i] & at) == as_learnt ? 0 : known;
    any = static_cast<std::uint16_t>(any | unlike[i]);
  }
  if (any == 0) return;
  for (std::size_t i = 0; i < contexts_; ++i)
    if (unlike[i] != 0) leave_run(i, depth);
}

/// Another symbol comes: what is learnt of it goes on beside the table, and its memory is asked for.
void HistoryRows::leave_run(std::size_t context, int depth) {
  running_[context] = 0;
  left_.at(left_count_++) = {static_cast<std::uint8_t>(context), depth < first_bits_};
  if (bits_ > first_bits_) table_.prefetch(key_of(context, expected_prefix(context)));
}

/// Writes down as ordinary rows what was a run. `in_first`: it ended in the first half, so that nothing was learnt of
/// the second half of the symbol that was expected.
void HistoryRows::write_down(std::size_t context, bool in_first) {
  HistoryRow* const first = find_or_create(key_of(context, 1));
  first->counter = first_[context].counter;
  HistoryTable::use(*first);
  if (bits_ == first_bits_) return;
  const std::uint64_t key = key_of(context, expected_prefix(context));
  HistoryRow* const second = find_or_create(key);
  if (!in_first)
    second->counter = second_[context].counter;
  else if (second->counter[0] == 0 || is_run(*second))
    fill(*second, context, first_bits_, bits_);
}

void HistoryRows::finish(Symbol symbol) {
  if (!runs_ || !learnt_) return;
  for (std::size_t i = 0; i < left_count_; ++i) write_down(left_[i].context, left_[i].in_first);
  left_count_ = 0;
  for (std::size_t i = 0; i < contexts_; ++i) {
    if (!running(i)) continue;
    if (seen_[i] == kMostSeen) {
      if (half_ == 1) fill(second_[i], i, first_bits_, bits_);  // its second half was certain
      write_down(i, false);
      continue;
    }
    HistoryRow* const row = find_or_create(key_of(i, 1));
    HistoryTable::use(*row);
    row->counter[0] = static_cast<std::uint16_t>(kRun | (seen_[i] + 1) << 8 | symbol);
  }
}

}  // namespace unfold
