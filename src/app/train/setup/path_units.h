#pragma once
/// Requirements of path-normalized optimizers, checked before anything is written.

#include <string_view>

#include "unfold/graph/circuit/circuit.h"
#include "unfold/model/network/spec.h"

namespace unfold {

/// Throws UsageError naming the units that prevent it if the optimizer is `path`, `path+momentum` or `path+adam` and
/// sums over paths do not describe the circuit; other optimizers accept any circuit.
void require_path_units(const Circuit& circuit, const ModelSpec& model, std::string_view optimizer);

}  // namespace unfold
