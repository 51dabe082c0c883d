#include "data/examples/transformations/sequence_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Adds one position at the end of each example; `next(example)` writes its entry.
template <class List, class Next>
List with_ends(const Examples& examples, const List& all, Index width, const Next& next) {
  List result;
  result.reserve(all.size() + static_cast<std::size_t>(examples.count() * width));
  for (Index e = 0; e < examples.count(); ++e) {
    std::copy(all.begin() + examples.begin(e) * width, all.begin() + examples.end(e) * width,
              std::back_inserter(result));
    for (Index i = 0; i < width; ++i) result.push_back(next(e));
  }
  return result;
}

void refuse_end(const Examples& examples, const ExampleColumn& column) {
  for (std::size_t i = 0; i < column.texts.size(); ++i)
    if (column.texts[i] == kTargetEnd)
      throw DataError(
          fmt::format("{}{}: {} in {} is reserved for the end of a sequence; rename it, or use a different end, such "
                      "as --ends stop",
                      examples.source, examples.lines.empty() ? "" : fmt::format(", line {}", examples.lines[i]),
                      kTargetEnd, column.name));
}

void lengthen(const Examples& examples, bool by_symbol, ExampleColumn& column) {
  const Index entries = column.entries();
  if (column.missing.empty()) column.missing.assign(static_cast<std::size_t>(entries), 0);
  column.missing = with_ends(examples, column.missing, 1, [&](Index) { return static_cast<char>(by_symbol ? 0 : 1); });
  if (column.is_text())
    column.texts =
        with_ends(examples, column.texts, 1, [&](Index) { return std::string(by_symbol ? kTargetEnd : ""); });
  else
    column.numbers = with_ends(examples, column.numbers, column.width, [](Index) { return 0.0; });
}

void add_end_positions(const SequenceEndOptions& how, Examples& examples) {
  const bool symbol = how.end == SequenceEnd::symbol;
  for (ExampleColumn& column : examples.columns) {
    if (column.once || column.source) continue;
    const bool ends = symbol && column.name == how.field;
    if (ends) refuse_end(examples, column);
    lengthen(examples, ends, column);
  }
  if (how.end == SequenceEnd::stop) {
    ExampleColumn stop{.name = how.field + std::string(kStopSuffix)};
    stop.texts.assign(static_cast<std::size_t>(examples.positions()), std::string(kGo));
    stop.texts = with_ends(examples, stop.texts, 1, [](Index) { return std::string(kStop); });
    examples.columns.push_back(std::move(stop));
  }
  if (!examples.lines.empty())
    examples.lines = with_ends(examples, examples.lines, 1,
                               [&](Index e) { return examples.lines[static_cast<std::size_t>(examples.end(e) - 1)]; });
  for (std::size_t e = 0; e < examples.ends.size(); ++e) examples.ends[e] += static_cast<Index>(e) + 1;
}

void add_steps_left(const SequenceEndOptions& how, Examples& examples) {
  ExampleColumn left{.name = how.field + std::string(kStepsLeftSuffix), .width = kLeftNumbers};
  left.numbers.resize(static_cast<std::size_t>(examples.positions() * kLeftNumbers));
  double* to = left.numbers.data();
  for (Index e = 0; e < examples.count(); ++e)
    for (Index t = 0; t < examples.length(e); ++t, to += kLeftNumbers) steps_left(examples.length(e), t, to);
  examples.columns.push_back(std::move(left));
}

}  // namespace

void steps_left(Index length, Index before, double* numbers) {
  const auto left = static_cast<double>(length - before);
  numbers[0] = left;
  numbers[1] = static_cast<double>(before);
  numbers[2] = 1 / left;
}

void add_sequence_ends(const SequenceEndOptions& how, Examples& examples) {
  if (const ExampleColumn* column = examples.find(how.field); how.end != SequenceEnd::none && column != nullptr) {
    if (column->once || column->source)
      throw UsageError(
          fmt::format("--ends: {} must be a target with one entry per position; it has one entry per "
                      "example or is a source",
                      how.field));
    if (how.end == SequenceEnd::symbol && !column->is_text())
      throw UsageError(
          fmt::format("{} contains numbers, which cannot have an end symbol; use --ends stop, or a length model, such "
                      "as --ends poisson",
                      how.field));
    how.end == SequenceEnd::left ? add_steps_left(how, examples) : add_end_positions(how, examples);
  }
  for (ExampleColumn& column : examples.columns) {
    if (!column.once || std::ranges::find(how.given, column.name) == how.given.end()) continue;
    column.source = true;
    column.ends.resize(static_cast<std::size_t>(column.entries()));
    std::iota(column.ends.begin(), column.ends.end(), Index{1});
  }
}

}  // namespace unfold
