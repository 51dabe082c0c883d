#pragma once
/// Separator, line ending and header of a table, determined from its first rows.

#include <string>
#include <string_view>
#include <vector>

#include "data/schema/table_schema.h"

namespace unfold {

/// Returns '\r' if the text contains carriage returns and no line feeds, otherwise '\n'.
char line_end_of(std::string_view text);

/// Returns whether the names of columns are a year and the names of the twelve months in order.
bool are_year_and_months(const std::vector<std::string>& names);

struct TableLayout {
  char separator = ',';
  char line_end = '\n';
  std::string comment;  ///< prefix of lines that are skipped: specified by an option, or found in the lines above the
                        ///< table; may be empty
  std::size_t columns = 0;
  Index first_line = 0;  ///< line of the first row with this number of cells
  bool header = false;
  std::string header_reason;
  Index titles = 0;                ///< rows above the names that contain only a title; they are skipped
  bool unnamed_first = false;      ///< the header has no name for the first column
  std::vector<std::string> names;  ///< numbers from 1 for columns without a name
  std::vector<std::string> notes;
  Index blank_separated = 0;                   ///< how many blank-separated numbers each row of a one-column table
                                               ///< contains; 0: none
  std::vector<std::string> periods;            ///< names that are years or dates in order, at least two
  std::vector<std::vector<std::string>> rows;  ///< the first rows with this number of cells, without the header
};

/// `complete`: the text is the whole file. Throws DataError if there are no rows.
TableLayout table_layout(const std::string& source, std::string_view text, bool complete, const SchemaOptions& options);

}  // namespace unfold
