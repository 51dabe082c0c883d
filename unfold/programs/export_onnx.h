#pragma once
/// A network that predicts the next symbol as an ONNX graph, of operations that every runtime has (opset 17), over a
/// batch of sequences of any lengths, with its state as inputs and outputs (docs/export.md).

#include <functional>
#include <string>
#include <string_view>

namespace unfold {

/// Calls write(bytes). `model`: run folder or model file. Throws ModelError; UsageError for a model that cannot be
/// written so, naming what in it cannot.
void export_onnx(const std::string& model, const std::function<void(std::string_view)>& write);

}  // namespace unfold
