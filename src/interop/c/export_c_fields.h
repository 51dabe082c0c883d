#pragma once
/// Export of networks that read numbers as a C file (export_c.h). The step standardizes its inputs and converts its
/// outputs back to units of the data. Internal to interop/.

#include <functional>
#include <string_view>

#include "interop/c/export_c.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Throws a UsageError that names the unsupported part of the model.
template <class T>
void export_c_fields(const NetworkModel<T>& model, const ExportCRequest& request,
                     const std::function<void(std::string_view)>& write);

}  // namespace unfold
