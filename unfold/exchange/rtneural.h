#pragma once
/// RTNeural's JSON (https://github.com/jatinchowdhury18/RTNeural): layers with weights in Keras' layout. Internal to
/// exchange/.

#include <string>

#include "unfold/exchange/stack_weights.h"

namespace unfold {

/// Throws UsageError: both directions, an RNN, a GRU with reset_after=False, of which RTNeural has none.
std::string rtneural_json(const StackWeights& stack);

}  // namespace unfold
