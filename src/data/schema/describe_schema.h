#pragma once
/// The schema of a table as text, for `unfold inspect`, and as JSON. Control characters and undecodable bytes of the
/// data are escaped: an escape sequence in a file never reaches the terminal.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "data/schema/table_schema.h"

namespace unfold {

/// Returns at most `most` bytes of a cell as printable UTF-8, with "..." after a truncated cell. Control characters
/// (including U+0080 to U+009F, U+2028, U+2029 and the marks that change the direction of text) become \n, \t, \r or
/// \u{...}, and bytes that are not UTF-8 become \xNN. A backslash is doubled.
std::string escape_cell(std::string_view cell, std::size_t most);

/// Returns the plural name of the cell separator: "commas"; "nothing (one column)" if there is no separator.
const char* separator_name(char separator);

/// Returns a few lines about the table, then one line per column with type, role, missing values, examples and reasons,
/// and one line per odd cell. Tables with more than 200 columns are truncated, which an additional line reports.
std::string describe(const TableSchema& schema);
/// Returns one sentence for the progress output of `train`: what is read, predicted, used as group and order, and left
/// out, and why.
std::string describe_briefly(const TableSchema& schema);
/// Returns one object with all columns.
nlohmann::json to_json(const TableSchema& schema);

}  // namespace unfold
