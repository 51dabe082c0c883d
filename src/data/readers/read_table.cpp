/// The format `table`: comma-, semicolon- or tab-separated values (RFC 4180), and files of one number per line.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_set>

#include "base/error.h"
#include "data/readers/reader_text.h"

namespace unfold {
namespace {

constexpr const char* kValue = "value";  ///< the name of the column of an unnamed list of numbers
constexpr char kNoSeparator = '\0';      ///< for a table with one column
constexpr std::array<char, 3> kSeparators = {'\t', ';', ','};

const char* separator_name(char separator) {
  switch (separator) {
    case '\t': return "tabs";
    case ';': return "semicolons";
    case ',': return "commas";
    default: return "nothing";
  }
}

/// Iterates over rows. Cells are separated by the separator and stripped of blanks; a quoted cell may contain
/// separators, line ends and doubled quotes.
class TableRows {
 public:
  TableRows(std::string source, std::string_view text, char separator)
      : source_(std::move(source)), text_(text), separator_(separator) {}

  /// Returns false at the end. Cells stay valid as long as the object.
  bool next(std::vector<std::string_view>& cells) {
    cells.clear();
    if (position_ >= text_.size()) return false;
    row_line_ = line_;
    for (;;) {
      cells.push_back(cell());
      if (position_ < text_.size() && is_separator(text_[position_])) {
        ++position_;
        continue;
      }
      if (position_ < text_.size()) ++position_;  // skips the line end
      ++line_;
      return true;
    }
  }
  Index line() const { return row_line_; }  ///< line where the row begins

 private:
  bool is_separator(char c) const { return separator_ != kNoSeparator && c == separator_; }
  bool ends_cell(char c) const { return c == '\n' || is_separator(c); }

  std::string_view cell() {
    std::size_t begin = position_;
    while (begin < text_.size() && text_[begin] == ' ') ++begin;
    if (begin < text_.size() && text_[begin] == '"') return quoted(begin + 1);
    while (position_ < text_.size() && !ends_cell(text_[position_])) ++position_;
    return without_blanks(text_.substr(begin, position_ - std::min(begin, position_)));
  }

  std::string_view quoted(std::size_t begin) {
    const Index opened = line_;
    std::string* unescaped = nullptr;  // created when a doubled quote is found
    for (std::size_t from = begin;;) {
      const std::size_t quote = text_.find('"', from);
      if (quote == std::string_view::npos) {
        throw_data_error(source_, opened, "a quote is not closed; close it, or double the quotes inside a cell");
      }
      const std::string_view piece = text_.substr(from, quote - from);
      line_ += std::count(piece.begin(), piece.end(), '\n');
      const bool doubled = quote + 1 < text_.size() && text_[quote + 1] == '"';
      if (doubled && unescaped == nullptr) unescaped = &unescaped_.emplace_back();
      if (unescaped != nullptr) unescaped->append(text_.substr(from, quote - from + (doubled ? 1 : 0)));
      from = quote + 2;
      if (doubled) continue;
      finish_quoted(quote + 1);
      return unescaped != nullptr ? std::string_view(*unescaped) : text_.substr(begin, quote - begin);
    }
  }

  void finish_quoted(std::size_t behind) {
    position_ = behind;
    while (position_ < text_.size() && !ends_cell(text_[position_])) {
      if (text_[position_] != ' ' && text_[position_] != '\r') {
        throw_data_error(source_, line_, "there is text after a closing quote; double the quotes inside a cell");
      }
      ++position_;
    }
  }

  std::string source_;
  std::string_view text_;
  char separator_;
  std::size_t position_ = 0;
  Index line_ = 1, row_line_ = 1;
  std::deque<std::string> unescaped_;
};

/// Whether a row is an empty line, which does not count as a row.
bool is_empty_row(const std::vector<std::string_view>& cells) { return cells.size() == 1 && cells[0].empty(); }

bool is_numeric(const NumberText& number) { return number.kind != NumberText::Kind::none; }

/// The cells by column, including the first row, which may be the header.
struct TableCells {
  std::vector<std::vector<std::string_view>> columns = {};
  std::vector<Index> lines = {};
  Index rows() const { return static_cast<Index>(lines.size()); }
};

class TableReading {
 public:
  /// Throws DataError if a row has more or fewer cells than the first.
  TableReading(const std::string& source, std::string_view text, char separator)
      : source_(source), separator_(separator), rows_(source, text, separator) {
    std::vector<std::string_view> cells;
    while (rows_.next(cells)) add_row(cells);
    drop_empty_end();
  }
  TableReading(const TableReading&) = delete;
  TableReading& operator=(const TableReading&) = delete;

  const TableCells& cells() const { return cells_; }

  /// Whether a column holds only numbers, or only numbers below its name.
  bool has_numbers(std::size_t column, std::size_t from) const {
    bool any = false;
    for (std::size_t i = from; i < cells_.columns[column].size(); ++i) {
      const NumberText number = number_of(cells_.columns[column][i]);
      if (!is_numeric(number)) return false;
      any |= number.kind != NumberText::Kind::missing;
    }
    return any;
  }
  Index number_columns(std::size_t from) const {
    Index count = 0;
    for (std::size_t c = 0; c < cells_.columns.size(); ++c) count += has_numbers(c, from) ? 1 : 0;
    return count;
  }

  /// The first row is a header if none of its cells is a number, and either some column has numbers below it or none of
  /// its cells is repeated below it. A header cell may be empty, because some programs write the column of row numbers
  /// without a name. Since an empty cell can also be a missing value, the header must then have a name above a column
  /// of numbers, or the rows must be numbered.
  bool has_header() const {
    if (cells_.rows() < 2) return false;
    bool empty = false;
    for (const auto& column : cells_.columns) {
      if (column[0].empty())
        empty = true;
      else if (is_numeric(number_of(column[0])))
        return false;
    }
    if (empty) return names_numbers() || (has_row_numbers() && header_is_unique());
    if (number_columns(1) > 0) return true;
    return cells_.columns.size() > 1 && header_is_unique();
  }

 private:
  /// Whether some column has a name followed only by numbers.
  bool names_numbers() const {
    for (std::size_t c = 0; c < cells_.columns.size(); ++c)
      if (!cells_.columns[c][0].empty() && has_numbers(c, 1)) return true;
    return false;
  }
  /// Whether a column without a name counts the rows from 0.
  bool has_row_numbers() const {
    return std::any_of(cells_.columns.begin(), cells_.columns.end(), [](const auto& column) {
      std::size_t row = 0;
      return column[0].empty() && std::all_of(column.begin() + 1, column.end(),
                                              [&](std::string_view cell) { return cell == std::to_string(row++); });
    });
  }
  /// Whether no header cell occurs again in its column.
  bool header_is_unique() const {
    bool any = false;
    for (const auto& column : cells_.columns) {
      any |= !column[0].empty();
      if (!column[0].empty() && std::find(column.begin() + 1, column.end(), column[0]) != column.end()) return false;
    }
    return any;
  }

  void add_row(const std::vector<std::string_view>& cells) {
    if (is_empty_row(cells) && (cells_.columns.empty() || cells_.columns.size() > 1)) return;
    if (cells_.columns.empty()) cells_.columns.resize(cells.size());
    if (cells.size() != cells_.columns.size()) {
      throw_data_error(
          source_, rows_.line(),
          fmt::format("{} cells separated by {}, but line {} has {}; put a cell that contains the separator in quotes",
                      cells.size(), separator_name(separator_), cells_.lines[0], cells_.columns.size()));
    }
    cells_.lines.push_back(rows_.line());
    for (std::size_t c = 0; c < cells.size(); ++c) cells_.columns[c].push_back(cells[c]);
  }

  /// Drops empty lines at the end of a table with one column; they are not entries.
  void drop_empty_end() {
    while (cells_.columns.size() == 1 && !cells_.lines.empty() && cells_.columns[0].back().empty()) {
      cells_.columns[0].pop_back();
      cells_.lines.pop_back();
    }
  }

  std::string source_;
  char separator_;
  TableRows rows_;
  TableCells cells_;
};

/// Whether a separator gives all first rows the same number of cells, more than one.
class CellCount {
 public:
  explicit CellCount(char separator) : separator_(separator) {}

  /// Counts the cells of further rows, which must be complete.
  void see(std::string_view rows) {
    if (differs_ || seen_ == kRowsToSee) return;
    std::vector<std::string_view> cells;
    try {
      TableRows next("", rows, separator_);
      while (seen_ < kRowsToSee && next.next(cells)) {
        if (is_empty_row(cells)) continue;
        if (wanted_ == 0) wanted_ = cells.size();
        differs_ = cells.size() != wanted_ || wanted_ < 2;
        if (differs_) return;
        ++seen_;
      }
    } catch (const DataError&) {  // of a quote: with another separator it may be none
      differs_ = true;
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

bool separates(std::string_view text, char separator) {
  CellCount count(separator);
  count.see(text);
  return count.separates();
}

char consistent_separator(std::string_view text) {
  for (const char separator : kSeparators) {
    if (separates(text, separator)) return separator;
  }
  return kNoSeparator;
}

/// What the first line has most of.
char most_frequent_separator(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto count = [&](char separator) { return std::count(line.begin(), line.end(), separator); };
  const char most =
      *std::max_element(kSeparators.begin(), kSeparators.end(), [&](char a, char b) { return count(a) < count(b); });
  return count(most) > 0 ? most : kNoSeparator;
}

/// If rows differ, what the first line has most of: the message then names the first row that differs.
char table_separator(std::string_view text) {
  const char separator = consistent_separator(text);
  return separator != kNoSeparator ? separator : most_frequent_separator(text);
}

class TableExamples {
 public:
  TableExamples(const ReaderText& text, const ReaderOptions& options)
      : options_(options),
        examples_(text.no_examples()),
        reading_(text.source(), text.text(), table_separator(text.text())),
        header_(options.headed || reading_.has_header() || begins_with_requested_name()) {
    if (rows() == 0) return;
    name_columns(text.source());
    const auto& lines = reading_.cells().lines;
    examples_.lines.assign(lines.begin() + (header_ ? 1 : 0), lines.end());
    const std::size_t sequence = find_sequence(options.sequence_column);
    for (std::size_t c = 0; c < names_.size(); ++c) {
      if (c != sequence) examples_.columns.push_back(column(c));
    }
    if (sequence < names_.size())
      separate_by(sequence);
    else
      end_example(rows());
  }

  Examples take() { return std::move(examples_); }

 private:
  /// Whether the table has a single column that begins with the name of a requested numeric column; that cell is then
  /// the header.
  bool begins_with_requested_name() const {
    const auto& columns = reading_.cells().columns;
    return columns.size() == 1 && !columns[0].empty() &&
           requested_type(options_, std::string(columns[0][0])) == RequestedType::numbers;
  }
  std::size_t first() const { return header_ ? 1 : 0; }
  Index rows() const { return reading_.cells().rows() - (header_ ? 1 : 0); }
  std::vector<std::string_view> entries(std::size_t c) const {
    const auto& all = reading_.cells().columns[c];
    return {all.begin() + (header_ ? 1 : 0), all.end()};
  }

  void name_columns(const std::string& source) {
    const auto& columns = reading_.cells().columns;
    std::unordered_set<std::string> different;
    const bool one_number = columns.size() == 1 &&
                            (reading_.has_numbers(0, 0) || requested_type(options_, kValue) == RequestedType::numbers);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool named = header_ && !columns[c][0].empty();
      names_.push_back(named ? std::string(columns[c][0]) : one_number ? kValue : std::to_string(c + 1));
      if (!different.insert(names_.back()).second) {
        throw_data_error(source, reading_.cells().lines[0],
                         fmt::format("two columns are named {}; rename one", names_.back()));
      }
    }
  }

  std::size_t find_sequence(const std::string& name) const {
    if (name.empty()) return names_.size();
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
      throw_data_error(examples_.source, reading_.cells().lines[0],
                       fmt::format("there is no column {} to separate sequences; the columns are {}", name,
                                   fmt::join(names_, ", ")));
    }
    return static_cast<std::size_t>(found - names_.begin());
  }

  ExampleColumn column(std::size_t c) const {
    const std::vector<std::string_view> all = entries(c);
    const RequestedType wanted = requested_type(options_, names_[c]);
    const bool numbers =
        wanted == RequestedType::as_they_look ? reading_.has_numbers(c, first()) : wanted == RequestedType::numbers;
    if (numbers) return number_column(examples_.source, names_[c], all, examples_.lines);
    // In a column without any known value, as in data to be predicted, NA marks a missing value.
    const bool unknown = std::all_of(all.begin(), all.end(), [](std::string_view entry) {
      return number_of(entry).kind == NumberText::Kind::missing;
    });
    ExampleColumn result{.name = names_[c]};
    result.texts.reserve(all.size());
    for (const std::string_view entry : all) {
      result.texts.emplace_back(entry);
      mark_entry(result, unknown || entry.empty());
    }
    return result;
  }

  void separate_by(std::size_t c) {
    const std::vector<std::string_view> names = entries(c);
    ExampleColumn once{.name = names_[c], .once = true};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) {
        throw_data_error(examples_.source, examples_.lines[i],
                         fmt::format("column {}, which identifies the sequence of the row, is empty", names_[c]));
      }
      if (i + 1 < names.size() && names[i + 1] == names[i]) continue;
      once.texts.emplace_back(names[i]);
      end_example(static_cast<Index>(i) + 1);
    }
    examples_.columns.insert(examples_.columns.begin(), std::move(once));
  }

  void end_example(Index end) {
    examples_.example_lines.push_back(examples_.lines[at(examples_.positions())]);
    examples_.ends.push_back(end);
  }

  const ReaderOptions& options_;
  Examples examples_;
  TableReading reading_;
  bool header_;
  std::vector<std::string> names_;
};

Examples read_table(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  return TableExamples(text, options).take();
}

/// Returns the complete lines of a sample as one text.
std::string_view complete_lines(const DataSample& sample) {
  if (sample.lines.empty()) return {};
  const std::string_view last = sample.lines.back();
  return {sample.lines[0].data(), static_cast<std::size_t>(last.data() + last.size() - sample.lines[0].data())};
}

std::string describe_table(const TableReading& table, char separator) {
  const bool header = table.has_header();
  if (separator == kNoSeparator) return header ? "a name and one number per line" : "one number per line";
  return fmt::format("{} cells separated by {} in each row, {} header", table.cells().columns.size(),
                     separator_name(separator), header ? "with a" : "without");
}

std::string guess_table(const DataSample& sample) {
  const std::string_view text = complete_lines(sample);
  const char separator = consistent_separator(text);
  const bool named = ends_in(sample.name, {".csv", ".tsv"});
  if (separator == '\t' && !named && text.find("\n\n") != std::string_view::npos) return {};
  try {
    const TableReading table(std::string(sample.name), text, separator);
    const std::size_t from = table.has_header() ? 1 : 0;
    const Index rows = table.cells().rows() - static_cast<Index>(from);
    // Prose may have a comma in each line, but it has no column of numbers.
    const bool numbers = rows > 1 && table.number_columns(from) > 0;
    if (numbers || (named && rows > 0)) return describe_table(table, separator);
  } catch (const DataError&) {  // rows differ, or the sample ends within quotes
    if (named) return "its name";
  }
  return {};
}

}  // namespace

/// Where a separator would leave the text: as TableRows reads, a quote opens where a cell begins, and nowhere else.
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
      const bool ends = line[i] == '\n' || (separator != kNoSeparator && line[i] == separator);
      begins = ends || (begins && line[i] == ' ');
    }
  }

  char separator;
  CellCount cells;
  bool inside = false, begins = true;  // begins: a cell begins at the next character
  std::size_t row = 0;                 // where the first row that is not complete begins
};

OpenQuotes::OpenQuotes() {
  for (const char separator : kSeparators) candidates_.emplace_back(separator);
  candidates_.emplace_back(kNoSeparator);
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
    if (candidate.separator != kNoSeparator) candidate.cells.see(std::string_view(text_).substr(candidate.row));
    candidate.row = text_.size();
  }
}

bool OpenQuotes::inside() const {
  for (const Candidate& candidate : candidates_)
    if (candidate.cells.separates() && (!candidate.inside || candidate.cells.saw_enough())) return candidate.inside;
  return std::ranges::find(candidates_, fallback_, &Candidate::separator)->inside;
}

ReaderEntry table_reader() {
  return {.name = "table",
          .help = "comma-, semicolon- or tab-separated values with or without a header; one number per line",
          .guess = guess_table,
          .read = read_table,
          .has_sequence_column = true};
}

}  // namespace unfold
