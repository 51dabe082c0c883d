#pragma once
/// Arguments in commands that messages suggest.

#include <string>
#include <string_view>

namespace unfold {

/// Returns an argument as it is written in a shell: in single quotes unless it consists of letters, digits and
/// characters without a meaning for the shell.
std::string shell_argument(std::string_view text);

}  // namespace unfold
