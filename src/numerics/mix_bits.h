#pragma once
/// A bijection of 64-bit words in which every input bit affects all output bits: the finalizer of SplitMix64 (Steele,
/// Lea & Flood 2014).

#include <cstdint>

namespace unfold {

inline std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace unfold
