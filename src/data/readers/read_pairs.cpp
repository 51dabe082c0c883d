/// The format `pairs`: one example per line, a source and a target separated by a tab: "source<TAB>target". Source and
/// target have separate alphabets and lengths: the field "source" is a separate chain, which the positions of "target"
/// attend to. An end marker follows each target, so its length is predicted, too. If no line has a tab, all lines are
/// sources whose targets are to be predicted.

#include <fmt/format.h>

#include "data/readers/reader_text.h"

namespace unfold {
namespace {

struct PairLines {
  std::vector<std::string_view> sources = {}, targets = {};  // targets: empty, or one per line
  std::vector<Index> numbers = {};
};

PairLines pair_lines(const ReaderText& text) {
  PairLines result;
  Index empty = 0;
  bool targets = false;
  for (ReaderLines lines(text.text()); lines.next();) {
    const std::string_view line = lines.line();
    if (without_blanks(line).empty()) {
      if (empty == 0) empty = lines.number();
      continue;
    }
    if (empty > 0) throw_data_error(text.source(), empty, "an empty line instead of a source; remove it");
    const std::size_t tab = line.find('\t');
    const bool has_target = tab != std::string_view::npos;
    if (result.numbers.empty()) targets = has_target;
    if (has_target != targets) throw_data_error(text.source(), lines.number(), pair_mismatch(targets));
    if (has_target && line.find('\t', tab + 1) != std::string_view::npos)
      throw_data_error(text.source(), lines.number(),
                       "the line has more than one tab; a line is \"source<TAB>target\"");
    const std::string_view source = without_blanks(line.substr(0, tab));
    if (source.empty())
      throw_data_error(text.source(), lines.number(), "the source is empty; write at least one symbol");
    result.sources.push_back(source);
    if (has_target) result.targets.push_back(without_blanks(line.substr(tab + 1)));
    result.numbers.push_back(lines.number());
  }
  return result;
}

Examples read_pairs(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  const PairLines lines = pair_lines(text);
  Examples examples = text.no_examples();
  examples.example_lines = lines.numbers;
  const TextPositions of_sources(lines.sources, options);
  ExampleColumn source{.name = "source", .source = true, .characters = of_sources.characters()};
  for (const std::string_view line : lines.sources) {
    of_sources.append(line, source.texts);
    source.ends.push_back(source.entries());
  }
  examples.columns.push_back(std::move(source));
  ReaderOptions target_options = options;
  target_options.text = options.target_text.value_or(options.text);
  const TextPositions of_targets(lines.targets, target_options);
  ExampleColumn target{.name = "target", .characters = of_targets.characters()};
  ExampleColumn stop{.name = fmt::format("target{}", kStopSuffix)};
  for (std::size_t i = 0; i < lines.targets.size(); ++i) {
    const std::size_t before = target.texts.size();
    of_targets.append(lines.targets[i], target.texts);
    for (std::size_t k = before; k < target.texts.size(); ++k)
      if (target.texts[k] == kTargetEnd)
        throw_data_error(text.source(), lines.numbers[i],
                         fmt::format("the symbol {} is reserved for the end of a target; rename it", kTargetEnd));
    target.texts.push_back(options.stops ? "" : kTargetEnd);
    if (options.stops) {
      while (stop.texts.size() + 1 < target.texts.size()) stop.texts.push_back(kGo);
      stop.texts.push_back(kStop);
      target.missing.resize(target.texts.size() - 1, 0);
      target.missing.push_back(1);
    }
    examples.ends.push_back(target.entries());
    examples.lines.resize(target.texts.size(), lines.numbers[i]);
  }
  if (!lines.targets.empty()) {
    examples.columns.push_back(std::move(target));
    if (options.stops) examples.columns.push_back(std::move(stop));
    return examples;
  }
  for (std::size_t i = 0; i < lines.sources.size(); ++i) examples.ends.push_back(static_cast<Index>(i) + 1);
  examples.lines = lines.numbers;
  return examples;
}

std::string guess_pairs(const DataSample& sample) {
  return ends_in(sample.name, {".pairs"}) ? "the file name ends in .pairs" : "";
}

}  // namespace

ReaderEntry pairs_reader() {
  return {
      .name = "pairs",
      .help =
          "one example per line: SOURCE<TAB>TARGET, of different lengths (letters to sounds, one language to another)",
      .guess = guess_pairs,
      .read = read_pairs,
      .has_texts = true};
}

}  // namespace unfold
