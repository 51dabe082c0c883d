#pragma once
/// Splits the bytes of a table into rows and cells (RFC 4180), even if the bytes arrive in pieces.
///
/// Cells are separated by one character, and blanks at their ends are removed, including no-break spaces. A cell that
/// begins with a quote may contain separators, line ends, doubled quotes and blanks at its ends, except around a number
/// or a date.

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

inline constexpr char kNoCellSeparator = '\0';  ///< separator of a table with one column

struct TableRow {
  std::vector<std::string_view> cells;
  std::string_view bytes;        ///< the row without its line ending
  Index line = 1;                ///< line at which the row begins, from 1
  bool comment = false;          ///< the row begins with the comment prefix; it has no cells
  bool plain = true;             ///< printable ASCII only
  bool carriage_return = false;  ///< the line ending is CRLF
  bool line_end = false;         ///< false for a last row without one
  bool misplaced_quote = false;  ///< text after a closing quote
};

class RowSplitter {
 public:
  /// `line_end` is '\n' (LF and CRLF) or '\r'.
  RowSplitter(char separator, char line_end, std::string comment);

  enum class Result { row, incomplete, unclosed_quote };
  /// Reads the row at `position` and advances past it. `incomplete`: the bytes end within the row (or there are none),
  /// and `position` is unchanged; never with `last`. `unclosed_quote`: the row ends within quotes and `last` is set.
  /// The cells are valid until the next call. REQUIRES: there are bytes at `position` if `last` is set.
  Result next(std::string_view bytes, std::size_t& position, bool last, TableRow& row);

  /// From this call on, a quote is an ordinary character.
  void ignore_quotes() { quotes_ = false; }
  Index line() const { return line_; }

 private:
  bool unquoted_cells(std::string_view bytes, std::size_t& i, bool& printable, TableRow& row);
  bool opens_quote(std::string_view bytes, std::size_t& i) const;
  Result quoted_cell(std::string_view bytes, std::size_t& i, bool last, TableRow& row);
  std::string_view cell_of(const char* cell, std::size_t size) const;
  std::string_view stripped(std::string_view cell) const;
  std::string_view without_padding(std::string_view cell) const;

  char separator_, cell_end_, line_end_;  ///< cell_end_: a separator, or the line ending if there is none
  std::string comment_;
  bool quotes_ = true;
  Index line_ = 1, next_line_ = 1;
  std::deque<std::string> unescaped_;
  std::size_t count_ = 0;  ///< number of cells read from this row
  std::size_t used_ = 0;   ///< number of entries of `unescaped_` used in this row
};

}  // namespace unfold
