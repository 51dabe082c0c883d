#include "data/readers/open_quotes.h"

#include <algorithm>
#include <array>

#include "data/cells/row_splitter.h"

namespace unfold {
namespace {

constexpr std::array<char, 4> kSeparators = {'\t', ';', ',', '|'};

bool is_empty_row(const TableRow& row) { return row.cells.size() == 1 && row.cells[0].empty(); }

/// Returns whether a separator gives all first rows the same number of cells, more than one.
class CellCount {
 public:
  explicit CellCount(char separator) : separator_(separator) {}

  /// Counts the cells of further rows, which must be complete.
  void see(std::string_view rows) {
    if (differs_ || seen_ == kRowsToSee) return;
    RowSplitter splitter(separator_, '\n', {});
    TableRow row;
    for (std::size_t position = 0; position < rows.size() && seen_ < kRowsToSee;) {
      const bool complete = splitter.next(rows, position, true, row) == RowSplitter::Result::row;
      differs_ = !complete || row.misplaced_quote;  // with another separator, it may not be a complete row
      if (differs_) return;
      if (is_empty_row(row)) continue;
      if (wanted_ == 0) wanted_ = row.cells.size();
      differs_ = row.cells.size() != wanted_ || wanted_ < 2;
      if (differs_) return;
      ++seen_;
    }
  }
  bool separates() const { return !differs_ && wanted_ > 1; }
  bool saw_enough() const { return seen_ == kRowsToSee; }

 private:
  static constexpr Index kRowsToSee = 100;
  char separator_;
  bool differs_ = false;
  std::size_t wanted_ = 0;
  Index seen_ = 0;
};

/// Returns the most frequent candidate in the first line.
char most_frequent_separator(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto count = [&](char separator) { return std::count(line.begin(), line.end(), separator); };
  const char most =
      *std::max_element(kSeparators.begin(), kSeparators.end(), [&](char a, char b) { return count(a) < count(b); });
  return count(most) > 0 ? most : kNoCellSeparator;
}

}  // namespace

/// Tracks whether the text is inside quotes for one separator. As in RowSplitter, a quote opens only at the beginning
/// of a cell.
struct OpenQuotes::Candidate {
  explicit Candidate(char which) : separator(which), cells(which) {}

  void read(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (inside) {
        i = line.find('"', i);
        if (i == std::string_view::npos) return;
        const bool doubled = i + 1 < line.size() && line[i + 1] == '"';
        i += doubled ? 1 : 0;
        inside = doubled;
        continue;
      }
      inside = begins && line[i] == '"';
      const bool ends = line[i] == '\n' || (separator != kNoCellSeparator && line[i] == separator);
      begins = ends || (begins && line[i] == ' ');
    }
  }

  char separator;
  CellCount cells;
  bool inside = false, begins = true;  // begins: a cell begins at the next character
  std::size_t row = 0;                 // start of the first incomplete row
};

OpenQuotes::OpenQuotes() {
  for (const char separator : kSeparators) candidates_.emplace_back(separator);
  candidates_.emplace_back(kNoCellSeparator);
}

OpenQuotes::OpenQuotes(const OpenQuotes&) = default;
OpenQuotes& OpenQuotes::operator=(const OpenQuotes&) = default;
OpenQuotes::~OpenQuotes() = default;

void OpenQuotes::add(std::string_view line) {
  if (text_.empty()) fallback_ = most_frequent_separator(line);
  text_ += line;
  for (Candidate& candidate : candidates_) {
    candidate.read(line);
    if (candidate.inside) continue;
    if (candidate.separator != kNoCellSeparator) candidate.cells.see(std::string_view(text_).substr(candidate.row));
    candidate.row = text_.size();
  }
}

bool OpenQuotes::inside() const {
  for (const Candidate& candidate : candidates_)
    if (candidate.cells.separates() && (!candidate.inside || candidate.cells.saw_enough())) return candidate.inside;
  return std::ranges::find(candidates_, fallback_, &Candidate::separator)->inside;
}

}  // namespace unfold
