#pragma once
/// Rows as vectors: what distributions of vectors are of. Every position of every example becomes an example of its
/// own (or, of distributions of sequences, stays where it is), with the numbers of its columns, one after another, as
/// one vector. A text is a class: its number is its place
/// among the texts of the column.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "unfold/data/examples.h"

namespace unfold {

/// What the classes of columns are called, by column.
using ColumnClasses = std::map<std::string, std::vector<std::string>, std::less<>>;

struct VectorRows {
  std::string field = {};                 ///< what the vector is called; empty: examples stay as they are
  std::string one = {};                   ///< a field of the number 1, beside it
  bool holes = false;                     ///< numbers may be missing: NaN then
  std::vector<std::string> columns = {};  ///< whose numbers it holds, in this order; empty: all that stand at positions
  std::set<std::string, std::less<>> as_classes = {};  ///< columns whose numbers are classes
  ColumnClasses classes = {};                          ///< those that are known
  bool further = true;                                 ///< there may be others
  bool sequences = false;                              ///< examples stay sequences: the vector stands at every position
  std::string without = {};                            ///< a column that is none of them: what names sequences
};

/// The vector stands once an example (unless they are sequences), and knows what its numbers and their classes are
/// called (ExampleColumn::parts, classes): a column, or of a column of vectors "notes.1", "notes.2", ... Classes that
/// are not known yet stand behind those that are, in the order of their texts. Throws DataError with the line: a class
/// that may not be, a number that is missing (without `holes`), more than a thousand classes; UsageError for a column
/// that there is none of.
void make_vectors(const VectorRows& how, Examples& examples);

/// The classes of such a vector, by the columns that have any.
ColumnClasses classes_of(const ExampleColumn& vectors);

}  // namespace unfold
