#pragma once
/// A hash table of rows of bit counters (byte_mixing.h) with a given size in bytes. A row contains the 15 counters of
/// half a symbol in one context and fills a cache line. The data for look-ups (part of the hash, the use count) is
/// stored separately, 16 bytes for four rows, so that a failed look-up touches one cache line instead of four.

#include <array>
#include <cstdint>
#include <memory>

namespace unfold {

/// The counters: an estimate of P(1) in units of 2^-16, the number of bits seen, and the last ones (up to seven) after
/// a leading one.
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
  explicit RowTable(std::size_t bytes);  ///< as many rows as fit, at least four
  RowTable(const RowTable& other);
  RowTable(RowTable&&) noexcept = default;
  RowTable& operator=(const RowTable&) = delete;
  RowTable& operator=(RowTable&&) = delete;
  ~RowTable() = default;

  /// Prefetches the look-up data; call it for many keys before `find`.
  void prefetch(std::uint64_t key) const { __builtin_prefetch(&marks_[first(key)]); }
  /// Returns the index of the row, or kNone. Prefetches the row.
  std::uint32_t find(std::uint64_t key) const;
  /// Returns a cleared row that replaces the least used one of four.
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
  Lines<std::uint32_t> marks_;  // hash check above the use count
};

}  // namespace unfold
