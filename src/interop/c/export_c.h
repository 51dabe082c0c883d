#pragma once
/// Export of a model as one C99 file that depends only on the C library: weights, state and a step function. The
/// log-probabilities are bit-identical to those of the library (RecurrentPredictor in model/network/language_model.h)
/// wherever float and double are IEEE 754 types, because the file follows the plan, its order of sums and its functions
/// (docs/export.md).

#include <functional>
#include <string>
#include <string_view>

namespace unfold {

struct ExportCRequest {
  std::string model;           ///< run folder or model file
  std::string name = "model";  ///< prefix of all names in the file; a C identifier
};
/// Writes the file by calling write(text) repeatedly. Throws ModelError; UsageError for a name that is not a C
/// identifier, and for a model that cannot be exported, naming the unsupported part.
void export_c(const ExportCRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
