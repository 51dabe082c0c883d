#include "unfold/data/examples/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/options/suggestions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

template <class List>
void extend(List& list, List& more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Appends empty cells for entries that are written unchanged.
TextList all_cells(const ExampleColumn& column) {
  if (!column.cells.empty()) return column.cells;
  TextList cells;
  for (Index e = 0; e < column.entries(); ++e) {
    if (!column.present(e))
      cells.push_back({});
    else if (column.is_text())
      cells.push_back(column.texts[e]);
    else
      cells.push_back(fmt::format("{}", column.numbers[at(e)]));
  }
  return cells;
}

void extend_cells(ExampleColumn& column, const ExampleColumn& more) {
  if (column.cells.empty() && more.cells.empty()) return;
  if (column.width > 1 || more.width > 1) return;
  TextList cells = all_cells(column);
  const TextList added = all_cells(more);
  cells.append(added, 0, added.size());
  column.cells = std::move(cells);
}

void extend_column(ExampleColumn& column, ExampleColumn& more) {
  if (!column.missing.empty() || !more.missing.empty()) {
    column.missing.resize(static_cast<std::size_t>(column.entries()), 0);
    more.missing.resize(static_cast<std::size_t>(more.entries()), 0);
  }
  extend(column.missing, more.missing);
  const Index before = column.entries();
  extend_cells(column, more);
  for (const Index end : more.ends) column.ends.push_back(before + end);
  column.texts.append(more.texts, 0, more.texts.size());
  extend(column.numbers, more.numbers);
}

/// Appends entries [begin, end) of one column to another.
void extend_column(ExampleColumn& column, const ExampleColumn& from, Index begin, Index end) {
  const auto copy = [&](auto& list, const auto& more, Index width) {
    if (!more.empty()) list.insert(list.end(), more.begin() + begin * width, more.begin() + end * width);
  };
  if (!from.texts.empty()) column.texts.append(from.texts, at(begin), at(end));
  copy(column.numbers, from.numbers, from.width);
  copy(column.missing, from.missing, 1);
  if (from.cells.size() == at(from.entries())) column.cells.append(from.cells, at(begin), at(end));
}

bool is_value(const ExampleColumn& column, Index entry) {
  return column.present(entry) && (!column.is_text() || !column.texts[entry].empty());
}

bool has_value(const ExampleColumn& column) {
  for (Index e = 0; e < column.entries(); ++e)
    if (is_value(column, e)) return true;
  return false;
}

/// Changes the type of a column without values.
void set_width(ExampleColumn& column, Index width) {
  column.cells = {};
  const Index entries = column.entries();
  column.width = width;
  column.texts.assign(at(width == 0 ? entries : 0), {});
  column.numbers.assign(at(entries * width), 0);
  column.missing.assign(at(entries), 1);
}

/// Converts numbers to strings in the format of tables.
void make_texts(ExampleColumn& column) {
  column.texts = std::exchange(column.cells, {});
  for (Index e = 0; column.texts.size() < column.numbers.size(); ++e)
    column.texts.push_back(column.present(e) ? fmt::format("{}", column.numbers[at(e)]) : std::string());
  column.numbers.clear();
  column.width = 0;
}

bool reads_as_number(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

/// Describes a column for messages: "b.csv contains strings ("door open" in line 3)", with the first entry that shows
/// it.
std::string what_holds(const Examples& examples, const ExampleColumn& column) {
  Index shown = 0;
  while (!is_value(column, shown)) ++shown;
  for (Index e = shown; column.is_text() && e < column.entries(); ++e)
    if (is_value(column, e) && !reads_as_number(column.texts[e])) {
      shown = e;
      break;
    }
  const std::string entry =
      column.is_text() ? fmt::format("\"{}\"", column.texts[shown]) : fmt::format("{}", column.numbers[at(shown)]);
  const std::vector<Index>& lines = column.once ? examples.example_lines : examples.lines;
  const std::string line = lines.empty() || column.source ? "" : fmt::format(" in line {}", lines[at(shown)]);
  return fmt::format("{} contains {} ({}{})", examples.source, column.is_text() ? "strings" : "numbers", entry, line);
}

/// Converts a column of two files to strings, or to numbers, in both.
void settle_kind(Examples& examples, ExampleColumn& column, Examples& more, ExampleColumn& added) {
  if (column.width == added.width) return;
  if (!has_value(added)) return set_width(added, column.width);
  if (!has_value(column)) return set_width(column, added.width);
  if (!column.is_text() && !added.is_text())
    throw DataError(
        fmt::format("field {} has {} numbers per entry in {} and {} in {}; use the same number in all files",
                    column.name, column.width, examples.source, added.width, more.source));
  if (column.width + added.width > 1)
    throw DataError(fmt::format(
        "field {} contains strings in one file and vectors in another: {} and {}; use the same kind in all files",
        column.name, examples.source, more.source));
  if (column.clash.empty())
    column.clash = fmt::format(
        "field {}: {}, and {}; delete the entries that are not numbers, rename one of the columns, or leave the field "
        "out (--read)",
        column.name, what_holds(examples, column), what_holds(more, added));
  make_texts(column.is_text() ? added : column);
}

Examples without_entries(const Examples& all) {
  Examples result{.source = all.source, .found = all.found, .schema = all.schema};
  for (const ExampleColumn& column : all.columns)
    result.columns.push_back({.name = column.name,
                              .once = column.once,
                              .width = column.width,
                              .source = column.source,
                              .clash = column.clash,
                              .integers = column.integers,
                              .derived = column.derived});
  return result;
}

void add(const Examples& all, Index example, Index from, Index to, Examples& result) {
  for (std::size_t i = 0; i < all.columns.size(); ++i) {
    const ExampleColumn& column = all.columns[i];
    if (column.once) {
      extend_column(result.columns[i], column, example, example + 1);
      if (column.source) result.columns[i].ends.push_back(result.columns[i].entries());
    } else if (column.source) {
      const Range chain = column.chain(example);
      extend_column(result.columns[i], column, chain.begin, chain.end);
      result.columns[i].ends.push_back(result.columns[i].entries());
    } else {
      extend_column(result.columns[i], column, from, to);
      if (column.cells.size() == at(all.count()) && column.cells.size() != at(column.entries()))
        result.columns[i].cells.append(column.cells, at(example), at(example + 1));
    }
  }
  if (!all.lines.empty()) result.lines.insert(result.lines.end(), all.lines.begin() + from, all.lines.begin() + to);
  if (all.are_trees())
    result.parents.insert(result.parents.end(), all.parents.begin() + from, all.parents.begin() + to);
  if (all.are_grids()) result.shapes.push_back(all.shapes[static_cast<std::size_t>(example)]);
  if (!all.example_lines.empty()) result.example_lines.push_back(all.example_lines[static_cast<std::size_t>(example)]);
  result.ends.push_back(result.positions() + to - from);
}

}  // namespace

const ExampleColumn& Examples::column(std::string_view name) const {
  if (const ExampleColumn* there = find(name)) return *there;
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const ExampleColumn& known : columns) names.push_back(known.name);
  // "created.weekday" is derived from "created".
  const std::string_view base = name.substr(0, name.rfind('.'));
  const bool derived = base.size() < name.size() && find(base) == nullptr;
  throw DataError(fmt::format("{} has no field \"{}\"{}{} (fields: {})", source, derived ? base : name,
                              did_you_mean(derived ? base : name, names),
                              derived ? fmt::format(", from which \"{}\" is derived", name) : "",
                              fmt::join(names, ", ")));
}

Examples subset(const Examples& all, std::span<const Index> examples) {
  Examples result = without_entries(all);
  for (const Index example : examples) add(all, example, all.begin(example), all.end(example), result);
  return result;
}

Examples part(const Examples& all, Index example, Index from, Index to) {
  Examples result = without_entries(all);
  add(all, example, all.begin(example) + from, all.begin(example) + to, result);
  return result;
}

void append(Examples& examples, Examples more) {
  if (examples.columns.size() != more.columns.size())
    throw DataError(fmt::format("{} has {} fields and {} has {}; use the same fields in all files", examples.source,
                                examples.columns.size(), more.source, more.columns.size()));
  for (std::size_t i = 0; i < more.columns.size(); ++i) {
    ExampleColumn &column = examples.columns[i], &added = more.columns[i];
    if (column.name != added.name)
      throw DataError(
          fmt::format("field {} is named \"{}\" in {} and \"{}\" in {}; use the same fields in the same order", i + 1,
                      column.name, examples.source, added.name, more.source));
    if (column.once != added.once || column.source != added.source) {
      const auto kind_of = [](const ExampleColumn& c) {
        return c.source ? "a source sequence" : c.once ? "one entry per example" : "one entry per position";
      };
      throw DataError(fmt::format("field {} has {} in {}, but {} in {}; use the same kind in all files", added.name,
                                  kind_of(column), examples.source, kind_of(added), more.source));
    }
    settle_kind(examples, column, more, added);
    // The new list extends the known classes.
    if (added.classes.size() >= column.classes.size()) column.classes = added.classes;
    extend_column(column, added);
  }
  if (examples.are_trees() != more.are_trees())
    throw DataError(fmt::format("{} and {}: trees and sequences cannot be combined; use files of one kind",
                                examples.source, more.source));
  if (examples.are_grids() != more.are_grids())
    throw DataError(fmt::format("{} and {}: grids and sequences cannot be combined; use files of one kind",
                                examples.source, more.source));
  extend(examples.remarks, more.remarks);
  extend(examples.parents, more.parents);
  extend(examples.shapes, more.shapes);
  const Index before = examples.positions();
  examples.ends.reserve(examples.ends.size() + more.ends.size());
  for (const Index end : more.ends) examples.ends.push_back(before + end);
  examples.lines.clear();  // line numbers are ambiguous with several files
  examples.example_lines.clear();
  examples.source += ", " + more.source;
}

void mark_entry(ExampleColumn& column, bool missing) {
  if (missing && column.missing.empty()) column.missing.resize(at(column.entries() - 1), 0);
  if (missing || !column.missing.empty()) column.missing.push_back(missing ? 1 : 0);
}

}  // namespace unfold
