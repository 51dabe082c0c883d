#include "base/formats/toml.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kMaxSize = std::size_t{1} << 20;

TomlTable converted(const toml::table& table);

TomlValue converted(const toml::node& node) {
  const Index line = static_cast<Index>(node.source().begin.line);
  if (node.is_boolean()) return {node.as_boolean()->get(), line};
  if (node.is_integer()) return {Index{node.as_integer()->get()}, line};
  if (node.is_floating_point()) return {node.as_floating_point()->get(), line};
  if (node.is_string()) return {node.as_string()->get(), line};
  if (node.is_table()) return {converted(*node.as_table()), line};
  if (!node.is_array()) return {TomlDate{}, line};
  TomlList list;
  list.reserve(node.as_array()->size());
  for (const toml::node& item : *node.as_array()) list.push_back(converted(item));
  return {std::move(list), line};
}

TomlTable converted(const toml::table& table) {
  std::vector<std::pair<toml::source_position, TomlMember>> found;
  found.reserve(table.size());
  for (const auto& [key, node] : table) {
    const toml::source_position place = key.source().begin;
    found.emplace_back(place, TomlMember{std::string(key.str()), converted(node), static_cast<Index>(place.line)});
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first < b.first; });
  TomlTable members;
  members.reserve(found.size());
  for (auto& [place, member] : found) members.push_back(std::move(member));
  return members;
}

}  // namespace

void throw_toml_error(const std::string& filename, Index line, std::string_view what) {
  throw UsageError(fmt::format("{}:{}: {}", filename, line, what));
}

TomlTable parse_toml(std::string_view text, const std::string& filename) {
  if (text.size() > kMaxSize)
    throw_toml_error(filename, 1, "the file is larger than 1 MiB, so it is not a configuration file; check its name");
  try {
    return converted(toml::parse(text, filename));
  } catch (const toml::parse_error& error) {
    throw_toml_error(filename, static_cast<Index>(error.source().begin.line), error.description());
  }
}

}  // namespace unfold
