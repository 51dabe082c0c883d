#pragma once
/// The spellings of missing values in the cells of a table.

#include <cstddef>
#include <string_view>

#include "data/schema/table_schema.h"

namespace unfold {

/// The usual spellings of missing values. Words represent missing values in columns of every type. Marks represent them
/// only in numeric and date columns, because elsewhere they are punctuation.
enum class MissingSpelling { none, word, mark };
MissingSpelling missing_spelling(std::string_view cell);
/// Returns whether a cell may have such a spelling: true for all cells that have one, false for most others.
inline bool may_spell_missing(std::string_view cell) {
  if (cell.empty() || cell.size() > 7) return false;
  const char c = cell[0];
  if (c >= '0' && c <= '9') return false;  // most cells
  if (cell.size() == 1) return c == '-' || c == '.' || c == '?';
  return c == 'n' || c == 'N' || c == '#' || c == '<' || c == '\\' || (c == '-' && (cell[1] == 'n' || cell[1] == 'N'));
}
/// Returns which of the stated spellings a cell has; kNoSpelling for none. Integers also match cells with zeros as
/// decimals: -999 matches -999.0.
inline constexpr std::size_t kNoSpelling = static_cast<std::size_t>(-1);
std::size_t find_stated_spelling(std::string_view cell, const MissingCells& missing);
inline std::size_t stated_spelling(std::string_view cell, const MissingCells& missing) {
  return missing.spellings.empty() ? kNoSpelling : find_stated_spelling(cell, missing);
}
/// Returns the kind of a cell that is not empty: a word for spellings that are stated, and the usual spellings unless
/// they are disabled.
MissingSpelling missing_spelling(std::string_view cell, const MissingCells& missing);
/// Returns whether a cell represents a missing value. `marks`: the column has numbers or dates.
bool is_missing_cell(std::string_view cell, const MissingCells& missing, bool marks);

}  // namespace unfold
