#pragma once
/// Rows of tab-separated cells (escape_cell) as CSV (RFC 4180): commas between cells, quotation marks around cells that
/// contain a comma, a quotation mark or the end of a line, and line feeds between rows.
///
///   CommaRows rows;
///   file.write(rows.next("name\tper"));    // nothing yet
///   file.write(rows.next("son\na,b\t1\n"));  // name,person and "a,b",1

#include <string>
#include <string_view>

namespace unfold {

class CommaRows {
 public:
  /// Returns the rows that the next piece completes.
  std::string next(std::string_view piece);
  /// Returns a last row without a line feed.
  std::string finish();

 private:
  std::string pending_;  ///< the beginning of a row
};

/// Returns whether the name of a file ends in .csv.
bool is_csv_name(std::string_view path);

}  // namespace unfold
