#pragma once
/// The error about a column that an option names and the table does not have.

#include <string>
#include <string_view>
#include <vector>

namespace unfold {

/// Throws a UsageError that begins with `option`, lists the columns and suggests the nearest one if there is no column
/// with this name.
void require_column(std::string_view option, const std::string& column, const std::vector<std::string>& names);

}  // namespace unfold
