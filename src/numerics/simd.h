#pragma once
/// Selection of the instruction set of the kernels. It is chosen once at startup by the features of the processor;
/// UNFOLD_SIMD=avx2 (or sse2, avx512, neon) in the environment lowers it. The choice affects only the speed, never the
/// results.

#include <string>
#include <string_view>
#include <vector>

namespace unfold {

std::string simd_name();                    ///< "AVX-512", "AVX2", "NEON", "SSE2"
std::vector<std::string> simd_available();  ///< best first, in the spelling of UNFOLD_SIMD
void simd_limit(
    std::string_view name);  ///< limits the instruction set; throws UsageError if the name is unknown or unavailable

}  // namespace unfold
