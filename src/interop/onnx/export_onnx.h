#pragma once
/// Export of a network as an ONNX graph of widely supported operators (opset 17). The graph processes a batch of
/// sequences of different lengths and has the states as inputs and outputs (docs/export.md).

#include <functional>
#include <string>
#include <string_view>

namespace unfold {

/// Writes the file by calling write(bytes). `model` is a run folder or a model file. Throws ModelError; a UsageError
/// that names the unsupported part of a model that cannot be exported.
void export_onnx(const std::string& model, const std::function<void(std::string_view)>& write);

}  // namespace unfold
