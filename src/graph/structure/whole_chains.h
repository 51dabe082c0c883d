#pragma once
/// In a list of block sides (Structure::grids, ExampleBatchOptions::patches), the side of a block that covers a whole
/// chain: the structure then has one position per chain, whose source is the chain.

#include "unfold/base/types.h"

namespace unfold {

inline constexpr Index kWholeChains = 0;

}  // namespace unfold
