/// The format `labelled`: one example per line, with its label and its text: "label<TAB>text", "COARSE:fine text" as in
/// question classification, or "__label__x text" as in fastText.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "data/readers/reader_text.h"

namespace unfold {
namespace {

enum class LabelStyle { tab, coarse_and_fine, prefix };
constexpr std::string_view kLabelPrefix = "__label__";
constexpr std::string_view kLabeledHeader = "label\ttext";

struct LabeledLine {
  std::string_view label, text;
};

bool is_one_of(char c, std::string_view more) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || more.find(c) != std::string_view::npos;
}

bool is_word_of(std::string_view word, bool lower_too) {
  const std::string_view more = lower_too ? "abcdefghijklmnopqrstuvwxyz-" : "";
  return !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) { return is_one_of(c, more); });
}

/// Returns whether a label has a coarse and a fine part: "NUM:dist".
bool is_coarse_and_fine(std::string_view label) {
  const std::size_t colon = label.find(':');
  return colon != std::string_view::npos && is_word_of(label.substr(0, colon), false) && label[0] >= 'A' &&
         is_word_of(label.substr(colon + 1), true);
}

LabeledLine split_label(std::string_view line, LabelStyle style) {
  const std::size_t end = line.find_first_of(style == LabelStyle::tab ? "\t" : " \t");
  if (end == std::string_view::npos) return {line, {}};
  return {without_blanks(line.substr(0, end)), without_blanks(line.substr(end + 1))};
}

LabelStyle label_style(std::string_view first) {
  if (first.starts_with(kLabelPrefix)) return LabelStyle::prefix;
  if (is_coarse_and_fine(split_label(first, LabelStyle::coarse_and_fine).label)) return LabelStyle::coarse_and_fine;
  return LabelStyle::tab;
}

constexpr const char* as_wanted(LabelStyle style) {
  switch (style) {
    case LabelStyle::prefix: return "__label__LABEL TEXT";
    case LabelStyle::coarse_and_fine: return "COARSE:fine TEXT";
    default: return "LABEL<TAB>TEXT";
  }
}

bool fits(const LabeledLine& line, LabelStyle style) {
  if (line.label.empty() || line.text.empty()) return false;
  if (style == LabelStyle::prefix)
    return line.label.starts_with(kLabelPrefix) && line.label.size() > kLabelPrefix.size();
  return style == LabelStyle::tab || is_coarse_and_fine(line.label);
}

/// The labels and texts of the lines of an input.
struct LabeledLines {
  LabelStyle style = LabelStyle::tab;
  std::vector<std::string_view> labels = {}, texts = {};
  std::vector<Index> numbers = {};
};

LabeledLines labeled_lines(const ReaderText& text) {
  LabeledLines result;
  Index empty = 0;
  for (ReaderLines lines(text.text()); lines.next();) {
    if (lines.number() == 1 && lines.line() == kLabeledHeader) continue;
    if (without_blanks(lines.line()).empty()) {
      if (empty == 0) empty = lines.number();
      continue;
    }
    // Empty lines are allowed at the end of the file, not between examples.
    if (empty > 0) throw_data_error(text.source(), empty, "an empty line instead of a label and a text; remove it");
    if (result.numbers.empty()) result.style = label_style(lines.line());
    const LabeledLine line = split_label(lines.line(), result.style);
    if (!fits(line, result.style)) {
      throw_data_error(text.source(), lines.number(),
                       fmt::format("this line has no label and text as in \"{}\"; write both in every line (any label "
                                   "if the true one is unknown)",
                                   as_wanted(result.style)));
    }
    result.labels.push_back(line.label);
    result.texts.push_back(line.text);
    result.numbers.push_back(lines.number());
  }
  return result;
}

ExampleColumn once_column(std::string name, const std::vector<std::string_view>& entries) {
  return {.name = std::move(name), .once = true, .texts = {entries.begin(), entries.end()}};
}

void add_labels(Examples& examples, const LabeledLines& lines) {
  if (lines.style == LabelStyle::tab) {
    examples.columns.push_back(once_column("label", lines.labels));
    return;
  }
  std::vector<std::string_view> labels;
  labels.reserve(lines.labels.size());
  for (const std::string_view label : lines.labels) {
    labels.push_back(lines.style == LabelStyle::prefix ? label.substr(kLabelPrefix.size())
                                                       : label.substr(0, label.find(':')));
  }
  examples.columns.push_back(once_column("label", labels));
  if (lines.style == LabelStyle::coarse_and_fine) examples.columns.push_back(once_column("fine", lines.labels));
}

Examples read_labeled(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  const LabeledLines lines = labeled_lines(text);
  Examples examples = text.no_examples();
  const TextPositions positions(lines.texts, options);
  ExampleColumn column{.name = "text", .characters = positions.characters()};
  for (std::size_t i = 0; i < lines.texts.size(); ++i) {
    positions.append(lines.texts[i], column.texts);
    examples.ends.push_back(column.entries());
    examples.lines.resize(column.texts.size(), lines.numbers[i]);
  }
  examples.columns.push_back(std::move(column));
  add_labels(examples, lines);
  examples.example_lines = lines.numbers;
  return examples;
}

/// There are few labels, none contains a blank, and the text after the only tab of a line is not a number.
bool looks_tab_labeled(const std::vector<LabeledLine>& lines) {
  std::set<std::string_view> labels;
  bool numbers = true, several_words = true;
  for (const LabeledLine& line : lines) {
    if (line.label.find(' ') != std::string_view::npos || line.text.find('\t') != std::string_view::npos) return false;
    labels.insert(line.label);
    numbers &= number_of(line.text).kind != NumberText::Kind::none;
    several_words &= line.text.find(' ') != std::string_view::npos;
  }
  return !numbers && (2 * labels.size() <= lines.size() || (lines.size() < 4 && several_words));
}

std::string guess_labeled(const DataSample& sample) {
  std::vector<std::string_view> shown = sample.lines;
  const bool header = !shown.empty() && shown[0] == kLabeledHeader;
  if (header) shown.erase(shown.begin());
  while (!shown.empty() && without_blanks(shown.back()).empty()) shown.pop_back();
  if (shown.empty()) return {};
  const LabelStyle style = label_style(shown[0]);
  std::vector<LabeledLine> lines;
  lines.reserve(shown.size());
  for (const std::string_view line : shown) {
    lines.push_back(split_label(line, style));
    if (!fits(lines.back(), style)) return {};
  }
  if (style == LabelStyle::tab && !header && !looks_tab_labeled(lines)) return {};
  return fmt::format("a label and a text in each line ({})", as_wanted(style));
}

}  // namespace

ReaderEntry labeled_reader() {
  return {.name = "labelled",
          .help = "one example per line: LABEL<TAB>TEXT, COARSE:fine TEXT or __label__LABEL TEXT",
          .guess = guess_labeled,
          .read = read_labeled,
          .has_texts = true};
}

}  // namespace unfold
