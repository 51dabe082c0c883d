#include "data/examples/templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kFarthest = 99;  ///< maximum distance from the current position

/// Parses the whole text as an offset of at most kFarthest.
std::optional<Index> offset_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (value < -kFarthest || value > kFarthest) return std::nullopt;
  return value;
}

std::optional<TemplatePart> part_of(std::string_view text) {
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos || open == 0 || !text.ends_with(']')) return std::nullopt;
  const std::optional<Index> offset = offset_of(text.substr(open + 1, text.size() - open - 2));
  if (!offset) return std::nullopt;
  return TemplatePart{std::string(text.substr(0, open)), *offset};
}

/// One line of a template file.
class TemplateLine {
 public:
  TemplateLine(std::string_view text, std::string place, const std::vector<std::string>& columns)
      : text_(text), place_(std::move(place)), columns_(columns) {}

  /// Returns the parts of a line that begins with U or B.
  std::vector<TemplatePart> parts() const {
    std::vector<TemplatePart> parts;
    for (std::size_t begin = text_.find('%'); begin != std::string_view::npos; begin = text_.find('%', begin + 1)) {
      const std::size_t end = text_.find(']', begin);
      if (!text_.substr(begin).starts_with("%x[") || end == std::string_view::npos)
        fail("has a % that does not begin %x[row,column]");
      parts.push_back(macro(text_.substr(begin + 3, end - begin - 3)));
    }
    if (parts.empty()) fail("reads no column; write %x[row,column], for example U00:%x[0,0]");
    return parts;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: the template \"{}\" {}", place_, text_, what));
  }

 private:
  TemplatePart macro(std::string_view inside) const {
    const std::size_t comma = inside.find(',');
    const std::optional<Index> row = offset_of(inside.substr(0, comma));
    const std::optional<Index> column =
        comma == std::string_view::npos ? std::nullopt : offset_of(inside.substr(comma + 1));
    if (!row || !column || *column < 0)
      fail(fmt::format("has %x[{}], but rows are from {} to {} and columns start at 0", inside, -kFarthest, kFarthest));
    if (at(*column) >= columns_.size())
      fail(fmt::format("refers to column {}, but the data has {}, from 0 to {}", *column, columns_.size(),
                       columns_.size() - 1));
    return {columns_[at(*column)], *row};
  }

  std::string_view text_;
  std::string place_;
  const std::vector<std::string>& columns_;
};

}  // namespace

std::vector<TemplatePart> parse_template(std::string_view name) {
  std::vector<TemplatePart> parts;
  while (true) {
    const std::size_t bar = name.find('|');
    std::optional<TemplatePart> part = part_of(name.substr(0, bar));
    if (!part) return {};
    parts.push_back(std::move(*part));
    if (bar == std::string_view::npos) return parts;
    name.remove_prefix(bar + 1);
  }
}

std::string template_name(const std::vector<TemplatePart>& parts) {
  std::string name;
  for (const TemplatePart& part : parts)
    name += fmt::format("{}{}[{}]", name.empty() ? "" : "|", part.field, part.offset);
  return name;
}

TemplateFile read_templates(const Input& input, const std::vector<std::string>& columns) {
  TemplateFile result;
  std::string_view rest = input.bytes();
  for (Index number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const TemplateLine text(line, fmt::format("{}, line {}", input.name(), number), columns);
    if (line.front() == 'B' && line.find('%') == std::string_view::npos) {
      result.bigrams = true;
    } else if (line.front() == 'B') {
      const std::string name = template_name(text.parts());
      if (std::ranges::find(result.steps, name) == result.steps.end()) result.steps.push_back(name);
    } else if (line.front() == 'U') {
      const std::string name = template_name(text.parts());
      if (std::ranges::find(result.reads, name) == result.reads.end()) result.reads.push_back(name);
    } else {
      text.fail("does not begin with U, B or #");
    }
  }
  input.require_whole();
  if (result.reads.empty() && result.steps.empty())
    throw DataError(fmt::format("{}: no line begins with U; add one, for example U00:%x[0,0]", input.name()));
  return result;
}

}  // namespace unfold
