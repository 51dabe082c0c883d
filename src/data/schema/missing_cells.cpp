#include "data/schema/missing_cells.h"

#include <algorithm>
#include <array>

namespace unfold {

MissingSpelling missing_spelling(std::string_view cell) {
  if (!may_spell_missing(cell)) return MissingSpelling::none;
  if (cell.size() == 1) return MissingSpelling::mark;
  static constexpr std::array<std::string_view, 26> kWords = {
      "null", "NULL", "Null",    "None",    "none",  "NONE",   "N/A",   "n/a",   "NA",
      "na",   "nan",  "NaN",     "NAN",     "#N/A",  "<NA>",   "NaT",   "#NA",   "-nan",
      "-NaN", "\\N",  "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"};
  return std::ranges::find(kWords, cell) != kWords.end() ? MissingSpelling::word : MissingSpelling::none;
}

MissingSpelling missing_spelling(std::string_view cell, const MissingCells& missing) {
  if (std::ranges::find(missing.spellings, cell) != missing.spellings.end()) return MissingSpelling::word;
  return missing.defaults ? missing_spelling(cell) : MissingSpelling::none;
}

bool is_missing_cell(std::string_view cell, const MissingCells& missing, bool marks) {
  if (cell.empty()) return true;
  const MissingSpelling spelling = missing_spelling(cell, missing);
  return spelling == MissingSpelling::word || (spelling == MissingSpelling::mark && marks);
}

}  // namespace unfold
