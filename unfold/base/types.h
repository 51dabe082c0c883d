#pragma once
/// The scalar vocabulary of the whole project.

#include <cstddef>
#include <cstdint>

namespace unfold {

/// Sizes, offsets and row numbers. Signed, so that differences and descending loops are ordinary.
using Index = std::int64_t;

/// An index or size as the containers of the standard library want it.
inline constexpr std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// One symbol of an alphabet, numbered from 0. `kNoSymbol` stands where there is none (before the first one).
using Symbol = std::int32_t;
inline constexpr Symbol kNoSymbol = -1;

/// A half-open range [begin, end).
struct Range {
  Index begin = 0, end = 0;
  Index size() const { return end - begin; }
  bool empty() const { return end <= begin; }
};

}  // namespace unfold
