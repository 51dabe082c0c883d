#pragma once
/// TOML documents with the line of every value. The TOML library takes seconds to compile, so only toml.cpp includes
/// it.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct TomlValue;
struct TomlMember;
struct TomlDate {};  ///< a date or a time
using TomlList = std::vector<TomlValue>;
using TomlTable = std::vector<TomlMember>;  ///< in file order

struct TomlValue {
  std::variant<bool, Index, double, std::string, TomlDate, TomlList, TomlTable> value;
  Index line = 0;  ///< from 1
};

struct TomlMember {
  std::string key;
  TomlValue value;
  Index line = 0;  ///< line of the key
};

/// Throws UsageError "FILE:LINE: WHAT".
[[noreturn]] void throw_toml_error(const std::string& filename, Index line, std::string_view what);

/// Parses a document of at most 1 MiB. Throws UsageError "FILE:LINE: ...".
TomlTable parse_toml(std::string_view text, const std::string& filename);

}  // namespace unfold
