#pragma once
/// Configuration files: the flat part of TOML, `key = value` with strings, whole numbers, decimals, true/false and
/// lists of strings. Tables, dates and nested lists are refused.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

using ConfigValue = std::variant<bool, Index, double, std::string, std::vector<std::string>>;

struct ConfigEntry {
  std::string key;
  ConfigValue value;
  Index line = 0;  ///< in the file, from 1; 0 when it came from none
};

/// Entries in the order of the file, each key once.
class Config {
 public:
  const std::vector<ConfigEntry>& entries() const { return entries_; }
  const ConfigEntry* find(std::string_view key) const;           ///< nullptr if there is none
  void set(std::string key, ConfigValue value, Index line = 0);  ///< replaces, or appends

 private:
  std::vector<ConfigEntry> entries_;
};

/// Throws UsageError "FILE:LINE: ..." for anything that is not of the subset.
Config parse_config(std::string_view text, const std::string& filename);
/// Reads a file. Throws DataError when it cannot be read, UsageError as above.
Config read_config(const std::string& path);

/// The text that parse_config reads back to an equal configuration. Throws UsageError for text that is not valid UTF-8.
std::string write_config(const Config& config);

/// The value as one writes it on a command line: a string as it is, numbers in their shortest exact form, lists joined
/// by commas.
std::string to_string(const ConfigValue& value);

}  // namespace unfold
