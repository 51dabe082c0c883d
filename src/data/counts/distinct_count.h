#pragma once
/// Counts distinct values in bounded memory: exactly up to a bound, and by adaptive sampling above it (Flajolet, "On
/// adaptive sampling", Computing 43, 1990). The estimate does not depend on the order of the values; its relative
/// standard error is about 1.2 / sqrt(bound), 2 % for a bound of 4096.

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Returns a 64-bit hash of the bytes that is the same on every little-endian machine.
inline std::uint64_t hash_of_cell(std::string_view text) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  const auto load = [](const char* bytes, std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, size);
    return word;
  };
  std::uint64_t h = text.size() * kMultiplier;
  const char* bytes = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, bytes += 8) {
    h = (h ^ load(bytes, 8)) * kMultiplier;
    h ^= h >> 32;
  }
  if (left >= 4) {  // two loads that overlap
    h = (h ^ (load(bytes, 4) | load(bytes + left - 4, 4) << 32)) * kMultiplier;
  } else if (left > 0) {
    const auto byte = [&](std::size_t k) { return std::uint64_t{static_cast<unsigned char>(bytes[k])}; };
    h = (h ^ (byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16)) * kMultiplier;
  }
  h ^= h >> 33;  // the finalizer of MurmurHash3
  h *= 0xFF51AFD7ED558CCD;
  h ^= h >> 33;
  h *= 0xC4CEB9FE1A85EC53;
  return h ^ (h >> 33);
}
/// Returns a hash of two hashes, which depends on their order.
inline std::uint64_t hash_of_pair(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  std::uint64_t h = (first ^ (second << 1)) * kMultiplier;
  h ^= h >> 32;
  return h * kMultiplier;
}

class DistinctCount {
 public:
  explicit DistinctCount(Index bound) : bound_(bound) {}

  /// Returns whether the value is new in the sample. A value with a hash of 0 is counted as one with a hash of 1.
  bool add(std::uint64_t hash) {
    if (hash == 0) hash = 1;
    if (hash > limit_ && depth_ >= kRareDepth) return false;
    // Whether a value is in the sample cannot be predicted if many are. One branch decides for both kinds of values.
    const Index known = slots_.empty() ? 0 : count_near_place(hash);
    repeats_ += known;
    if (known + static_cast<Index>(hash > limit_) > 0) return false;
    return insert(hash);
  }
  /// Begins to load the place of a hash that will be added soon.
  void prefetch(std::uint64_t hash) const {
    if (hash <= limit_ && !slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  bool exact() const { return limit_ == ~std::uint64_t{0}; }
  Index count() const;
  /// Returns the number of values that were in the sample when they were added again; 0: no value of the sample
  /// occurred twice.
  Index repeats() const { return repeats_; }

 private:
  static constexpr int kRareDepth = 4;  ///< the sample then contains at most one value in 16

  /// Returns 1 if a value is in its place or in the following one, where most values of the sample are.
  Index count_near_place(std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    return static_cast<Index>(slots_[hash & mask] == hash) + static_cast<Index>(slots_[(hash + 1) & mask] == hash);
  }
  bool insert(std::uint64_t hash);
  void rebuild(std::size_t slots);

  Index bound_, size_ = 0, repeats_ = 0;
  int depth_ = 0;                            ///< the sample consists of the hashes whose highest `depth_` bits are zero
  std::uint64_t limit_ = ~std::uint64_t{0};  ///< the largest hash in the sample
  std::vector<std::uint64_t> slots_;         ///< open addressing with linear probing; 0 is free
};

}  // namespace unfold
