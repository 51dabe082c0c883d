#include "data/text/labels.h"

#include <fmt/format.h>

#include "base/formats/text_encoding.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kBlanks = " \t\r";

/// Calls use(line, line ending) for each line; `line` does not include the line ending.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  text = strip_bom(text);  // the byte order mark is not part of the first label
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t length = end == std::string_view::npos ? text.size() : end;
    use(text.substr(0, length), text.substr(length, 1));
    text.remove_prefix(std::min(text.size(), length + 1));
  }
}

}  // namespace

LabeledText split_labels(const Input& input, const std::optional<std::string>& only) {
  std::string text;
  std::vector<std::string> labels;
  Index number = 0;
  for_each_line(input.bytes(), [&](std::string_view line, std::string_view line_end) {
    ++number;
    const std::size_t length = std::min(line.find_first_of(kBlanks), line.size());
    if (length == 0)
      throw DataError(
          fmt::format("{}: line {} does not begin with a label; add one, or remove the line", input.name(), number));
    const std::string_view label = line.substr(0, length);
    if (only && label != *only) return;
    labels.emplace_back(label);
    const std::size_t rest = line.find_first_not_of(" \t", length);
    text += rest == std::string_view::npos ? std::string_view() : line.substr(rest);
    text += line_end;
  });
  input.require_whole();
  if (text.empty())
    throw DataError(fmt::format("{}: no lines are left{}", input.name(),
                                only ? fmt::format("; no line has the label \"{}\"", *only) : ""));
  return {Input::from_bytes(input.name(), std::move(text)), std::move(labels)};
}

std::vector<Input> unlabeled(std::vector<Input> inputs, bool column, const std::optional<std::string>& only) {
  if (!column) return inputs;
  for (Input& input : inputs) input = split_labels(input, only).text;
  return inputs;
}

std::vector<std::string> read_labels(const Input& input) {
  std::vector<std::string> labels;
  for_each_line(input.bytes(), [&](std::string_view line, std::string_view) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos)
      throw DataError(fmt::format("{}: line {} has no label", input.name(), labels.size() + 1));
    labels.emplace_back(line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin));
  });
  input.require_whole();
  return labels;
}

}  // namespace unfold
