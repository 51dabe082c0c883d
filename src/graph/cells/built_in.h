#pragma once
/// Which cells are in every program: those of registry.def, without the registered ones.

#include <string_view>

namespace unfold {

bool is_built_in_cell(std::string_view name);

}  // namespace unfold
