#pragma once
/// The cells that are in every program: those listed in registry.def, without cells registered at run time.

#include <string_view>

namespace unfold {

bool is_built_in_cell(std::string_view name);

}  // namespace unfold
