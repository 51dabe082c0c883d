#include "data/logs/log_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "data/logs/log_lines.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kBuiltIn =
#include "data/logs/log_rules.def"

    ;
constexpr std::string_view kOnly = "only";
constexpr std::string_view kRuleBlanks = " \t\r";

bool is_rule_name(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= 32 && name[0] >= 'a' && std::ranges::all_of(name, fits) && name != "unk" &&
         name != "eos";
}

/// Appends the rules in a text; returns true if it excludes the built-in rules.
bool add_rules(std::string_view text, const std::string& source, std::vector<LogRule>& rules) {
  bool only = false;
  for (Index number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kRuleBlanks), line.size()));
    line = line.substr(0, line.find_last_not_of(kRuleBlanks) + 1);
    if (line.empty() || line[0] == '#') continue;
    const std::size_t name = std::min(line.find_first_of(kRuleBlanks), line.size());
    const std::size_t pattern = std::min(line.find_first_not_of(kRuleBlanks, name), line.size());
    const std::string place = fmt::format("{}: line {}", source, number);
    if (line == kOnly) {
      only = true;
      continue;
    }
    if (!is_rule_name(line.substr(0, name)) || pattern == line.size())
      throw UsageError(
          fmt::format("{} is not a rule; a rule is a name (lower-case letters, digits, -), blanks and a regular "
                      "expression, such as `order  ORD-\\d+`",
                      place));
    if (find_invalid_utf8(line) >= 0)
      throw UsageError(fmt::format("{} is not valid UTF-8; save the file as UTF-8", place));
    rules.push_back({std::string(line.substr(0, name)), std::string(line.substr(pattern)), place});
  }
  return only;
}

}  // namespace

LogRules::LogRules() { add_rules(kBuiltIn, "built-in rules", rules_); }

LogRules LogRules::parse(std::string_view text, const std::string& source) {
  LogRules result;
  std::vector<LogRule> own;
  if (add_rules(text, source, own)) result.rules_.clear();
  result.rules_.insert(result.rules_.begin(), own.begin(), own.end());
  if (result.rules_.empty()) throw UsageError(fmt::format("{}: there are no rules", source));
  (void)LogScanner(result);  // reports the line of an invalid regular expression
  return result;
}

std::string LogRules::text() const {
  std::string text(kOnly);
  text += '\n';
  for (const LogRule& rule : rules_) text += rule.name + ' ' + rule.pattern + '\n';
  return text;
}

std::string_view LogRules::built_in() { return kBuiltIn; }

}  // namespace unfold
