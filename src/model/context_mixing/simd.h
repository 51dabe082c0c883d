#pragma once
/// Internal: SIMD vectors of 16 bytes, which every supported processor has. Operators work element by element, and
/// comparisons set all bits of an element or none; results are bit-identical to a loop. Loops over counters are too
/// short and too irregular for automatic vectorization.

#include <array>
#include <cstdint>
#include <cstring>

/// For functions that are called for every bit: they are compiled with the instruction set of the caller.
#define UNFOLD_ALWAYS_INLINE [[gnu::always_inline]] inline

namespace unfold {

using EightCounters = std::uint16_t __attribute__((vector_size(16)));
using FourFloats = float __attribute__((vector_size(16)));
using FourWords = std::uint32_t __attribute__((vector_size(16)));
using FourIntegers = std::int32_t __attribute__((vector_size(16)));

template <class Vector>
UNFOLD_ALWAYS_INLINE Vector load(const void* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <class Vector>
UNFOLD_ALWAYS_INLINE void store(Vector v, void* to) {
  std::memcpy(to, &v, sizeof(v));
}
/// Selects elements: `yes` where all bits of `mask` are set, `no` where none is set.
template <class Vector, class Mask>
UNFOLD_ALWAYS_INLINE Vector choose(Mask mask, Vector yes, Vector no) {
  const auto m = reinterpret_cast<FourWords>(mask);
  return reinterpret_cast<Vector>((reinterpret_cast<FourWords>(yes) & m) | (reinterpret_cast<FourWords>(no) & ~m));
}
template <class Vector>
UNFOLD_ALWAYS_INLINE bool any_bit(Vector v) {
  std::array<std::uint64_t, 2> halves;
  std::memcpy(halves.data(), &v, sizeof(v));
  return (halves[0] | halves[1]) != 0;
}

}  // namespace unfold
