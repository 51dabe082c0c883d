#include "data/logs/log_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/formats/text_encoding.h"
#include "base/utf8.h"
#include "data/logs/log_pattern.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kLinesThatTell = 1000;
/// Appended to each rule: a match must end where a word ends.
constexpr std::string_view kBorderBehind = "(?![A-Za-z0-9_])";

bool is_log_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Returns whether a character continues a word: a rule may not match next to such a character.
bool is_inside(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }
bool is_of_word(char c) { return is_inside(c) || c == '$' || static_cast<unsigned char>(c) >= 0x80; }

/// Returns the end of the token that begins at `at`, where no rule matches.
std::size_t token_end(std::string_view line, std::size_t at) {
  std::size_t end = at + 1;
  if (!is_of_word(line[at])) return end;
  while (end < line.size()) {
    const bool joins = (line[end] == '-' || line[end] == '.') && end + 1 < line.size() && is_letter(line[end + 1]);
    if (!is_of_word(line[end]) && !joins) break;
    ++end;
  }
  return end;
}

/// The value of a named field.
struct FieldValue {
  std::string_view key = {};
  std::size_t end = 0;  ///< 0: there is no such value
};

constexpr std::size_t kLongestKey = 64;

/// Returns the key that ends at `end` of the line, before `=`.
std::string_view key_before(std::string_view line, std::size_t end) {
  std::size_t begin = end;
  const auto continues = [](char c) { return is_of_word(c) || c == '-' || c == '.'; };
  while (begin > 0 && end - begin < kLongestKey && continues(line[begin - 1])) --begin;
  const std::string_view key = line.substr(begin, end - begin);
  return !key.empty() && is_of_word(key[0]) ? key : std::string_view();
}

/// Returns the quoted key before a colon at `colon`, as in JSON.
std::string_view quoted_key_before(std::string_view line, std::size_t colon) {
  if (colon < 3 || line[colon - 1] != '"') return {};
  const std::string_view before = line.substr(0, colon - 1);
  const std::size_t quote = before.rfind('"');
  if (quote == std::string_view::npos || before.size() - quote > kLongestKey) return {};
  return before.substr(quote + 1);
}

/// Returns the end of a quoted value that begins at `at`; `at` if it is empty, contains blanks or does not end.
std::size_t quoted_value_end(std::string_view line, std::size_t at) {
  for (std::size_t end = at; end < line.size() && !is_log_blank(line[end]); ++end)
    if (line[end] == '"' && line[end - 1] != '\\') return end;
  return at;
}

std::size_t bare_value_end(std::string_view line, std::size_t at, std::string_view ends) {
  std::size_t end = at;
  while (end < line.size() && !is_log_blank(line[end]) && ends.find(line[end]) == std::string_view::npos) ++end;
  while (end > at && (line[end - 1] == '.' || line[end - 1] == ':')) --end;
  return end;
}

/// Returns the value of a named field that begins at `at`.
FieldValue field_value(std::string_view line, std::size_t at) {
  if (at == 0) return {};
  const bool quoted = line[at - 1] == '"';
  std::size_t begin = quoted ? at - 1 : at;
  FieldValue value;
  bool json = false;
  if (begin > 0 && line[begin - 1] == '=') {
    value.key = key_before(line, begin - 1);
  } else {
    while (begin > 0 && line[begin - 1] == ' ') --begin;
    json = begin > 0 && line[begin - 1] == ':';
    if (json) value.key = quoted_key_before(line, begin - 1);
  }
  if (value.key.empty()) return {};
  const std::size_t end =
      quoted ? quoted_value_end(line, at) : bare_value_end(line, at, json ? ",}]\"{[" : ",;\"'()[]{}<>&|");
  value.end = end > at ? end : 0;
  return value;
}

/// Compiles a rule, which must match where it is tried.
Pattern compile(const std::string& pattern, const std::string& place) {
  return compile_pattern(pattern, place, PCRE2_ANCHORED);
}

/// Iterates over words; each line ending counts as one word.
template <class Use>
void for_each_word(std::string_view text, Use&& use) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (end > at) use(text.substr(at, end - at));
    if (end < text.size() && text[end] == '\n') use(text.substr(end, 1));
    at = end + 1;
  }
}

}  // namespace

void for_each_log_line(std::string_view text, const std::function<void(std::string_view)>& use) {
  text = strip_bom(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// All rules combined into one regular expression that reports which rule matched.
class LogScanner::Matcher {
 public:
  explicit Matcher(const LogRules& rules) {
    std::string all = "(?:";
    for (const LogRule& rule : rules.rules()) {
      // The pattern is first compiled separately, so unbalanced brackets cannot close a group of the combined
      // expression.
      (void)compile(rule.pattern, rule.place);
      const std::string rest = fmt::format("(?:{}){}(*MARK:{})", rule.pattern, kBorderBehind, names_.size());
      const Pattern alone = compile(rest, rule.place);
      std::uint32_t captures = 0;
      pcre2_pattern_info(alone.get(), PCRE2_INFO_CAPTURECOUNT, &captures);
      if (captures > 0) throw UsageError(fmt::format("{}: named groups are not supported; write (?:...)", rule.place));
      all += (names_.empty() ? "" : "|") + rest;
      names_.push_back(rule.name);
    }
    code_ = compile(all + ")", "the log rules");
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // if this fails, matching is slower but gives the same result
  }

  struct Match {
    const std::string* name = nullptr;  ///< null: no rule matches
    std::size_t end = 0;
  };
  Match match(std::string_view line, std::size_t at) const {
    const int found = matcher_.match(*code_, line, at);
    if (found == PCRE2_ERROR_NOMATCH) return {};
    if (found < 0)
      throw DataError(
          fmt::format("the log rules exceed the step limit at byte {} of the line \"{}...\" ({}); simplify the "
                      "expressions of --log-rules",
                      at + 1, line.substr(0, 60), pattern_message(found)));
    const std::size_t end = matcher_.end();
    if (end <= at) return {};
    const std::size_t rule = number_of(matcher_.mark());
    if (rule >= names_.size())
      throw DataError("a log rule ends its match early, as with (*ACCEPT); remove such verbs from --log-rules");
    return {&names_[rule], end};
  }

 private:
  /// Returns the index of the rule from its mark; an invalid index if no rule left a mark.
  static std::size_t number_of(PCRE2_SPTR mark) {
    if (mark == nullptr) return ~std::size_t{0};
    std::size_t number = 0;
    for (; *mark != 0; ++mark) number = 10 * number + (*mark - '0');
    return number;
  }

  std::vector<std::string> names_;
  Pattern code_;
  PatternMatcher matcher_;
};

LogScanner::LogScanner(const LogRules& rules, bool fields)
    : matcher_(std::make_unique<Matcher>(rules)), fields_(fields) {}
LogScanner::LogScanner(LogScanner&&) noexcept = default;
LogScanner& LogScanner::operator=(LogScanner&&) noexcept = default;
LogScanner::~LogScanner() = default;

void LogScanner::scan(std::string_view line, LogLine& out) const {
  out.shape.clear();
  out.masked.clear();
  out.repaired.clear();
  if (find_invalid_utf8(line) >= 0) line = out.repaired = replace_invalid_utf8(line);
  for (std::size_t at = 0; at < line.size();) {
    if (is_log_blank(line[at])) {
      ++at;
      continue;
    }
    if (!out.shape.empty()) out.shape += ' ';
    Matcher::Match found;
    if (at == 0 || !is_inside(line[at - 1])) found = matcher_->match(line, at);
    const FieldValue field = fields_ ? field_value(line, at) : FieldValue();
    const bool is_rule = found.name != nullptr && (field.end == 0 || found.end >= field.end);
    if (is_rule || field.end > 0) {
      const std::string_view name = is_rule ? std::string_view(*found.name) : kWordValue;
      const std::size_t end = is_rule ? found.end : field.end;
      out.masked.push_back({name, line.substr(at, end - at), field.key});
      out.shape.append(1, '<').append(name).append(1, '>');
      at = end;
      continue;
    }
    const std::size_t end = token_end(line, at);
    out.shape.append(line.substr(at, end - at));
    at = end;
  }
}

bool begins_with_label(std::string_view line) {
  const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
  if (word.empty() || word.size() == line.size()) return false;
  if (word == kNormalLabel) return true;
  const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  return word.size() > 1 && word[0] >= 'A' && word[0] <= 'Z' && std::ranges::all_of(word, fits);
}

bool begins_with_labels(std::string_view text) {
  std::size_t lines = 0, normal = 0, others = 0;
  for_each_log_line(text, [&](std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos || lines++ >= kLinesThatTell)
      return;  // an empty line carries no information
    if (!begins_with_label(line)) {
      ++others;
    } else if (line[0] == kNormalLabel[0]) {
      ++normal;
    }
  });
  return normal > 0 && others == 0;
}

LogTemplates shapes_of(std::string_view text, const std::function<void(std::string_view, LogLine&)>& read,
                       const std::function<void(const LogLine&)>& see) {
  LogTemplates shapes;
  std::unordered_set<std::string> different;
  LogLine parts;
  for_each_log_line(text, [&](std::string_view line) {
    read(line, parts);
    shapes.text.append(parts.shape).append(1, '\n');
    different.insert(parts.shape);
    ++shapes.lines;
    if (see) see(parts);
  });
  shapes.different = static_cast<Index>(different.size());
  return shapes;
}

Index make_rare_words_unknown(std::string& shapes) {
  std::unordered_map<std::string_view, Index> seen;
  for_each_word(shapes, [&](std::string_view word) { ++seen[word]; });
  std::string text;
  Index rare = 0;
  bool first = true;
  for_each_word(shapes, [&](std::string_view word) {
    const bool ends = word == "\n", is_rare = !ends && seen[word] == 1;
    if (!ends && !first) text += ' ';
    text += is_rare ? std::string_view("<unk>") : word;
    rare += is_rare;
    first = ends;
  });
  shapes = std::move(text);
  return rare;
}

}  // namespace unfold
