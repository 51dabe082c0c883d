#pragma once
/// Examples as a reader finds them in a file, before anything is made of them: each is a run of positions with named
/// columns of text or of numbers. Alphabets, standardisation and derived fields come later (data/example_set.h).

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// One column of all examples, entry after entry: one entry a position, or one an example.
struct ExampleColumn {
  std::string name;
  bool once = false;  ///< one entry an example, as a class is
  Index width = 0;    ///< 0: texts; otherwise so many numbers an entry
  /// Entries lie along a chain of its own, which the positions of the example look at: the source of what is predicted.
  /// Of one that an example has once, that chain has one position.
  bool source = false;
  bool characters = false;  ///< of running text: entries are its characters, not its words

  std::vector<std::string> texts = {};  ///< one an entry; of width 0
  std::vector<double> numbers = {};     ///< `width` an entry, one entry after another
  std::vector<char> missing = {};       ///< one flag an entry; empty: none is missing
  std::vector<Index> ends = {};         ///< of a source: one an example, number of entries up to its end
  std::vector<std::string> parts = {};  ///< what the numbers of an entry are called; empty: nothing
  /// What the classes are called that a number is the place of, of each number: an empty list of one that is none.
  /// Empty: no number is the place of a class.
  std::vector<std::vector<std::string>> classes = {};
  /// Of several files that do not agree whether the entries are texts or numbers: what people are told who read the
  /// column or predict it. Its entries are texts then. Empty: they agree.
  std::string clash = {};

  bool is_text() const { return width == 0; }
  Index entries() const {
    return is_text() ? static_cast<Index>(texts.size()) : static_cast<Index>(numbers.size()) / width;
  }
  /// Of a source: the entries of an example.
  Range chain(Index example) const {
    return {example == 0 ? 0 : ends[static_cast<std::size_t>(example - 1)], ends[static_cast<std::size_t>(example)]};
  }
  bool is_class(std::size_t number) const { return number < classes.size() && !classes[number].empty(); }
  bool present(Index entry) const { return missing.empty() || missing[static_cast<std::size_t>(entry)] == 0; }
  bool operator==(const ExampleColumn&) const = default;
};

struct Examples {
  std::string source;                       ///< the file, for messages
  std::vector<ExampleColumn> columns = {};  ///< names differ
  std::vector<Index> ends = {};             ///< one an example: number of positions up to its end
  std::vector<Index> lines = {};            ///< line of the file, from 1, of each position; empty: it has none
  std::vector<Index> example_lines = {};    ///< of each example; empty: it has none
  /// Of trees, one a position: the position of its parent within its example, or -1 of the root. Children stand before
  /// their parents, so the root is the last one. Empty: examples are no trees.
  std::vector<Index> parents = {};
  /// Of trees: their shape is not known yet, a model will find it. The words come first, in their order.
  bool found = false;
  /// Of grids, one an example: height and width; its positions lie row by row. Empty: examples are no grids.
  std::vector<std::pair<Index, Index>> shapes = {};
  std::vector<std::string> remarks = {};  ///< what a reader did that people should hear of, a sentence each

  bool are_trees() const { return !parents.empty(); }
  bool are_grids() const { return !shapes.empty(); }
  Index count() const { return static_cast<Index>(ends.size()); }
  Index positions() const { return ends.empty() ? 0 : ends.back(); }
  Index begin(Index example) const { return example == 0 ? 0 : ends[static_cast<std::size_t>(example - 1)]; }
  Index end(Index example) const { return ends[static_cast<std::size_t>(example)]; }
  Index length(Index example) const { return end(example) - begin(example); }
  /// Null when there is none.
  const ExampleColumn* find(std::string_view name) const {
    for (const ExampleColumn& column : columns)
      if (column.name == name) return &column;
    return nullptr;
  }
  /// Throws DataError with the nearest name and all that there are.
  const ExampleColumn& column(std::string_view name) const;
  bool operator==(const Examples&) const = default;
};

/// Some of the examples, in the given order.
Examples subset(const Examples& all, std::span<const Index> examples);
/// Positions [from, to) of one example, which is a sequence.
Examples part(const Examples& all, Index example, Index from, Index to);
/// Puts further examples behind these. A column without any value takes the kind that it has elsewhere; one of texts
/// here and of numbers there becomes texts, and says so (ExampleColumn::clash). Throws DataError when other things of
/// their columns differ, or only some are trees, or grids.
void append(Examples& examples, Examples more);

}  // namespace unfold
