#pragma once
/// What the command uses when the user says nothing: the settings with the best result on ordinary text within minutes
/// on a small machine (docs/performance.md). Change them here and nowhere else.

#include "unfold/numerics/types.h"

namespace unfold {

inline constexpr const char* kDefaultModel = "lstm:512";
inline constexpr const char* kDefaultOptimizer = "adam:rate=0.002,clip=1,schedule=cosine,warmup=100";
inline constexpr Index kDefaultWindow = 64;
inline constexpr Index kDefaultBatch = 32;
inline constexpr double kDefaultEpochs = 10;  ///< when no budget is given

}  // namespace unfold
