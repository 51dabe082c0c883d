#pragma once
/// Counter-based random numbers (Philox 4x32-10; Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
/// 2, 3", SC 2011). The n-th number of a stream is a function of (seed, stream, n), so any thread can generate any
/// part, and a checkpoint stores only a seed and a counter. The numbers are bit-identical on every machine, because
/// conversions use functions of this project instead of the C library.

#include <array>
#include <cstdint>
#include <string_view>

#include "unfold/base/views.h"

namespace unfold {

/// Philox 4x32-10 as published: four words from a 128-bit counter and a 64-bit key, low words first.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// Returns the four 32-bit words of counter `n` in stream (seed, stream): key = seed, counter = (n, stream), low words
/// first.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t n);

/// Returns a 64-bit hash of a name, for streams that are named after their use ("layer1/z/W"). The hash never changes:
/// FNV-1a, followed by the finalizer of SplitMix64.
std::uint64_t stream_of(std::string_view name);

/// Sequential reader of one stream. Copyable; its whole state is (seed, stream, position).
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  Random(std::uint64_t seed, std::string_view name) : Random(seed, stream_of(name)) {}

  std::uint32_t bits32();
  std::uint64_t bits64();                ///< two words, the low one first
  double uniform();                      ///< [0, 1), 53 bits
  double uniform(double lo, double hi);  ///< lo + (hi - lo) u; equal to `hi` only by rounding
  double normal();                       ///< standard normal by inversion of a 52-bit uniform: |z| < 8.21
  std::uint64_t below(std::uint64_t n);  ///< uniform on 0..n-1 for n >= 1, unbiased (Lemire 2019)

  std::uint64_t position() const { return position_; }  ///< number of 32-bit words consumed
  void seek(std::uint64_t position) { position_ = position; }

 private:
  std::uint64_t seed_, stream_, position_ = 0;
  std::uint64_t cached_ = ~std::uint64_t{0};  ///< counter of the words in block_
  std::array<std::uint32_t, 4> block_{};
};

/// Returns the quantile of the standard normal distribution at p in (0, 1), by Wichura's PPND16 (algorithm AS 241,
/// Applied Statistics 37, 1988); relative error about 1e-16 before rounding.
double normal_quantile(double p);

/// Sets m[r][c] to -1 or 1 with equal probability, independently: a function of (seed, stream, first_row + r, c) and
/// m.cols.
template <class T>
void fill_signs(std::uint64_t seed, std::uint64_t stream, Index first_row, Matrix<T> m);

}  // namespace unfold
