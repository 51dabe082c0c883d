#pragma once
/// A hash table of rows of bit counters (byte_mixing.h) in a given number of bytes. A row holds the 15 counters of half
/// a symbol in one context and is a cache line. What finding needs (part of the hash, how often a row was used) stands
/// apart, 16 bytes for four rows: a context that is not there costs one line, not four.

#include <array>
#include <cstdint>
#include <memory>

namespace unfold {

/// The counters: an estimate of P(1) in units of 2^-16, how many bits were seen, and the last (up to seven) of them
/// after a leading one.
struct CounterRow {
  std::array<std::uint16_t, 15> estimate;
  std::array<std::uint8_t, 15> count;
  std::array<std::uint8_t, 15> past;
  std::array<std::uint8_t, 4> spare;
  void clear();
};
static_assert(sizeof(CounterRow) == 64, "a row is a cache line");

class RowTable {
 public:
  explicit RowTable(std::size_t bytes);  ///< as many rows as fit, four at least
  RowTable(const RowTable& other);
  RowTable(RowTable&&) noexcept = default;
  RowTable& operator=(const RowTable&) = delete;
  RowTable& operator=(RowTable&&) = delete;
  ~RowTable() = default;

  /// Before `find`, so that memory is asked for many rows at once.
  void prefetch(std::uint64_t key) const { __builtin_prefetch(&marks_[first(key)]); }
  /// The number of the row; kNone: there is none. Asks for its memory.
  std::uint32_t find(std::uint64_t key) const;
  /// A cleared row in the place of the least used one of four.
  std::uint32_t create(std::uint64_t key);
  CounterRow& row(std::uint32_t number) { return rows_[number]; }
  void used(std::uint32_t number) {
    if ((marks_[number] & kMostUses) != kMostUses) ++marks_[number];
  }

  static constexpr std::uint32_t kNone = ~0U;

 private:
  static constexpr std::uint32_t kBucket = 4, kUseBits = 8, kMostUses = (1U << kUseBits) - 1;
  std::uint32_t first(std::uint64_t key) const {
    return static_cast<std::uint32_t>((key & 0xFFFFFFFF) * buckets_ >> 32) * kBucket;
  }
  /// The row of a bucket that is free or was used least.
  std::uint32_t least_used(std::uint32_t begin) const;
  /// Part of the hash, never 0: 0 marks a free row.
  static std::uint32_t check(std::uint64_t key) {
    return static_cast<std::uint32_t>(key >> (32 + kUseBits)) | 1U << (31 - kUseBits);
  }

  struct Free {
    void operator()(void* memory) const;
  };
  template <class T>
  using Lines = std::unique_ptr<T[], Free>;
  template <class T>
  static Lines<T> allocate(std::size_t count);

  std::uint64_t buckets_;
  Lines<CounterRow> rows_;
  Lines<std::uint32_t> marks_;  // check above uses
};

}  // namespace unfold
