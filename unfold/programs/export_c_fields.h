#pragma once
/// A network that reads numbers as a C file (export_c.h): a step standardises what it reads and restores what it gives.
/// Internal to programs/.

#include <functional>
#include <string_view>

#include "unfold/models/network_model.h"
#include "unfold/programs/export_c.h"

namespace unfold {

/// Throws UsageError naming what in the model cannot be written.
template <class T>
void export_c_fields(const NetworkModel<T>& model, const ExportCRequest& request,
                     const std::function<void(std::string_view)>& write);

}  // namespace unfold
