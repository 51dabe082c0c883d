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

namespace {

/// Returns the integer of a number whose decimals are zeros: -999 for -999.0 and -999,00. Three zeros may be thousands,
/// so 1.000 and all other texts are returned as they are.
std::string_view without_zeros(std::string_view text) {
  constexpr std::size_t kThousands = 3;
  const std::size_t mark = text.find_first_of(".,"), first = text.starts_with('-') ? 1 : 0;
  if (mark == std::string_view::npos || mark == first || text.size() == mark + 1 + kThousands) return text;
  const bool digits = text.find_first_not_of("0123456789", first) == mark;
  const bool zeros = text.find_first_not_of('0', mark + 1) == std::string_view::npos;
  return digits && zeros ? text.substr(0, mark) : text;
}

}  // namespace

std::size_t find_stated_spelling(std::string_view cell, const MissingCells& missing) {
  const std::string_view plain = without_zeros(cell);
  const auto found = std::ranges::find_if(missing.spellings, [&](const std::string& spelling) {
    return spelling == cell || without_zeros(spelling) == plain;
  });
  return found == missing.spellings.end() ? kNoSpelling : static_cast<std::size_t>(found - missing.spellings.begin());
}

MissingSpelling missing_spelling(std::string_view cell, const MissingCells& missing) {
  if (stated_spelling(cell, missing) != kNoSpelling) return MissingSpelling::word;
  return missing.defaults ? missing_spelling(cell) : MissingSpelling::none;
}

bool is_missing_cell(std::string_view cell, const MissingCells& missing, bool marks) {
  if (cell.empty()) return true;
  const MissingSpelling spelling = missing_spelling(cell, missing);
  return spelling == MissingSpelling::word || (spelling == MissingSpelling::mark && marks);
}

}  // namespace unfold
