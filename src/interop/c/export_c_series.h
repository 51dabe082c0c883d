#pragma once
/// Export of random kernels with a fitted readout as a C file (export_c.h): one function that reads a whole series.
/// Internal to interop/.

#include <functional>
#include <string_view>

#include "interop/c/export_c.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns whether the features of a model are random kernels.
template <class T>
bool reads_whole_series(const NetworkModel<T>& model);

/// Throws a UsageError that names the unsupported part of the model. REQUIRES reads_whole_series(model).
template <class T>
void export_c_series(const NetworkModel<T>& model, const ExportCRequest& request,
                     const std::function<void(std::string_view)>& write);

}  // namespace unfold
