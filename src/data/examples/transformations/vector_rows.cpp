#include "data/examples/transformations/vector_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/options/suggestions.h"
#include "data/files/line_parts.h"
#include "loss/density/columns.h"
#include "unfold/base/error.h"
#include "unfold/base/options/options.h"

namespace unfold {
namespace {

Index line_of_row(const Examples& examples, Index row) { return examples.lines.empty() ? 0 : examples.lines[at(row)]; }

std::vector<const ExampleColumn*> chosen_columns(const VectorRows& how, const Examples& examples) {
  std::vector<const ExampleColumn*> columns;
  for (const std::string& name : how.columns) columns.push_back(&examples.column(name));
  if (how.columns.empty())
    for (const ExampleColumn& column : examples.columns)
      if (!column.once && !column.source && column.name != how.without) columns.push_back(&column);
  for (const ExampleColumn* column : columns)
    if (column->once || column->source)
      throw DataError(
          fmt::format("{}: {} does not have one entry per position; leave it out", examples.source, column->name));
  if (columns.empty()) throw DataError(fmt::format("{}: it contains no numbers", examples.source));
  return columns;
}

std::vector<std::string> names_of(const std::vector<const ExampleColumn*>& columns) {
  std::vector<std::string> names;
  for (const ExampleColumn* column : columns)
    for (Index i = 0; i < std::max<Index>(1, column->width); ++i)
      names.push_back(column->width <= 1 ? column->name : fmt::format("{}.{}", column->name, i + 1));
  return names;
}

/// A column of classes: strings, or numbers that are treated as classes.
class ClassColumn {
 public:
  ClassColumn(const VectorRows& how, const Examples& examples, const ExampleColumn& column)
      : how_(how), examples_(examples), column_(column) {
    if (column.width > 1)
      throw UsageError(fmt::format("{}: {} has {} numbers per position; a class must be a single number",
                                   examples.source, column.name, column.width));
    if (const auto known = how.classes.find(column.name); known != how.classes.end()) names_ = known->second;
    for (std::size_t k = 0; k < names_.size(); ++k) places_[names_[k]] = k;
    if (how.further) add_further();
  }

  const std::vector<std::string>& names() const { return names_; }
  bool present(Index row) const { return column_.present(row) && !is_hole(row); }
  double place(Index row) const {
    const std::string text = text_of(row);
    const auto found = places_.find(text);
    if (found == places_.end()) refuse(row, text);
    return static_cast<double>(found->second);
  }

 private:
  std::string text_of(Index row) const {
    return column_.is_text() ? std::string(column_.texts[row]) : format_number(column_.numbers[at(row)]);
  }
  /// Returns whether the value of a row is missing according to the rules for numeric columns.
  bool is_hole(Index row) const {
    if (!column_.is_text()) return false;
    const std::string_view text = column_.texts[row];
    return text.empty() || (!places_.contains(text) && how_.holes && (text == "?" || text == "NA"));
  }
  /// Adds new classes: numbers sorted by value, strings alphabetically.
  void add_further() {
    std::vector<std::pair<double, std::string>> found;
    std::set<std::string> seen;
    for (Index row = 0; row < examples_.positions(); ++row) {
      if (!present(row)) continue;
      const std::string text = text_of(row);
      if (places_.contains(text) || !seen.insert(text).second) continue;
      found.emplace_back(column_.is_text() ? 0 : column_.numbers[at(row)], text);
      if (static_cast<Index>(names_.size() + found.size()) > kMostClasses)
        throw DataError(fmt::format(
            "{}: column {} has more than {} different strings, too many for classes; leave out the column (--predict "
            "selects columns)",
            examples_.source, column_.name, kMostClasses));
    }
    std::ranges::sort(found);
    for (auto& [number, text] : found) {
      places_[text] = names_.size();
      names_.push_back(text);
    }
  }
  [[noreturn]] void refuse(Index row, const std::string& text) const {
    if (names_.empty())
      throw_data_error(
          examples_.source, line_of_row(examples_, row),
          fmt::format("column {} contains the text \"{}\", but the model expects numbers", column_.name, text));
    constexpr std::size_t kShown = 10;
    std::string known;
    for (std::size_t k = 0; k < names_.size() && k < kShown; ++k) known += (k > 0 ? ", " : "") + names_[k];
    throw_data_error(
        examples_.source, line_of_row(examples_, row),
        fmt::format("{} is \"{}\", a class that did not occur in training; known classes: {}{}{}", column_.name, text,
                    known, names_.size() > kShown ? ", ..." : "", did_you_mean(text, names_)));
  }

  const VectorRows& how_;
  const Examples& examples_;
  const ExampleColumn& column_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

/// The entries of one column.
struct VectorPart {
  const ExampleColumn* column;
  std::unique_ptr<ClassColumn> classes;  // null: numbers

  Index width() const { return classes ? 1 : column->width; }
  bool present(Index row) const { return classes ? classes->present(row) : column->present(row); }
  void put(Index row, std::vector<double>& numbers) const {
    if (classes) return numbers.push_back(classes->place(row));
    const auto from = column->numbers.begin() + row * column->width;
    numbers.insert(numbers.end(), from, from + column->width);
  }
};

std::vector<VectorPart> parts_of(const VectorRows& how, const Examples& examples,
                                 const std::vector<const ExampleColumn*>& columns) {
  std::vector<VectorPart> parts;
  for (const ExampleColumn* column : columns) {
    const bool classes =
        column->is_text() || how.as_classes.contains(column->name) || how.classes.contains(column->name);
    parts.push_back({column, classes ? std::make_unique<ClassColumn>(how, examples, *column) : nullptr});
  }
  return parts;
}

}  // namespace

void make_vectors(const VectorRows& how, Examples& examples) {
  if (how.field.empty()) return;
  const std::vector<const ExampleColumn*> columns = chosen_columns(how, examples);
  const std::vector<VectorPart> parts = parts_of(how, examples, columns);
  ExampleColumn vectors{.name = how.field, .once = !how.sequences}, one{.name = how.one, .width = 1};
  vectors.parts = names_of(columns);
  vectors.width = static_cast<Index>(vectors.parts.size());
  if (std::ranges::any_of(parts, [](const VectorPart& part) { return part.classes != nullptr; }))
    for (const VectorPart& part : parts)
      vectors.classes.insert(vectors.classes.end(), at(part.width()),
                             part.classes ? part.classes->names() : std::vector<std::string>());
  const Index positions = examples.positions();
  vectors.numbers.reserve(at(positions * vectors.width));
  for (Index p = 0; p < positions; ++p)
    for (const VectorPart& part : parts) {
      if (part.present(p)) {
        part.put(p, vectors.numbers);
      } else if (how.holes) {
        vectors.numbers.insert(vectors.numbers.end(), at(part.width()), std::nan(""));
      } else {
        throw_data_error(
            examples.source, line_of_row(examples, p),
            fmt::format("{} is missing; remove the row, or leave out the column (--predict selects columns)",
                        part.column->name));
      }
    }
  one.numbers.assign(at(positions), 1);
  if (!how.sequences) {
    examples.ends.resize(at(positions));
    for (Index p = 0; p < positions; ++p) examples.ends[at(p)] = p + 1;
    examples.example_lines = examples.lines;
  }
  examples.columns = {std::move(vectors), std::move(one)};
}

ColumnClasses classes_of(const ExampleColumn& vectors) {
  ColumnClasses classes;
  for (std::size_t i = 0; i < vectors.classes.size(); ++i)
    if (vectors.is_class(i)) classes[vectors.parts[i]] = vectors.classes[i];
  return classes;
}

}  // namespace unfold
