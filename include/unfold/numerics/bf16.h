#pragma once
/// Mixed-precision products: bfloat16 operands with float accumulation. Used only if the caller selects this precision.
///
/// The arithmetic is the same as in product.h, with both operands rounded to bfloat16 (8 bits of significand, to
/// nearest, ties to even, numbers below 2^-126 to zero):
///   c = start;  for k: c = fma(bf16(a[m][k]), bf16(b[k][n]), c).
/// The product of two bfloat16 numbers is exact in float, so each step rounds once. The order of evaluation is the same
/// as in product.h: the tile, the number of threads and the number of rows do not change a single bit. A sum below
/// 2^-126 counts as zero, and processors may differ in the last bit of sums near this limit.
///
/// Weights are packed in bfloat16 and activations are rounded on input; everything except products stays in float.

#include <bit>
#include <cstdint>

#include "unfold/numerics/product.h"

namespace unfold {

/// Implementation of bfloat16 products: AVX-512-BF16, or slower ordinary instructions with bit-identical results
/// (UNFOLD_BF16=emulate in the environment, for tests). `none`: not supported, or disabled with UNFOLD_BF16=off.
enum class Bf16Unit { none, emulated, avx512 };
bool processor_has_bf16();
Bf16Unit bf16_unit();
/// Returns the display name: "AVX-512-BF16", "emulated bfloat16" or "none".
const char* bf16_unit_name();
/// Returns `wanted` if bf16 products are supported, otherwise exact.
inline Precision available(Precision wanted) { return bf16_unit() == Bf16Unit::none ? Precision::exact : wanted; }

/// Returns the upper half of the float bf16(x).
inline std::uint32_t to_bf16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), size = bits & 0x7fffffff;
  const std::uint32_t rounded = size < 0x00800000 ? bits & 0x80000000 : bits + 0x7fff + ((bits >> 16) & 1);
  return (size > 0x7f800000 ? bits | 0x00400000 : rounded) >> 16;
}
inline float from_bf16(std::uint32_t upper) { return std::bit_cast<float>(upper << 16); }

/// Packs two elements that are adjacent along k. `first` is in the upper half, which the processor adds first.
inline std::uint32_t bf16_pair(float first, float second) { return to_bf16(first) << 16 | to_bf16(second); }

/// Like the functions of product.h, for `b` packed in bf16 and for `Precision::bf16`. REQUIRES: bf16_unit() !=
/// Bf16Unit::none.
void multiply_bf16(Matrix<const float> a, const PackedMatrix<float>& b, Matrix<float> c, const Panels& panels,
                   Start start, const float* bias);
void accumulate_outer_bf16(Matrix<const float> a, Matrix<const float> d, Matrix<float> g, Range k_range, Start start);

}  // namespace unfold
