#include "app/fields/field_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <tuple>

#include "base/formats/text_encoding.h"
#include "base/printable.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kMostRemarks = 8, kMostEnded = 100'000;
constexpr std::string_view kNamesOfColumns = "# columns:", kNamesOfLabeled = "label\ttext";

bool is_empty_line(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

/// Increases the line numbers of the places that an error about a table lists, one per line.
std::string with_shifted_places(std::string_view text, Index offset) {
  constexpr std::string_view kPlace = "\n  line ";
  std::string result;
  for (std::size_t found = text.find(kPlace); found != std::string_view::npos; found = text.find(kPlace)) {
    Index line = 0;
    const auto [end, error] = std::from_chars(text.data() + found + kPlace.size(), text.data() + text.size(), line);
    result += text.substr(0, found + kPlace.size());
    if (error == std::errc()) result += fmt::format("{}", line + offset);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return result + std::string(text);
}

/// Returns a message "NAME: line 2: ..." with the line numbers increased by `offset`, the line of the stream.
std::string shifted(const std::string& message, const std::string& name, Index offset) {
  const std::string before = name + ": line ";
  if (!message.starts_with(before)) return message;
  Index line = 0;
  const char* begin = message.data() + before.size();
  const auto [end, error] = std::from_chars(begin, message.data() + message.size(), line);
  if (error != std::errc()) return message;
  return fmt::format(
      "{}{}{}", before, line + offset,
      with_shifted_places(std::string_view(end, static_cast<std::size_t>(message.data() + message.size() - end)),
                          offset));
}

/// An empty line of a table with one column is read as a row whose entry is missing.
constexpr const char *kEmptyRow = "\n", *kMissingRow = "NA\n";

/// Restores the empty cells of the input, which would otherwise be written as kMissingRow.
void restore_empty_cells(Examples& examples) {
  for (ExampleColumn& column : examples.columns) {
    if (column.is_text()) {
      column.texts.resize(column.texts.size() - 1);
      column.texts.push_back({});
    }
    if (column.cells.empty()) continue;
    column.cells = {};
    column.cells.push_back({});
  }
}

/// Returns whether each row of the table is an example.
bool rows_are_examples(const ReaderOptions& options) {
  if (options.schema.rows == RowMeaning::independent) return true;
  return std::ranges::any_of(options.schema.types,
                             [](const auto& stated) { return stated.second.type == ColumnType::text; });
}

TextList without_first(const TextList& texts, Index count) {
  TextList rest;
  rest.append(texts, at(count), texts.size());
  return rest;
}

/// Removes the positions before the last `keep` of the last example, and other examples.
void keep_last(Examples& examples, Index keep) {
  const Index positions = examples.positions() - keep, others = examples.count() - 1;
  for (ExampleColumn& column : examples.columns) {
    const Index drop = column.once ? others : positions;
    if (drop <= 0) continue;
    if (column.is_text())
      column.texts = without_first(column.texts, drop);
    else
      column.numbers.erase(column.numbers.begin(), column.numbers.begin() + drop * column.width);
    if (!column.missing.empty()) column.missing.erase(column.missing.begin(), column.missing.begin() + drop);
    if (!column.cells.empty()) column.cells = without_first(column.cells, drop);
  }
  if (positions > 0 && !examples.lines.empty())
    examples.lines.erase(examples.lines.begin(), examples.lines.begin() + positions);
  if (others > 0 && !examples.example_lines.empty())
    examples.example_lines.erase(examples.example_lines.begin(), examples.example_lines.begin() + others);
  examples.ends = {std::min(keep, examples.positions())};
}

}  // namespace

FieldStream::FieldStream(const std::string& path, ReaderOptions options, const DataSpecification& data,
                         StreamPiece piece, Index reach, Reporter* reporter)
    : source_(path),
      options_(std::move(options)),
      data_(data),
      piece_(piece),
      reach_(reach),
      reporter_(reporter),
      skips_bad_rows_(options_.schema.bad_rows == BadRows::skip) {
  options_.schema.bad_rows = BadRows::error;  // each row is read separately, and one that is refused is left out here
  options_.text_kind_set = true;  // the kind of text is the same as in training; it is not detected from a single text
  const std::string& format = options_.format;
  if (format == "npy" || format == "images")
    throw UsageError(fmt::format("--follow requires a line-based format, which {} is not; omit --follow", format));
  if (has_rows(format) && piece == StreamPiece::example && options_.sequence_column.empty() &&
      !rows_are_examples(options_))
    throw UsageError(
        "--follow: this model needs the end of an example, but a table without --sequences is a single example that "
        "ends with the stream; train a unidirectional model, or use --sequences");
}

bool FieldStream::next_line(std::string& line) {
  std::string_view found;
  if (!source_.next(found)) return false;
  if (++line_ == 1) {
    reject_utf16(source_.name(), found);
    found = strip_bom(found);
  }
  line = found;
  return true;
}

/// Reads lines up to an empty line.
bool FieldStream::next_block(std::string& block) {
  block.clear();
  for (std::string line; next_line(line);) {
    if (is_empty_line(line)) {
      if (!block.empty()) return true;
      continue;
    }
    if (line_ == 1 && line.starts_with(kNamesOfColumns)) {
      header_ = line + "\n";
      continue;
    }
    if (block.empty()) first_ = line_;
    block += line + "\n";
  }
  return !block.empty();
}

/// Reads a row of a table, which may contain quoted line breaks. An empty line is a row if the table has one column
/// and another row follows; at the end it is not a row.
bool FieldStream::next_row(std::string& row) {
  row.clear();
  if (ahead_.empty()) options_.format == kRecords ? read_record() : read_ahead();
  if (ahead_.empty()) return false;
  std::tie(row, first_) = std::move(ahead_.front());
  ahead_.pop_front();
  return true;
}

void FieldStream::read_record() {
  for (std::string line; next_line(line);) {
    if (is_empty_line(line)) continue;
    ahead_.emplace_back(line + "\n", line_);
    return;
  }
}

void FieldStream::read_ahead() {
  std::string row;
  OpenQuotes quotes = quotes_;
  for (std::string line; next_line(line);) {
    if (row.empty() && is_empty_line(line)) {
      if (one_column_) ahead_.emplace_back(kEmptyRow, line_);
      continue;
    }
    if (row.empty()) first_ = line_;
    line += '\n';
    row += line;
    quotes.add(line);
    if (quotes.inside()) continue;
    if (!headed_) {
      learn_header(row);
      quotes_ = quotes;
      if (!header_.empty()) {
        row.clear();
        continue;
      }
      first_row_ = row;
    }
    break;
  }
  if (row.empty())
    ahead_.clear();
  else
    ahead_.emplace_back(row, first_);
}

/// The first row of a table is a header if it contains the name of a field of the model.
void FieldStream::learn_header(const std::string& line) {
  headed_ = true;
  const Examples twice = read_examples(Input::from_bytes(source_.name(), line + line), {.format = "table"});
  std::set<std::string_view> names;  // names of the fields, and of the fields from which fields are derived
  for (const FieldSpecification& field : data_.fields) {
    const std::string_view name = field.name;
    names.insert(name);
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1))
      names.insert(name.substr(0, dot));
  }
  for (const ExampleColumn& column : twice.columns)
    if (column.is_text() && !column.texts.empty() && names.contains(column.texts[0])) header_ = line;
  options_.headed = !header_.empty();
  options_.schema.header = options_.headed;
  one_column_ = twice.columns.size() == 1;
}

/// `line`: the line at which the text begins, after the prefix `front`.
Examples FieldStream::read(const std::string& front, const std::string& text, Index line) const {
  const Index before = std::ranges::count(front, '\n');
  try {
    Examples examples = read_examples(Input::from_bytes(source_.name(), front + text), options_);
    for (Index& number : examples.lines) number += line - 1 - before;
    for (Index& number : examples.example_lines) number += line - 1 - before;
    return examples;
  } catch (const DataError& error) {
    throw DataError(shifted(error.what(), source_.name(), line - 1 - before));
  }
}

/// Without a header, a row is read after the first row and must therefore have the same number of cells. The first row
/// is given twice, because the first of two equal rows is not a header.
Examples FieldStream::read_row(const std::string& row, Index line) const {
  const bool empty = row == kEmptyRow;
  const bool alone = !header_.empty() || options_.format == kRecords;  // a row that can be read without another row
  Examples examples = alone   ? read(header_, empty ? kMissingRow : row, line)
                      : empty ? read(kMissingRow, kMissingRow, line)
                              : read(first_row_ + first_row_, row, line);
  if (!alone)
    keep_last(examples, 1);
  else if (piece_ == StreamPiece::row && examples.positions() != 1)
    throw_data_error(
        source_.name(), line,
        fmt::format("expected exactly one row, but found {}; send each row separately", examples.positions()));
  if (empty) restore_empty_cells(examples);
  return examples;
}

/// Returns false, with a warning, if the row cannot be read and such rows are left out.
bool FieldStream::read_or_skip(const std::function<Examples()>& read_one, Examples& examples) const {
  try {
    examples = read_one();
    return true;
  } catch (const DataError& error) {
    if (!skips_bad_rows_) throw;
    const std::string_view message = error.what();
    if (reporter_ != nullptr)
      reporter_->warn(fmt::format("{}; this row is left out", message.substr(0, message.find("; "))));
    return false;
  }
}

std::string FieldStream::sequence_of(const Examples& examples) const {
  const ExampleColumn* column = options_.sequence_column.empty() ? nullptr : examples.find(options_.sequence_column);
  return column == nullptr || column->texts.empty() ? std::string() : std::string(column->texts[0]);
}

/// Reads the rows of one sequence; the row that follows them shows that the sequence is complete.
bool FieldStream::next_rows(std::string& rows) {
  rows.clear();
  std::string row;
  Index first = 0;
  while (next_row(row)) {
    Examples one;
    if (!read_or_skip([&] { return read_row(row, first_); }, one)) continue;
    const std::string sequence = sequence_of(one);
    if (rows.empty()) {
      sequence_ = sequence;
      first = first_;
    } else if (sequence != sequence_) {
      ahead_.emplace_front(row, first_);
      break;
    }
    rows += row;
  }
  first_ = first;
  return !rows.empty();
}

/// Arranges the columns in the order of the first piece.
void FieldStream::complete(Examples& examples) {
  if (!std::exchange(started_, true)) {
    columns_ = examples.columns;
    for (ExampleColumn& column : columns_)
      column.texts.clear(), column.numbers.clear(), column.missing.clear(), column.cells = {};
    return;
  }
  std::vector<ExampleColumn> columns;
  columns.reserve(columns_.size());
  for (const ExampleColumn& wanted : columns_) {
    const auto found = std::ranges::find(examples.columns, wanted.name, &ExampleColumn::name);
    if (found != examples.columns.end()) {
      columns.push_back(std::move(*found));
      continue;
    }
    const Index entries = wanted.once ? examples.count() : examples.positions();
    ExampleColumn& missing = columns.emplace_back(wanted);
    if (missing.is_text())
      missing.texts.resize(at(entries));
    else
      missing.numbers.resize(at(entries * missing.width));
    missing.missing.assign(at(entries), 1);
  }
  examples.columns = std::move(columns);
}

/// Reports each note of the readers once per stream; a note about the encoding gets the line number in the stream.
void FieldStream::remark_once(Examples& piece) {
  std::vector<std::string> fresh;
  for (std::string& remark : piece.remarks) {
    const bool encoding = remark.find("UTF-8") != std::string::npos;
    if (remarked_.size() >= kMostRemarks || !remarked_.insert(encoding ? "encoding" : remark).second) continue;
    fresh.push_back(encoding ? fmt::format("{} is not UTF-8 (line {}); such lines are read as ISO-8859-1",
                                           source_.name(), piece.lines.empty() ? line_ : piece.lines.front())
                             : std::move(remark));
  }
  piece.remarks = std::move(fresh);
}

/// In a stream, rows are returned as they arrive, so a sequence ends where the next one begins.
void FieldStream::note_sequence(Examples& piece) {
  if (sequence_.empty() || returned_ || ended_.size() >= kMostEnded) return;
  if (ended_.insert(std::hash<std::string>()(sequence_)).second) return;
  returned_ = true;
  piece.remarks.push_back(fmt::format(
      "{}: line {}: rows of sequence {} are not consecutive; in a stream each block of them is a separate sequence",
      source_.name(), first_, in_quotes(sequence_)));
}

void FieldStream::remember(const Examples& row) {
  if (begins_) {
    window_ = row;
    return;
  }
  std::vector<Index> lines = std::move(window_.lines);
  lines.insert(lines.end(), row.lines.begin(), row.lines.end());
  // A column that the model does not read may contain numbers in one row and strings in another.
  append(window_, row);
  window_.source = row.source;
  window_.lines = std::move(lines);
  window_.ends = {window_.positions()};
  window_.example_lines = row.example_lines;
  for (ExampleColumn& column : window_.columns)
    if (column.once) column = *row.find(column.name);
  keep_last(window_, reach_ + 1);
}

bool FieldStream::next(Examples& examples) {
  std::string text;
  const bool table = has_rows(options_.format);
  if (options_.format == "columns" || options_.format == "grids") {
    if (!next_block(text)) return false;
    examples = read(header_, text, first_);
  } else if (table && piece_ == StreamPiece::row) {
    do {
      if (!next_row(text)) return false;
    } while (!read_or_skip([&] { return read_row(text, first_); }, examples));
    const std::string sequence = sequence_of(examples);
    begins_ = !started_ || sequence != sequence_;
    sequence_ = sequence;
  } else if (table && rows_are_examples(options_)) {
    do {
      if (!next_row(text)) return false;
    } while (!read_or_skip([&] { return read(header_, text, first_); }, examples));
  } else if (table) {
    if (!next_rows(text)) return false;
    examples = read(header_, text, first_);
  } else {
    do {
      if (!next_line(text)) return false;
    } while (is_empty_line(text) || (line_ == 1 && text == kNamesOfLabeled));
    examples = read(header_, text + "\n", line_);
    if (options_.format == "pairs" && started_ && examples.columns.size() != columns_.size())
      throw_data_error(source_.name(), line_, pair_mismatch(columns_.size() > 1));
  }
  complete(examples);
  remark_once(examples);
  if (table && (piece_ == StreamPiece::example || begins_)) note_sequence(examples);
  if (piece_ == StreamPiece::row) remember(examples);
  return true;
}

}  // namespace unfold
