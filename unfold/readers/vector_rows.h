#pragma once
/// Rows as vectors: what distributions of vectors are of. Every position of every example becomes an example of its
/// own, with the numbers of its columns, one after another, as one vector.

#include <string>
#include <vector>

#include "unfold/data/examples.h"

namespace unfold {

struct VectorRows {
  std::string field = {};                 ///< what the vector is called; empty: examples stay as they are
  std::string one = {};                   ///< a field of the number 1, beside it
  bool holes = false;                     ///< numbers may be missing: NaN then
  std::vector<std::string> columns = {};  ///< whose numbers it holds, in this order; empty: all that stand at positions
};

/// The vector stands once an example, and knows what its numbers are called (ExampleColumn::parts): a column, or of a
/// column of vectors "notes.1", "notes.2", ... Throws DataError with the line: a text, a number that is missing
/// (without `holes`); UsageError for a column that there is none of.
void make_vectors(const VectorRows& how, Examples& examples);

}  // namespace unfold
