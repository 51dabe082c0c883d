#include "unfold/data/examples.h"

#include <fmt/format.h>

#include <iterator>

#include "unfold/base/error.h"

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
  extend(column.texts, more.texts);
  extend(column.numbers, more.numbers);
}

}  // namespace

void append(Examples& examples, Examples more) {
  if (examples.columns.size() != more.columns.size())
    throw DataError(fmt::format("{} has {} fields and {} has {}", examples.source, examples.columns.size(), more.source,
                                more.columns.size()));
  for (std::size_t i = 0; i < more.columns.size(); ++i) {
    ExampleColumn &column = examples.columns[i], &added = more.columns[i];
    if (column.name != added.name || column.width != added.width || column.once != added.once)
      throw DataError(fmt::format("field {} of {} is not of the kind of field {} of {}", added.name, more.source,
                                  column.name, examples.source));
    extend_column(column, added);
  }
  const Index before = examples.positions();
  examples.ends.reserve(examples.ends.size() + more.ends.size());
  for (const Index end : more.ends) examples.ends.push_back(before + end);
  examples.lines.clear();  // of several files a line says nothing
  examples.example_lines.clear();
  examples.source += ", " + more.source;
}

}  // namespace unfold
