#pragma once
/// Export to RTNeural's JSON (https://github.com/jatinchowdhury18/RTNeural): layers with weights in Keras layout.
/// Internal to interop/.

#include <string>

#include "interop/stacks/stack_weights.h"

namespace unfold {

/// Converts a stack to JSON. Throws UsageError for layers that RTNeural does not support: bidirectional layers, RNN,
/// GRU with reset_after=False.
std::string rtneural_json(const StackWeights& stack);

}  // namespace unfold
