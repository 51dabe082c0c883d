#pragma once
/// Counts distinct values in bounded memory: exactly up to a bound, and by adaptive sampling above it (Flajolet, "On
/// adaptive sampling", Computing 43, 1990). The estimate does not depend on the order of the values; its relative
/// standard error is about 1.2 / sqrt(bound), 2 % for a bound of 4096.

#include <cstdint>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// A 64-bit hash of the bytes that is the same on every little-endian machine.
std::uint64_t hash_of_cell(std::string_view text);
/// A hash of two hashes, which depends on their order.
std::uint64_t hash_of_pair(std::uint64_t first, std::uint64_t second);

class DistinctCount {
 public:
  explicit DistinctCount(Index bound) : bound_(bound) {}

  /// Returns whether the value is new in the sample. A value with a hash of 0 is counted as one with a hash of 1.
  bool add(std::uint64_t hash) {
    if (hash > limit_) return false;
    return insert(hash == 0 ? 1 : hash);
  }
  bool exact() const { return limit_ == ~std::uint64_t{0}; }
  Index count() const;
  /// Number of values that were in the sample when they were added again; 0: no value of the sample occurred twice.
  Index repeats() const { return repeats_; }

 private:
  bool insert(std::uint64_t hash);
  void rebuild(std::size_t slots);

  Index bound_, size_ = 0, repeats_ = 0;
  int depth_ = 0;                            ///< the sample consists of the hashes whose highest `depth_` bits are zero
  std::uint64_t limit_ = ~std::uint64_t{0};  ///< the largest hash in the sample
  std::vector<std::uint64_t> slots_;         ///< open addressing with linear probing; 0 is free
};

}  // namespace unfold
