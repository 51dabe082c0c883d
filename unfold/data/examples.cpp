#include "unfold/data/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "unfold/base/error.h"
#include "unfold/base/text_distance.h"

namespace unfold {
namespace {

template <class List>
void extend(List& list, List& more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void extend_column(ExampleColumn& column, ExampleColumn& more) {
  if (!column.missing.empty() || !more.missing.empty()) {
    column.missing.resize(static_cast<std::size_t>(column.entries()), 0);
    more.missing.resize(static_cast<std::size_t>(more.entries()), 0);
  }
  extend(column.missing, more.missing);
  const Index before = column.entries();
  for (const Index end : more.ends) column.ends.push_back(before + end);
  extend(column.texts, more.texts);
  extend(column.numbers, more.numbers);
}

/// Entries [begin, end) of a column go behind those of another.
void extend_column(ExampleColumn& column, const ExampleColumn& from, Index begin, Index end) {
  const auto copy = [&](auto& list, const auto& more, Index width) {
    if (!more.empty()) list.insert(list.end(), more.begin() + begin * width, more.begin() + end * width);
  };
  copy(column.texts, from.texts, 1);
  copy(column.numbers, from.numbers, from.width);
  copy(column.missing, from.missing, 1);
}

Examples without_entries(const Examples& all) {
  Examples result{.source = all.source, .found = all.found};
  for (const ExampleColumn& column : all.columns)
    result.columns.push_back(
        {.name = column.name, .once = column.once, .width = column.width, .source = column.source});
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
  throw DataError(fmt::format("{} has no field \"{}\"{} (fields: {})", source, name, did_you_mean(name, names),
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
    throw DataError(fmt::format("{} has {} fields and {} has {}", examples.source, examples.columns.size(), more.source,
                                more.columns.size()));
  for (std::size_t i = 0; i < more.columns.size(); ++i) {
    ExampleColumn &column = examples.columns[i], &added = more.columns[i];
    if (column.name != added.name || column.width != added.width || column.once != added.once ||
        column.source != added.source)
      throw DataError(fmt::format("field {} of {} is not of the kind of field {} of {}", added.name, more.source,
                                  column.name, examples.source));
    if (added.classes.size() >= column.classes.size()) column.classes = added.classes;  // it knew those before
    extend_column(column, added);
  }
  if (examples.are_trees() != more.are_trees())
    throw DataError(fmt::format("{} and {}: trees and sequences are not read together", examples.source, more.source));
  if (examples.are_grids() != more.are_grids())
    throw DataError(fmt::format("{} and {}: grids and sequences are not read together", examples.source, more.source));
  extend(examples.parents, more.parents);
  extend(examples.shapes, more.shapes);
  const Index before = examples.positions();
  examples.ends.reserve(examples.ends.size() + more.ends.size());
  for (const Index end : more.ends) examples.ends.push_back(before + end);
  examples.lines.clear();  // of several files a line says nothing
  examples.example_lines.clear();
  examples.source += ", " + more.source;
}

}  // namespace unfold
