#include "unfold/readers/vector_rows.h"

#include <fmt/format.h>

#include <cmath>

#include "unfold/base/error.h"
#include "unfold/readers/reader_text.h"

namespace unfold {
namespace {

std::vector<const ExampleColumn*> chosen_columns(const VectorRows& how, const Examples& examples) {
  std::vector<const ExampleColumn*> columns;
  for (const std::string& name : how.columns) columns.push_back(&examples.column(name));
  if (how.columns.empty())
    for (const ExampleColumn& column : examples.columns)
      if (!column.once && !column.source) columns.push_back(&column);
  for (const ExampleColumn* column : columns) {
    if (column->is_text())
      throw DataError(
          fmt::format("{}: the column {} holds texts, and the vectors of a density are of numbers; name the "
                      "columns that they are made of with --predict, or write each class as a 0 or 1 of "
                      "its own",
                      examples.source, column->name));
    if (column->once || column->source)
      throw DataError(fmt::format("{}: {} does not stand at every position", examples.source, column->name));
  }
  if (columns.empty()) throw DataError(fmt::format("{}: there are no numbers in it", examples.source));
  return columns;
}

std::vector<std::string> names_of(const std::vector<const ExampleColumn*>& columns) {
  std::vector<std::string> names;
  for (const ExampleColumn* column : columns)
    for (Index i = 0; i < column->width; ++i)
      names.push_back(column->width == 1 ? column->name : fmt::format("{}.{}", column->name, i + 1));
  return names;
}

}  // namespace

void make_vectors(const VectorRows& how, Examples& examples) {
  if (how.field.empty()) return;
  const std::vector<const ExampleColumn*> columns = chosen_columns(how, examples);
  ExampleColumn vectors{.name = how.field, .once = true}, one{.name = how.one, .width = 1};
  vectors.parts = names_of(columns);
  vectors.width = static_cast<Index>(vectors.parts.size());
  const Index positions = examples.positions();
  vectors.numbers.reserve(at(positions * vectors.width));
  for (Index p = 0; p < positions; ++p)
    for (const ExampleColumn* column : columns) {
      if (!column->present(p) && how.holes) {
        vectors.numbers.insert(vectors.numbers.end(), at(column->width), std::nan(""));
        continue;
      }
      if (!column->present(p))
        refuse_data(examples.source, examples.lines.empty() ? 0 : examples.lines[at(p)],
                    fmt::format("{} is missing; leave the row out, or the column (--predict names those that count)",
                                column->name));
      const auto from = column->numbers.begin() + p * column->width;
      vectors.numbers.insert(vectors.numbers.end(), from, from + column->width);
    }
  one.numbers.assign(at(positions), 1);
  examples.ends.resize(at(positions));
  for (Index p = 0; p < positions; ++p) examples.ends[at(p)] = p + 1;
  examples.example_lines = examples.lines;
  examples.columns = {std::move(vectors), std::move(one)};
}

}  // namespace unfold
