#include "base/options/option_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/options/option_aliases.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 7> kKindNames = {{{Kind::text, "text"},
                                                                          {Kind::log, "logs"},
                                                                          {Kind::fields, "data with fields"},
                                                                          {Kind::task, "tasks"},
                                                                          {Kind::sequences, "whole sequences"},
                                                                          {Kind::density, "distributions of vectors"},
                                                                          {Kind::rolls, "piano rolls"}}};

std::vector<std::string> names_of(const OptionRows& rows) {
  std::vector<std::string> names;
  for (const OptionRow& row : rows) names.push_back(row.name);
  return names;
}

}  // namespace

std::string_view title(OptionGroup group) {
  constexpr std::array<std::string_view, 10> kTitles = {
      "Data",   "Model",     "Training", "Loss and regularization", "Budget", "Validation and selection", "Search",
      "Output", "Execution", "General"};
  return kTitles[static_cast<std::size_t>(group)];
}

Option option_of(const OptionRow& row) {
  Option option{.name = row.name,
                .target = row.target,
                .help = row.help,
                .limits = Limits{row.least, row.most, row.above_least, false},
                .choices = row.choices};
  option.fallback = value_of(option);
  return option;
}

const OptionRow* find_row(const OptionRows& rows, std::string_view word) {
  for (const OptionRow& row : rows)
    if (row.name == word) return &row;
  for (const OptionRow& row : rows)
    if (std::ranges::find(row.aliases, word) != row.aliases.end()) return &row;
  const std::string name = name_behind(word, names_of(rows));
  const auto row = std::ranges::find(rows, name, &OptionRow::name);
  return row == rows.end() ? nullptr : &*row;
}

const OptionRow& need_row(const OptionRows& rows, std::string_view word, std::string_view where,
                          std::string_view verb) {
  if (const OptionRow* row = find_row(rows, word)) return *row;
  throw UsageError(
      fmt::format("{}: {} has no key {}{}", where, verb, in_quotes(word), did_you_mean(word, names_of(rows))));
}

const void* address_of(const OptionTarget& target) {
  return std::visit(
      []<class Target>(const Target& at) -> const void* {
        if constexpr (std::is_same_v<Target, ChoiceTarget>)
          return nullptr;
        else
          return at;
      },
      target);
}

std::string default_of(const OptionRow& row) {
  if (!row.default_text.empty()) return row.default_text;
  if (!row.kind_defaults.empty()) {
    std::string text;
    for (const auto& [kind, value] : row.kind_defaults)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", kind, value);
    return text;
  }
  const auto value = value_of(option_of(row));
  return value && !std::holds_alternative<bool>(*value) ? to_string(*value) : std::string();
}

std::string to_string(Kinds kinds) {
  std::vector<std::string_view> names;
  for (const auto& [kind, name] : kKindNames)
    if (kinds.contains(kind)) names.push_back(name);
  if (names.size() < 2) return names.empty() ? std::string() : std::string(names.front());
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string not_applicable(std::string_view option, Kinds kinds, std::string_view here) {
  return fmt::format("--{0} applies to {1}; {2}: omit --{0}", option, to_string(kinds), here);
}

}  // namespace unfold
