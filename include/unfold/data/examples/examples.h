#pragma once
/// Examples as a reader returns them: each is a sequence of positions with named columns of strings or numbers.
/// Alphabets, standardization and derived fields are applied later (data/examples/example_set.h).

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/data/examples/text_list.h"

namespace unfold {

struct TableSchema;

/// One column of all examples: one entry per position, or one per example.
struct ExampleColumn {
  std::string name;
  bool once = false;  ///< one entry per example, such as a class
  Index width = 0;    ///< 0: strings; otherwise the number of numbers per entry
  /// Entries form a separate chain that the positions of the example attend to, such as the source of a translation. If
  /// the column also has one entry per example, that chain has one position.
  bool source = false;
  bool characters = false;  ///< for running text: entries are characters instead of words

  TextList texts = {};                  ///< the strings, one per entry, if the width is 0
  std::vector<double> numbers = {};     ///< `width` per entry, one entry after another
  std::vector<char> missing = {};       ///< one flag per entry; empty: no entry is missing
  std::vector<Index> ends = {};         ///< for a source: one per example, its end in the entries
  std::vector<std::string> parts = {};  ///< names of the numbers of an entry; empty: unnamed
  /// The class names for each number that is a class index; an empty list for other numbers. Empty: no number is a
  /// class index.
  std::vector<std::vector<std::string>> classes = {};
  /// If several files disagree on whether the entries are strings or numbers: the error message for reading or
  /// predicting the column, whose entries are then strings. Empty: they agree.
  std::string clash = {};
  /// The cells of the file where an entry is written differently: "1,200" for 1200. One per entry, or one per example
  /// if the entries are the words or characters of one cell. Empty: entries are written unchanged.
  TextList cells = {};
  /// Whether the strings are integers, true or false, which JSON shows without quotes. For an in-memory column from
  /// which a table is built: whether some of the strings may be numbers.
  bool integers = false;
  bool derived = false;  ///< computed by the reader from a different column, and not written with the data

  bool is_text() const { return width == 0; }
  Index entries() const {
    return is_text() ? static_cast<Index>(texts.size()) : static_cast<Index>(numbers.size()) / width;
  }
  /// For a source: the entries of an example.
  Range chain(Index example) const {
    return {example == 0 ? 0 : ends[static_cast<std::size_t>(example - 1)], ends[static_cast<std::size_t>(example)]};
  }
  bool is_class(std::size_t number) const { return number < classes.size() && !classes[number].empty(); }
  bool present(Index entry) const { return missing.empty() || missing[static_cast<std::size_t>(entry)] == 0; }
  bool operator==(const ExampleColumn&) const = default;
};

struct Examples {
  std::string source;                       ///< name of the file, used in messages
  std::vector<ExampleColumn> columns = {};  ///< names are unique
  std::vector<Index> ends = {};             ///< one per example: its end in the positions
  std::vector<Index> lines = {};            ///< line of the file, from 1, of each position; empty: unknown
  std::vector<Index> example_lines = {};    ///< line of each example; empty: unknown
  /// For trees, one per position: the position of its parent within the example, or -1 for the root. Children precede
  /// their parents, so the root is the last one. Empty: examples are not trees.
  std::vector<Index> parents = {};
  /// For trees: the shape is unknown and will be found by a model. The words come first, in order.
  bool found = false;
  /// For grids, one per example: height and width; positions are stored row by row. Empty: examples are not grids.
  std::vector<std::pair<Index, Index>> shapes = {};
  std::vector<std::string> remarks = {};  ///< notes from the reader to the user, one sentence each
  /// For tables: what the columns contain and what they are used for. The type is not public.
  std::shared_ptr<const TableSchema> schema = nullptr;

  bool are_trees() const { return !parents.empty(); }
  bool are_grids() const { return !shapes.empty(); }
  Index count() const { return static_cast<Index>(ends.size()); }
  Index positions() const { return ends.empty() ? 0 : ends.back(); }
  Index begin(Index example) const { return example == 0 ? 0 : ends[static_cast<std::size_t>(example - 1)]; }
  Index end(Index example) const { return ends[static_cast<std::size_t>(example)]; }
  Index length(Index example) const { return end(example) - begin(example); }
  /// Returns the column with this name; null if there is none.
  const ExampleColumn* find(std::string_view name) const {
    for (const ExampleColumn& column : columns)
      if (column.name == name) return &column;
    return nullptr;
  }
  /// Throws DataError with the nearest name and all column names.
  const ExampleColumn& column(std::string_view name) const;
  /// Compares everything except the schema, which describes the columns.
  bool operator==(const Examples& other) const {
    const auto parts = [](const Examples& e) {
      return std::tie(e.source, e.columns, e.ends, e.lines, e.example_lines, e.parents, e.found, e.shapes, e.remarks);
    };
    return parts(*this) == parts(other);
  }
};

/// Returns a subset of the examples, in the given order.
Examples subset(const Examples& all, std::span<const Index> examples);
/// Returns positions [from, to) of one example, which must be a sequence.
Examples part(const Examples& all, Index example, Index from, Index to);
/// Appends further examples. A column without values takes the type that it has in the other file; a column that
/// contains strings in one file and numbers in the other becomes a string column and is marked (ExampleColumn::clash).
/// Throws DataError if the columns differ otherwise, or if only one of them consists of trees or grids.
void append(Examples& examples, Examples more);

}  // namespace unfold
