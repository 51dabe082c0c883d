#pragma once
/// Rows of tables that arrive line by line: whether a quoted cell continues in the next line.

#include <string>
#include <string_view>
#include <vector>

namespace unfold {

/// Tracks whether a table that is read line by line continues inside a quoted cell. The separator is determined from
/// the first rows, so all candidates are tried; each line is read once, regardless of the number of lines in a cell.
class OpenQuotes {
 public:
  OpenQuotes();
  OpenQuotes(const OpenQuotes&);
  OpenQuotes& operator=(const OpenQuotes&);
  ~OpenQuotes();

  void add(std::string_view line);  ///< REQUIRES: the line includes its line ending
  bool inside() const;

 private:
  struct Candidate;
  std::vector<Candidate> candidates_;
  std::string text_;
  char fallback_ = '\0';  ///< the separator if none gives all rows the same number of cells
};

}  // namespace unfold
