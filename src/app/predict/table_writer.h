#pragma once
/// Internal: writes a table with columns added, as tab-separated text or as JSON lines.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/predict/added_column.h"
#include "data/readers/conllu_lines.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Writes data with columns added.
class TableWriter {
 public:
  /// `symbols`: how the model's text was split into positions. `others`: lines that `rows` writes between the
  /// positions; null: none.
  TableWriter(const Examples& examples, const std::vector<AddedColumn>& added, std::string_view symbols,
              const std::function<void(std::string_view)>& write, ConlluLines* others = nullptr);

  void heading() const;

  void rows() const;

  /// Returns whether examples are sequences of rows, separated by empty lines.
  bool has_runs() const { return !by_example_; }

  /// Writes each row of a table as an object.
  void json_rows() const;

  void jsonl() const;

 private:
  /// Returns whether to show the nodes of trees, numbered from 1 in each tree, with the number of the parent (0 for the
  /// root).
  bool shows_parents() const { return examples_.are_trees() && !by_example_; }
  /// Returns whether to show the coordinates of a position in its grid, from 1.
  bool shows_places() const { return examples_.are_grids() && !by_example_; }

  /// Returns whether the table has the column. A sequence of numbers does not fit into the single cell of an example.
  bool is_shown(const ExampleColumn& column) const;

  /// Returns the name of an added column, with a number appended if the name is already taken.
  std::string free_name(const std::string& wanted) const;

  void write_row(Index example, Index position) const;
  void write_other(std::string_view line) const;

  Range entries(const ExampleColumn& column, Index example) const;
  /// Returns whether an entry is the end of a target, which is not part of the text.
  bool is_end(const ExampleColumn& column, Index entry) const;

  std::string whole_text(const ExampleColumn& column, Index example) const;

  const Examples& examples_;
  const std::vector<AddedColumn>& added_;
  std::vector<std::string> names_;  ///< names of the added columns, which differ from the names in the data
  bool characters_, target_characters_, by_example_ = false, of_pairs_ = false;
  const std::function<void(std::string_view)>& write_;
  ConlluLines* others_;
};

}  // namespace unfold
