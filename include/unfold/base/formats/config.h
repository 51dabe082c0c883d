#pragma once
/// Configuration files: a flat subset of TOML, `key = value` with strings, integers, floats, booleans and lists of
/// strings. Tables, dates and nested lists are errors.
///
///   const Config config = read_config("run/config.toml");
///   if (const ConfigEntry* entry = config.find("batch")) use(entry->value);

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
  Index line = 0;  ///< line in the file, from 1; 0 if the entry does not come from a file
};

/// Entries in file order; keys are unique.
class Config {
 public:
  const std::vector<ConfigEntry>& entries() const { return entries_; }
  const ConfigEntry* find(std::string_view key) const;           ///< nullptr if the key is missing
  void set(std::string key, ConfigValue value, Index line = 0);  ///< replaces the entry, or appends it

 private:
  std::vector<ConfigEntry> entries_;
};

/// Parses a configuration. Throws UsageError "FILE:LINE: ..." for anything outside the subset.
Config parse_config(std::string_view text, const std::string& filename);
/// Reads and parses a file. Throws DataError if the file cannot be read, and UsageError like parse_config.
Config read_config(const std::string& path);

/// Formats a configuration as text from which parse_config restores an equal configuration. Throws UsageError for
/// strings that are not valid UTF-8.
std::string write_config(const Config& config);

/// Formats a value as on the command line: strings verbatim, numbers in their shortest exact form, lists joined by
/// commas.
std::string to_string(const ConfigValue& value);

}  // namespace unfold
