#pragma once
/// A model as one file of C99 that needs nothing but the C library: weights, state, step. Log-probabilities have the
/// bits of the library's (models/language_model.h, RecurrentPredictor) wherever float and double are those of IEEE 754:
/// the file follows the plan, its order of sums and its functions (docs/export.md).

#include <functional>
#include <string>
#include <string_view>

namespace unfold {

struct ExportCRequest {
  std::string model;           ///< run folder or model file
  std::string name = "model";  ///< what its names begin with: an identifier
};
/// Calls write(text) piece by piece. Throws ModelError; UsageError for a name that is none in C, and for a model that
/// cannot be written so, naming what in it cannot.
void export_c(const ExportCRequest& request, const std::function<void(std::string_view)>& write);

}  // namespace unfold
