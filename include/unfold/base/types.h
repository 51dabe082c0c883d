#pragma once
/// Scalar types used throughout the project.

#include <cstddef>
#include <cstdint>

namespace unfold {

/// Sizes, offsets and row numbers. Signed, so that differences and descending loops work as expected.
using Index = std::int64_t;

/// Converts an index or size to the size type of the standard library.
inline constexpr std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// A symbol of an alphabet, numbered from 0. `kNoSymbol` means that there is no symbol (before the first one, for
/// example).
using Symbol = std::int32_t;
inline constexpr Symbol kNoSymbol = -1;

/// A half-open range [begin, end).
struct Range {
  Index begin = 0, end = 0;
  Index size() const { return end - begin; }
  bool empty() const { return end <= begin; }
};

}  // namespace unfold
