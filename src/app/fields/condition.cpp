#include "app/fields/condition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "app/fields/field_model.h"
#include "base/printable.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

struct GivenField {
  const FieldSpecification* field;
  std::string value;
};

std::vector<std::string> names_given(const Model& model, bool once) {
  std::vector<std::string> names;
  for (const FieldSpecification& field : model.data().fields)
    if (field.source && field.once == once) names.push_back(field.name);
  return names;
}

GivenField parse_given(const Model& model, const std::string& text, bool once) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw UsageError(fmt::format("--given {}: write FIELD=VALUE", text));
  const std::string name = text.substr(0, equals);
  const std::vector<std::string> names = names_given(model, once);
  if (std::ranges::find(names, name) == names.end())
    throw UsageError(
        fmt::format("--given {}: {}", text,
                    names.empty() ? "the model has no condition fields"
                                  : fmt::format("{} is not a condition field of the model; its condition fields are {}",
                                                in_quotes(name), fmt::join(names, ", "))));
  return {&model.data().field(name), text.substr(equals + 1)};
}

/// Throws unless `value` is a class known to the model.
void require_known(const FieldSpecification& field, const std::string& value) {
  if (value != kUnknownWord && field.alphabet->find(value) != kNoSymbol) return;
  constexpr Index kShown = 20;
  std::vector<std::string> known;
  for (Symbol x = 0; x < std::min<Index>(field.size, kShown); ++x)
    if (const std::string text(field.alphabet->text(x)); text != kUnknownWord) known.push_back(text);
  throw UsageError(fmt::format("--given {}={}: not seen in training; known values are {}{}", field.name, value,
                               fmt::join(known, ", "), field.size > kShown ? ", ..." : ""));
}

std::vector<double> numbers_of(const FieldSpecification& field, const std::string& value) {
  std::vector<double> numbers;
  const char *from = value.data(), *end = value.data() + value.size();
  while (true) {
    double x = 0;
    const auto [stopped, error] = std::from_chars(from, end, x);
    if (error != std::errc() || (stopped != end && *stopped != ',')) break;
    numbers.push_back(x);
    if (stopped == end) break;
    from = stopped + 1;
  }
  if (static_cast<Index>(numbers.size()) != field.size)
    throw UsageError(fmt::format("--given {}={}: expected {}, separated by commas", field.name, value,
                                 field.size == 1 ? "a number" : fmt::format("{} numbers", field.size)));
  return numbers;
}

/// Returns a column with one value per example.
ExampleColumn column_of(const GivenField& given, Index examples) {
  ExampleColumn column{.name = given.field->name, .once = true, .source = true};
  column.ends.resize(at(examples));
  std::iota(column.ends.begin(), column.ends.end(), Index{1});
  if (given.field->type == FieldSpecification::Type::symbols) {
    require_known(*given.field, given.value);
    column.texts.assign(at(examples), given.value);
    return column;
  }
  const std::vector<double> numbers = numbers_of(*given.field, given.value);
  column.width = given.field->size;
  for (Index e = 0; e < examples; ++e) column.numbers.insert(column.numbers.end(), numbers.begin(), numbers.end());
  return column;
}

/// Builds examples from one source, by reading it as a line of a pairs file.
Examples given_source(const Model& model, const std::string& text, Index count) {
  const GivenField given = parse_given(model, text, false);
  std::string lines;
  for (Index i = 0; i < count; ++i) lines += given.value + "\n";
  if (given.value.empty() || given.value.find_first_of("\t\n\r") != std::string::npos)
    throw UsageError(fmt::format("--given {}: a source must be one non-empty line without tabs", text));
  return read_examples(Input::from_bytes("--given", lines), reader_options_for(model));
}

}  // namespace

std::vector<std::string> split_given(const std::string& text) {
  std::vector<std::string> pieces;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string piece = text.substr(from, comma - from);
    if (pieces.empty() || piece.find('=') != std::string::npos)
      pieces.push_back(piece);
    else
      pieces.back() += ',' + piece;
    from = comma + 1;
  }
  return pieces;
}

void give(const Model& model, const std::vector<std::string>& given, Examples& examples) {
  for (const std::string& text : given) {
    const ExampleColumn column = column_of(parse_given(model, text, true), examples.count());
    const auto there = std::ranges::find(examples.columns, column.name, &ExampleColumn::name);
    if (there == examples.columns.end())
      examples.columns.push_back(column);
    else
      *there = column;
  }
}

Examples conditioned_examples(const Model& model, const std::vector<std::string>& given, Index count) {
  const std::vector<std::string> sources = names_given(model, false);
  if (!sources.empty()) {
    if (given.size() != 1)
      throw UsageError(
          fmt::format("the model needs exactly one source, but {} conditions are given; use --given {}=TEXT",
                      given.size(), sources.front()));
    return given_source(model, given.front(), count);
  }
  Examples examples{.source = "--given"};
  examples.ends.resize(at(count));
  std::iota(examples.ends.begin(), examples.ends.end(), Index{1});
  give(model, given, examples);
  for (const std::string& name : names_given(model, true))
    if (examples.find(name) == nullptr)
      throw UsageError(fmt::format("the model needs the condition {}; add --given {}=VALUE", name, name));
  return examples;
}

}  // namespace unfold
