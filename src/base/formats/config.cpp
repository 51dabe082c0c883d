#include "unfold/base/formats/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/formats/toml.h"
#include "base/utf8.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

std::vector<std::string> list_of_strings(const TomlList& list, const std::string& filename, Index line) {
  std::vector<std::string> strings;
  strings.reserve(list.size());
  for (const TomlValue& item : list) {
    const auto* text = std::get_if<std::string>(&item.value);
    if (text == nullptr)
      throw_toml_error(filename, line, "a list contains a value that is not a string; write the value in quotes");
    strings.push_back(*text);
  }
  return strings;
}

ConfigValue value_of(const TomlMember& member, const std::string& filename) {
  const auto& value = member.value.value;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<Index>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* list = std::get_if<TomlList>(&value)) return list_of_strings(*list, filename, member.line);
  if (std::holds_alternative<TomlTable>(value))
    throw_toml_error(
        filename, member.line,
        fmt::format("\"{}\" is a table or a dotted key; only plain `key = value` lines are supported", member.key));
  throw_toml_error(filename, member.line, fmt::format("\"{}\" is a date or time; write it as a string", member.key));
}

}  // namespace

const ConfigEntry* Config::find(std::string_view key) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

void Config::set(std::string key, ConfigValue value, Index line) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.key == key; });
  if (found == entries_.end()) {
    entries_.push_back({std::move(key), std::move(value), line});
  } else {
    *found = {std::move(key), std::move(value), line};
  }
}

Config parse_config(std::string_view text, const std::string& filename) {
  Config config;
  for (const TomlMember& member : parse_toml(text, filename))
    config.set(member.key, value_of(member, filename), member.line);
  return config;
}

Config read_config(const std::string& path) { return parse_config(read_file(path), path); }

namespace {

std::string toml_string(std::string_view text) {
  if (find_invalid_utf8(text) >= 0) throw UsageError("a configuration can contain only text that is valid UTF-8");
  std::string out = "\"";
  for (const char c : text) {
    const std::uint8_t byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

/// Returns the shortest decimal representation that reads back to the same value.
std::string decimal(double value) {
  std::string out = fmt::format("{}", value);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

struct ToToml {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(Index value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return decimal(value); }
  std::string operator()(const std::string& value) const { return toml_string(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::vector<std::string> items;
    items.reserve(values.size());
    for (const std::string& value : values) items.push_back(toml_string(value));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
};

struct ToPlain : ToToml {
  using ToToml::operator();
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::string>& values) const {
    return fmt::format("{}", fmt::join(values, ","));
  }
};

}  // namespace

std::string write_config(const Config& config) {
  std::string out;
  for (const ConfigEntry& entry : config.entries()) {
    out += is_bare_key(entry.key) ? entry.key : toml_string(entry.key);
    out += " = " + std::visit(ToToml{}, entry.value) + '\n';
  }
  return out;
}

std::string to_string(const ConfigValue& value) { return std::visit(ToPlain{}, value); }

}  // namespace unfold
