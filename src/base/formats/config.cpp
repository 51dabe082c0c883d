#include "unfold/base/formats/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <sstream>

#include "base/utf8.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

constexpr std::size_t kMaxSize = std::size_t{1} << 20;

[[noreturn]] void fail(const std::string& filename, Index line, std::string_view what) {
  throw UsageError(fmt::format("{}:{}: {}", filename, line, what));
}

std::vector<std::string> list_of_strings(const toml::array& array, const std::string& filename, Index line) {
  std::vector<std::string> strings;
  for (const toml::node& element : array) {
    if (!element.is_string())
      fail(filename, line, "a list contains a value that is not a string; write the value in quotes");
    strings.push_back(element.as_string()->get());
  }
  return strings;
}

ConfigValue value_of(const toml::node& node, const std::string& key, const std::string& filename, Index line) {
  if (node.is_boolean()) return node.as_boolean()->get();
  if (node.is_integer()) return Index{node.as_integer()->get()};
  if (node.is_floating_point()) return node.as_floating_point()->get();
  if (node.is_string()) return node.as_string()->get();
  if (node.is_array()) return list_of_strings(*node.as_array(), filename, line);
  if (node.is_table()) {
    fail(filename, line,
         fmt::format("\"{}\" is a table or a dotted key; only plain `key = value` lines are supported", key));
  }
  fail(filename, line, fmt::format("\"{}\" is a date or time; write it as a string", key));
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
  if (text.size() > kMaxSize)
    fail(filename, 1, "the file is larger than 1 MiB, so it is not a configuration file; check its name");
  toml::table table;
  try {
    table = toml::parse(text, filename);
  } catch (const toml::parse_error& error) {
    fail(filename, static_cast<Index>(error.source().begin.line), error.description());
  }
  std::vector<std::pair<toml::source_position, const toml::key*>> order;
  for (const auto& [key, node] : table) order.emplace_back(key.source().begin, &key);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Config config;
  for (const auto& [position, key] : order) {
    const std::string name(key->str());
    const Index line = static_cast<Index>(position.line);
    config.set(name, value_of(*table.get(name), name, filename, line), line);
  }
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
