#pragma once
/// Internal: a few numbers side by side, in the vectors that every processor has (16 bytes). Operators work element by
/// element, comparisons give all bits or none: the same bits as a loop. Loops over counters are too short and too mixed
/// for compilers to find this by themselves.

#include <cstdint>
#include <cstring>

namespace unfold {

using EightCounters = std::uint16_t __attribute__((vector_size(16)));
using FourFloats = float __attribute__((vector_size(16)));
using FourWords = std::uint32_t __attribute__((vector_size(16)));
using FourIntegers = std::int32_t __attribute__((vector_size(16)));

template <class Vector>
inline Vector load(const void* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <class Vector>
inline void store(Vector v, void* to) {
  std::memcpy(to, &v, sizeof(v));
}
/// Where `mask` has all bits `yes`, where it has none `no`.
template <class Vector, class Mask>
inline Vector choose(Mask mask, Vector yes, Vector no) {
  const auto m = reinterpret_cast<Vector>(mask);
  return (yes & m) | (no & ~m);
}
inline bool any_bit(EightCounters v) {
  std::uint64_t low = 0, high = 0;
  std::memcpy(&low, &v, 8);
  std::memcpy(&high, reinterpret_cast<const char*>(&v) + 8, 8);
  return (low | high) != 0;
}

}  // namespace unfold
