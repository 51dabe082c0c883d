#pragma once
/// Converts rows to vectors, the input of models of vector distributions. Every position of every example becomes a
/// separate example (or, for distributions of sequences, remains a position), with the numbers of its columns
/// concatenated into one vector. A string is a class, represented by its index among the distinct strings of the
/// column.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "unfold/data/examples/examples.h"

namespace unfold {

/// The class names of columns, by column.
using ColumnClasses = std::map<std::string, std::vector<std::string>, std::less<>>;

struct VectorRows {
  std::string field = {};  ///< name of the vector field; empty: no conversion
  std::string one = {};    ///< name of an additional field with the constant value 1
  bool holes = false;      ///< missing numbers are allowed and represented by NaN
  /// The columns of the vector, in this order; empty: all columns with an entry per position.
  std::vector<std::string> columns = {};
  std::set<std::string, std::less<>> as_classes = {};  ///< columns whose numbers are classes
  ColumnClasses classes = {};                          ///< known classes
  bool further = true;                                 ///< new classes are allowed
  bool sequences = false;                              ///< examples remain sequences: each position has a vector
  std::string without = {};                            ///< a column to leave out: the one that identifies the sequences
};

/// Adds the vector, with one entry per example (unless they are sequences). The names of its components and classes are
/// recorded (ExampleColumn::parts, classes): the name of a column, or "notes.1", "notes.2", ... for a vector column.
/// New classes follow the known ones, in alphabetical order. Throws a DataError that names the line for a class that is
/// not allowed, a missing number (without `holes`), or more than a thousand classes; UsageError for an unknown column.
void make_vectors(const VectorRows& how, Examples& examples);

/// Returns the classes of such a vector, by column, for the columns that have classes.
ColumnClasses classes_of(const ExampleColumn& vectors);

}  // namespace unfold
