#pragma once
/// The contexts of the fast PPM model and their symbols, in compact form. Internal to packed_ppm.cpp.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/storage/growing_array.h"

namespace unfold {

inline constexpr std::uint32_t kNowhere = ~0U;
inline constexpr std::uint32_t kIsContext = 1U << 31;

/// The successor of a context. 0: unknown; kIsContext | index: a context; any other value: 1 + a position in the
/// history.
using Following = std::uint32_t;

struct PackedEntry {
  std::uint8_t symbol = 0, spare = 0;
  std::uint16_t count = 0;
  Following following = 0;
};

static_assert(sizeof(PackedEntry) == 8);

/// A context. With several symbols, it contains their number (`size`), the `total` of their counts, and the index of
/// their block. With a single symbol, it contains kSingle and the symbol, its count, and its successor.
struct PackedContext {
  static constexpr std::uint16_t kSingle = 1 << 15;
  std::uint16_t head = 0, total = 0;
  std::uint32_t block = 0;
  std::uint32_t suffix = kNowhere;
  bool single() const { return (head & kSingle) != 0; }
  std::uint32_t size() const { return single() ? 1 : head; }
  std::uint8_t symbol() const { return static_cast<std::uint8_t>(head); }
};

static_assert(sizeof(PackedContext) == 12);

inline std::uint32_t level(std::uint32_t n) {  // 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...
  if (n < 4) return n;
  const auto width = static_cast<std::uint32_t>(std::bit_width(n));
  return 2 * width - 2 + (n >> (width - 2) & 1);
}

/// Blocks of entries in one array, with 2, 3, 4, 6, 8, 12, ... 256 entries; freed blocks are reused.
class EntryBlocks {
 public:
  static std::uint32_t room(std::uint32_t size) {
    std::uint32_t room = 2;
    while (room < size) room = room % 3 == 0 ? room / 3 * 4 : room == 2 ? 3 : room / 2 * 3;
    return room;
  }
  std::uint32_t take(std::uint32_t room) {
    std::uint32_t& free = free_[slot(room)];
    if (free == kNowhere) {
      const auto begin = static_cast<std::uint32_t>(entries_.size());
      entries_.more(room);
      return begin;
    }
    const std::uint32_t begin = free;
    free = entries_[begin].following;
    return begin;
  }
  void give_back(std::uint32_t begin, std::uint32_t room) {
    entries_[begin].following = std::exchange(free_[slot(room)], begin);
  }
  PackedEntry* at(std::uint32_t begin) { return entries_.data() + begin; }
  const PackedEntry* at(std::uint32_t begin) const { return entries_.data() + begin; }
  std::size_t bytes() const { return entries_.size() * sizeof(PackedEntry); }
  void clear() {
    entries_.clear();
    free_.fill(kNowhere);
  }

 private:
  static std::size_t slot(std::uint32_t room) { return static_cast<std::size_t>(level(room)); }
  GrowingArray<PackedEntry> entries_;
  std::array<std::uint32_t, 24> free_ = [] {
    std::array<std::uint32_t, 24> none{};
    none.fill(kNowhere);
    return none;
  }();
};

}  // namespace unfold
