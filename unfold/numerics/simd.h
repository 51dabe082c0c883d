#pragma once
/// Which instruction set the kernels use. Chosen once at start by what the processor has; UNFOLD_SIMD=avx2 (or sse2,
/// avx512, neon) in the environment lowers it. The choice never changes a result, only the time.

#include <string>
#include <string_view>
#include <vector>

namespace unfold {

std::string simd_name();                    ///< "AVX-512", "AVX2", "NEON", "SSE2"
std::vector<std::string> simd_available();  ///< best first, in the spelling that UNFOLD_SIMD accepts
void simd_limit(
    std::string_view name);  ///< use nothing better than this; throws UsageError for an unknown or unavailable one

}  // namespace unfold
