#include "data/schema/table_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "data/cells/civil_date.h"
#include "data/cells/row_splitter.h"
#include "data/schema/column_names.h"
#include "data/schema/describe_schema.h"
#include "data/schema/missing_cells.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::array<char, 4> kCellSeparators = {'\t', ';', ',', '|'};
constexpr const char* kValueName = "value";  ///< name of the column if a list of numbers has none
constexpr std::size_t kMostSampleRows = 500;
constexpr double kConsistentShare = 0.9;
constexpr double kTypedShare = 0.9;  ///< like the shares of ColumnProfile
constexpr Index kTypedBesidesOne = 3;
constexpr std::size_t kRowsOfCount =
    3;  ///< minimum number of rows for a header above a row counter from 1, which may otherwise be a class
constexpr std::size_t kLongestName = 64;
constexpr Index kWordsOfName = 6;

using SampleRow = std::vector<std::string>;

/// The first rows without comments and empty lines, split by one separator.
struct SampledRows {
  std::vector<SampleRow> rows;
  std::vector<Index> lines;
  std::size_t columns = 0;   ///< the most frequent number of cells; if several are equally frequent, the number in the
                             ///< first row
  std::size_t agreeing = 0;  ///< number of rows with that number of cells
  bool quotes = false;
  Index separators = 0, before_blank = 0;

  double share() const { return rows.empty() ? 0 : static_cast<double>(agreeing) / static_cast<double>(rows.size()); }
  bool splits() const { return columns > 1; }
};

bool blank_row(const TableRow& row) { return row.cells.size() == 1 && row.cells[0].empty(); }

SampledRows sampled_rows(std::string_view text, bool complete, char separator, char line_end,
                         const std::string& comment) {
  SampledRows sample;
  RowSplitter splitter(separator, line_end, comment);
  TableRow row;
  std::size_t position = 0;
  while (position < text.size() && sample.rows.size() < kMostSampleRows) {
    const RowSplitter::Result result = splitter.next(text, position, complete || sample.rows.empty(), row);
    if (result == RowSplitter::Result::incomplete) break;
    if (result == RowSplitter::Result::unclosed_quote) {
      splitter.ignore_quotes();
      continue;
    }
    if (row.comment || blank_row(row)) continue;
    sample.quotes = sample.quotes || row.bytes.find('"') != std::string_view::npos;
    for (std::size_t i = 0; i + 1 < row.bytes.size(); ++i) {
      if (row.bytes[i] != separator) continue;
      ++sample.separators;
      sample.before_blank += row.bytes[i + 1] == ' ' ? 1 : 0;
    }
    sample.rows.emplace_back(row.cells.begin(), row.cells.end());
    sample.lines.push_back(row.line);
  }
  std::map<std::size_t, std::size_t> counts;
  for (const SampleRow& cells : sample.rows) ++counts[cells.size()];
  if (!sample.rows.empty()) sample.columns = sample.rows[0].size(), sample.agreeing = counts[sample.columns];
  for (const auto& [cells, count] : counts) {
    if (count <= sample.agreeing) continue;
    sample.columns = cells;
    sample.agreeing = count;
  }
  return sample;
}

/// Returns the separator that splits the rows into equally many cells. Among several, one that is not mostly followed
/// by blanks, as in prose, is preferred, then a tab, then a semicolon.
char separator_of(std::string_view text, bool complete, char line_end, const SchemaOptions& options) {
  char best = kNoCellSeparator;
  double best_score = 0;
  char occurs = kNoCellSeparator;  // a separator that occurs in all rows, but not equally often
  for (const char separator : kCellSeparators) {
    const SampledRows sample = sampled_rows(text, complete, separator, line_end, options.comment);
    if (!sample.splits()) continue;
    if (separator == ',' && options.decimal == DecimalMark::comma && !sample.quotes) continue;
    const bool first = sample.rows[0].size() == sample.columns;
    if (!first && separator == ',' && sample.columns == 2) continue;  // decimal commas below a name
    const bool prose = sample.before_blank * 2 > sample.separators;
    const bool everywhere = sample.rows.size() > 1 &&
                            std::ranges::none_of(sample.rows, [](const SampleRow& row) { return row.size() < 3; });
    if (everywhere && !prose && occurs == kNoCellSeparator) occurs = separator;
    const double score = (sample.share() >= kConsistentShare ? 4
                          : sample.share() >= 0.5            ? 2
                                                             : 0) +
                         (first ? 1 : 0) + (sample.share() == 1 ? 0.5 : 0) - (prose ? 1 : 0);
    if (score >= 2 && score > best_score) {
      best_score = score;
      best = separator;
    }
  }
  return best == kNoCellSeparator ? occurs : best;
}

bool is_missing_cell(const std::string& cell, const SchemaOptions& options) {
  return is_missing_cell(cell, options.missing, /*marks=*/true);
}

bool is_number_cell(const std::string& cell) {
  return scan_number(cell).shape != NumberShape::none || !split_unit(cell).number.empty();
}

bool is_date_cell(const std::string& cell) { return scan_date(cell).shape != DateScan::Shape::none; }

bool looks_like_name(const std::string& cell) {
  const Index blanks = std::count(cell.begin(), cell.end(), ' ');
  return !cell.empty() && cell.size() <= kLongestName && blanks < kWordsOfName && !is_number_cell(cell) &&
         !is_date_cell(cell);
}

bool is_known_name(const std::string& cell) {
  static const std::vector<std::string> kKnown = {"text",    "value", "name",     "word",    "sentence",
                                                  "load",    "price", "title",    "message", "review",
                                                  "comment", "tweet", "question", "body"};
  return is_identifier_name(cell) || is_class_name(cell) || is_date_name(cell) ||
         std::find(kKnown.begin(), kKnown.end(), lower_name(cell)) != kKnown.end();
}

struct HeaderDecision {
  bool header = false;
  std::string reason;
};

class HeaderRule {
 public:
  HeaderRule(const SampledRows& sample, const SchemaOptions& options) : options_(options), columns_(sample.columns) {
    for (const SampleRow& row : sample.rows) {
      if (row.size() == columns_) rows_.push_back(&row);
    }
  }

  HeaderDecision decide() const {
    if (options_.header) return {*options_.header, "set by --header"};
    if (const std::string* known = stated_name(); known != nullptr)
      return {true, fmt::format("row 1 has the name \"{}\" of a known column", escape_cell(*known, kMostOddBytes))};
    if (rows_.size() < 2) {
      const bool names = std::all_of(head().begin(), head().end(), is_known_name);
      return {names, names ? "the only row has names of columns" : "there is only one row"};
    }
    if (numbers_columns()) return {true, "row 1 numbers the columns from 0, after an index without a name"};
    bool empty = false;
    std::size_t typed_heads = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
      const std::string& cell = head()[c];
      if (is_missing_cell(cell, options_)) {
        empty = true;
        continue;
      }
      typed_heads += is_number_cell(cell) || is_date_cell(cell) ? 1 : 0;
    }
    if (typed_heads > 0) return years(typed_heads);
    for (std::size_t c = 0; c < columns_; ++c) {
      if (!is_missing_cell(head()[c], options_) && looks_like_name(head()[c]) && typed_below(c)) {
        return {true,
                fmt::format("row 1 has the name \"{}\" above numbers or dates", escape_cell(head()[c], kMostOddBytes))};
      }
    }
    const bool named = std::any_of(head().begin(), head().end(), [](const std::string& cell) { return !cell.empty(); });
    if (empty && !(named && row_numbers() && stand_alone()))
      return {false, "row 1 has an empty or missing cell and no names above numbers"};
    if (columns_ == 1) {
      const bool known = is_known_name(head()[0]) && stand_alone();
      return {known, known ? fmt::format("\"{}\" is a common column name", head()[0])
                           : "the only column has text from row 1 on"};
    }
    if (!stand_alone()) return {false, "a cell of row 1 occurs again below it"};
    for (std::size_t c = 0; c < columns_; ++c) {
      if (!head()[c].empty() && !looks_like_name(head()[c])) return {false, "a cell of row 1 is too long for a name"};
    }
    return {true, "no cell of row 1 occurs again below it"};
  }

 private:
  const SampleRow& head() const { return *rows_[0]; }

  /// Returns a cell of the first row that is the name of a column whose type an option specifies. Numbers are ignored,
  /// because they name columns of tables without a header.
  const std::string* stated_name() const {
    if (rows_.empty()) return nullptr;
    for (const std::string& cell : head())
      if (!is_number_cell(cell) && options_.types.count(cell) > 0) return &cell;
    return nullptr;
  }

  /// Returns whether the first row is the header that pandas writes for columns without names: ",0,1".
  bool numbers_columns() const {
    if (columns_ < 2 || rows_.size() < kRowsOfCount || !head()[0].empty()) return false;
    for (std::size_t c = 1; c < columns_; ++c)
      if (head()[c] != std::to_string(c - 1)) return false;
    return true;
  }

  /// Returns whether a column has numbers or dates below the first row.
  bool typed_below(std::size_t c) const {
    Index entries = 0, typed = 0;
    for (std::size_t r = 1; r < rows_.size(); ++r) {
      const std::string& cell = (*rows_[r])[c];
      if (is_missing_cell(cell, options_)) continue;
      ++entries;
      typed += is_number_cell(cell) || is_date_cell(cell) ? 1 : 0;
    }
    return typed > 0 && (static_cast<double>(typed) >= kTypedShare * static_cast<double>(entries) ||
                         (typed == entries - 1 && typed >= kTypedBesidesOne));
  }

  bool stand_alone() const {
    for (std::size_t c = 0; c < columns_; ++c) {
      if (head()[c].empty()) continue;
      for (std::size_t r = 1; r < rows_.size(); ++r) {
        if ((*rows_[r])[c] == head()[c]) return false;
      }
    }
    return true;
  }

  /// Returns whether a column without a name counts the rows from 0 or 1.
  bool row_numbers() const {
    for (std::size_t c = 0; c < columns_; ++c) {
      if (!head()[c].empty()) continue;
      for (const std::size_t from : {0U, 1U}) {
        bool counts = from == 0 || rows_.size() > kRowsOfCount;
        for (std::size_t r = 1; r < rows_.size() && counts; ++r)
          counts = (*rows_[r])[c] == std::to_string(r - 1 + from);
        if (counts) return true;
      }
    }
    return false;
  }

  /// Numbers or dates in the first row are names if they are consecutive years (or dates), and either other cells are
  /// names or the numbers below are not such years.
  HeaderDecision years(std::size_t typed) const {
    HeaderDecision no = {false, "row 1 has numbers or dates"};
    if (typed < 2) return no;
    double previous = 0;
    bool names = false, years_below = false;
    for (std::size_t c = 0; c < columns_; ++c) {
      const std::string& cell = head()[c];
      if (!is_number_cell(cell) && !is_date_cell(cell)) {
        names = names || looks_like_name(cell);
        continue;
      }
      const NumberScan number = scan_number(cell);
      const double value =
          number.shape != NumberShape::none ? number.value : static_cast<double>(scan_date(cell).moment.days);
      const bool year = number.shape == NumberShape::none ||
                        (number.shape == NumberShape::integer && number.value >= 1800 && number.value <= 2200);
      if (!year || (previous != 0 && value <= previous)) return no;
      previous = value;
      for (std::size_t r = 1; r < rows_.size(); ++r) {
        const NumberScan below = scan_number((*rows_[r])[c]);
        if (is_date_cell((*rows_[r])[c])) years_below = true;
        if (number.shape != NumberShape::none && below.shape == NumberShape::integer && below.value >= 1800 &&
            below.value <= 2200) {
          years_below = true;
        }
      }
    }
    if (years_below && !names) return no;
    if (!names && typed < columns_) return no;
    if (names && !stand_alone()) return no;
    return {true, "row 1 contains years or dates in order, used as column names"};
  }

  const SchemaOptions& options_;
  std::size_t columns_;
  std::vector<const SampleRow*> rows_;
};

/// Returns the number of rows above the names of a table that are empty or contain only a title, in the first cell:
/// spreadsheets fill such rows with separators. A row of names, without numbers, dates and empty cells, must follow,
/// and numbers or dates below it. With two columns, one of the rows must be empty.
std::size_t title_rows(const SampledRows& sample) {
  constexpr std::size_t kFewColumns = 2, kMostTitleRows = 10;
  if (sample.columns < kFewColumns) return 0;
  const auto is_title = [](const SampleRow& row) {
    return std::all_of(row.begin() + 1, row.end(), [](const std::string& cell) { return cell.empty(); });
  };
  std::size_t titles = 0;
  while (titles < sample.rows.size() && sample.rows[titles].size() == sample.columns && is_title(sample.rows[titles]))
    ++titles;
  if (titles == 0 || titles > kMostTitleRows || titles + 1 >= sample.rows.size()) return 0;
  const bool has_empty_row = std::any_of(sample.rows.begin(), sample.rows.begin() + static_cast<Index>(titles),
                                         [](const SampleRow& row) { return row[0].empty(); });
  if (sample.columns == kFewColumns && !has_empty_row) return 0;  // a row with a missing value
  const SampleRow& names = sample.rows[titles];
  if (names.size() != sample.columns || !std::ranges::all_of(names, looks_like_name)) return 0;
  const auto is_typed = [](const std::string& cell) { return is_number_cell(cell) || is_date_cell(cell); };
  const bool typed = std::any_of(sample.rows.begin() + static_cast<Index>(titles) + 1, sample.rows.end(),
                                 [&](const SampleRow& row) { return std::ranges::any_of(row, is_typed); });
  return typed ? titles : 0;
}

void name_layout(TableLayout& layout, const SampleRow& head, bool one_column_of_numbers) {
  for (std::size_t c = 0; c < layout.columns; ++c) {
    std::string name = layout.header ? head[c] : "";
    if (name.empty()) name = one_column_of_numbers ? kValueName : std::to_string(c + 1);
    const std::string wanted = name;
    for (int copy = 2; std::find(layout.names.begin(), layout.names.end(), name) != layout.names.end(); ++copy) {
      name = fmt::format("{}.{}", wanted, copy);
    }
    if (name != wanted) {
      layout.notes.push_back(fmt::format("column {} is renamed to \"{}\" because an earlier column is named \"{}\"",
                                         c + 1, escape_cell(name, kMostOddBytes), escape_cell(wanted, kMostOddBytes)));
    }
    layout.names.push_back(name);
  }
}

/// Returns the names that are years or dates, or the twelve months after a year column; none if there is only one.
std::vector<std::string> period_names(const std::vector<std::string>& names) {
  if (are_year_and_months(names)) return {names.begin() + 1, names.end()};
  std::vector<std::string> periods;
  for (const std::string& name : names) {
    const NumberScan number = scan_number(name);
    const bool year = number.shape == NumberShape::integer && number.value >= 1800 && number.value <= 2200;
    if (year || is_date_cell(name)) periods.push_back(name);
  }
  return periods.size() < 2 ? std::vector<std::string>() : periods;
}

/// Returns for each part of a row between blanks whether it is a number.
std::vector<bool> numbers_between_blanks(std::string_view row) {
  std::vector<bool> numbers;
  while (!row.empty()) {
    const std::size_t end = std::min(row.find_first_of(" \t"), row.size());
    numbers.push_back(scan_number(row.substr(0, end)).shape != NumberShape::none);
    row.remove_prefix(std::min(row.find_first_not_of(" \t", end), row.size()));
  }
  return numbers;
}

/// Returns how many values, separated by blanks, each row below the first one contains; 0 if these counts differ, or if
/// the rows may be text: all values must be numbers, or the first row has as many parts and a part is a number in all
/// other rows.
Index values_between_blanks(const std::vector<SampleRow>& rows) {
  if (rows.size() < 2) return 0;
  std::vector<bool> always;
  std::size_t whole = 0;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const std::vector<bool> numbers = numbers_between_blanks(rows[r][0]);
    whole += scan_number(rows[r][0]).shape != NumberShape::none ? 1U : 0U;  // blanks between thousands
    if (r == 1) always = numbers;
    if (numbers.size() < 2 || numbers.size() != always.size()) return 0;
    for (std::size_t i = 0; i < always.size(); ++i) always[i] = always[i] && numbers[i];
  }
  if (whole + 1 >= rows.size()) return 0;
  const bool all = std::ranges::find(always, false) == always.end(),
             any = std::ranges::find(always, true) != always.end();
  const bool named = numbers_between_blanks(rows[0][0]).size() == always.size();
  return all || (any && named) ? static_cast<Index>(always.size()) : 0;
}

/// Removes the first line from a text and returns it without its line end.
std::string_view take_line(std::string_view& text, char line_end) {
  const std::size_t end = std::min(text.find(line_end), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The prefix of the lines above a table that are not rows, and a note about them.
struct Preamble {
  std::string comment, note;
};

/// Recognizes the separator that spreadsheets write into the first line, "sep=;", and lines that begin with #. If the
/// last of these lines has as many cells as the rows, it contains the names of the columns.
Preamble preamble_of(std::string_view text, bool complete, char line_end, const SchemaOptions& options) {
  if (!options.comment.empty()) return {options.comment, {}};
  std::string_view rest = text;
  const std::string_view first = take_line(rest, line_end);
  if (first.size() == 5 && first.starts_with("sep=")) return {"sep=", "line 1 states the separator and is skipped"};
  Index lines = 0;
  std::string_view last;
  for (rest = text; rest.starts_with('#'); ++lines) last = take_line(rest, line_end);
  if (lines == 0 || rest.empty()) return {};
  SchemaOptions without_comments = options;
  without_comments.comment = "#";
  const char separator = separator_of(text, complete, line_end, without_comments);
  std::string_view row = take_line(rest, line_end);
  while (row.empty() && !rest.empty()) row = take_line(rest, line_end);
  const bool names = separator == kNoCellSeparator
                         ? lines == 1
                         : std::ranges::count(last, separator) == std::ranges::count(row, separator);
  if (names) return {};
  return {"#", fmt::format("lines that begin with # are skipped as comments: there {} above the table",
                           lines == 1 ? "is 1" : fmt::format("are {}", lines))};
}

/// Throws DataError for a page or document that is named like a table.
void reject_markup(const std::string& source, std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  std::string begin(text.substr(0, 16));
  for (char& c : begin) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const bool html = begin.starts_with("<!doctype html") || begin.starts_with("<html");
  if (!html && !begin.starts_with("<?xml")) return;
  throw DataError(fmt::format("{}: it is {} and not a table; save the table as CSV", source, html ? "HTML" : "XML"));
}

}  // namespace

bool are_year_and_months(const std::vector<std::string>& names) {
  constexpr std::size_t kMonthsOfAYear = 12;
  if (names.size() != 1 + kMonthsOfAYear || !is_year_name(names.front())) return false;
  for (std::size_t m = 1; m <= kMonthsOfAYear; ++m) {
    const std::optional<Moment> month = parse_date(names[m] + " 2000", DateFormat::month_name);
    if (!month || civil_from_days(month->days).month != static_cast<Index>(m)) return false;
  }
  return true;
}

char line_end_of(std::string_view text) {
  return text.find('\n') == std::string_view::npos && text.find('\r') != std::string_view::npos ? '\r' : '\n';
}

TableLayout table_layout(const std::string& source, std::string_view text, bool complete,
                         const SchemaOptions& options) {
  reject_markup(source, text);
  TableLayout layout;
  layout.line_end = line_end_of(text);
  const Preamble preamble = preamble_of(text, complete, layout.line_end, options);
  layout.comment = preamble.comment;
  if (!preamble.note.empty()) layout.notes.push_back(preamble.note);
  SchemaOptions rows = options;
  rows.comment = layout.comment;
  layout.separator = separator_of(text, complete, layout.line_end, rows);
  SampledRows sample = sampled_rows(text, complete, layout.separator, layout.line_end, layout.comment);
  if (sample.rows.empty()) {
    throw DataError(fmt::format("{}: there are no rows; a table has one row per line", source));
  }
  if (const std::size_t titles = options.header ? 0 : title_rows(sample); titles > 0) {
    layout.titles = static_cast<Index>(titles);
    layout.notes.push_back(fmt::format("{} above the names of the columns, which {} only a title, {} skipped",
                                       titles == 1 ? "a row" : fmt::format("{} rows", titles),
                                       titles == 1 ? "contains" : "contain", titles == 1 ? "is" : "are"));
    sample.rows.erase(sample.rows.begin(), sample.rows.begin() + layout.titles);
    sample.lines.erase(sample.lines.begin(), sample.lines.begin() + layout.titles);
  }
  layout.columns = sample.columns;
  const auto first = std::find_if(sample.rows.begin(), sample.rows.end(),
                                  [&](const SampleRow& r) { return r.size() == sample.columns; });
  layout.first_line = sample.lines[at(first - sample.rows.begin())];
  const HeaderDecision decision = HeaderRule(sample, options).decide();
  layout.header = decision.header;
  layout.header_reason = decision.reason;
  const bool numbers =
      layout.columns == 1 && !layout.header && (is_number_cell((*first)[0]) || options.types.count(kValueName) > 0);
  layout.unnamed_first = layout.header && layout.columns > 1 && (*first)[0].empty();
  name_layout(layout, *first, numbers);
  if (layout.header && layout.columns > 1) layout.periods = period_names(layout.names);
  if (layout.separator == kNoCellSeparator) layout.blank_separated = values_between_blanks(sample.rows);
  for (auto row = first + (layout.header ? 1 : 0); row != sample.rows.end(); ++row)
    if (row->size() == layout.columns) layout.rows.push_back(*row);
  return layout;
}

}  // namespace unfold
