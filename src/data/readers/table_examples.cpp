#include "data/readers/table_examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/options/shell_argument.h"
#include "data/examples/transformations/calendar_columns.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/column_profile.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/inference/table_cells.h"
#include "data/schema/missing_cells.h"
#include "data/text/example_weights.h"
#include "unfold/base/error.h"
#include "unfold/base/raw_memory.h"

namespace unfold {
namespace {

constexpr Index kRowsToEstimate = 1000;  ///< rows from which the number of words is estimated

bool is_numeric_column(const ColumnSchema& column) {
  return column.type == ColumnType::number || column.type == ColumnType::integer;
}

/// A column being read.
class TableColumn {
 public:
  /// `vectors`: classes that are integers are read as numbers.
  TableColumn(const ColumnSchema& schema, const SchemaOptions& options, bool vectors)
      : schema_(schema), options_(options) {
    column_.name = schema.name;
    // Columns that are left out keep their type if all cells are numbers, so they are written unchanged.
    numbers_ = is_numeric_column(schema) ? schema.odd == 0 || schema.role != ColumnRole::left_out
                                         : reads_as_numbers(schema, vectors);
    column_.width = numbers_ ? 1 : 0;
    column_.integers = schema.type == ColumnType::category && schema.class_labels;
  }

  void reserve(Index rows) {
    if (numbers_)
      column_.numbers.reserve(at(rows));
    else
      column_.texts.reserve(at(rows));
  }

  /// `readable`: the end of the bytes that can be read from the beginning of the cell on.
  void add(std::string_view cell, const char* readable) {
    if (numbers_) return add_number(cell);
    const bool missing = is_missing(cell);
    column_.texts.push_back(cell, readable);
    mark(missing);
  }
  void add(std::string_view cell) { add(cell, cell.data() + cell.size()); }

  /// Reserves memory for a number of rows if they are like the rows so far.
  void reserve_like(Index read, Index rows) {
    constexpr double kMargin = 1.05;
    const double factor = kMargin * static_cast<double>(rows) / static_cast<double>(read);
    for (TextList* list : {&column_.texts, &column_.cells})
      if (!list->empty())
        list->reserve(at(rows), static_cast<std::size_t>(factor * static_cast<double>(list->bytes())));
  }

  /// Takes the values that were recorded for the column; returns false if the cells must be added instead. If the cells
  /// must be kept, the caller adds them with `keep`.
  bool take(TableCells::Numbers& recorded) {
    const bool simple = schema_.convention.decimal == DecimalMark::point && schema_.number_unit.empty();
    if (!numbers_ || !recorded.complete || !simple) return false;
    column_.numbers = std::move(recorded.values);
    column_.missing = std::move(recorded.missing);
    return true;
  }
  void keep(std::string_view cell, const char* readable) { column_.cells.push_back(cell, readable); }

  /// Adds the date of a row, whose parts are in several columns of the file.
  void add_date(std::string_view date, std::string_view cell) {
    add(numbers_ ? cell : date);
    if (!numbers_) column_.cells.push_back(cell);
  }

  /// Takes the numbers of a column in memory; returns false if its cells must be added instead.
  bool take_numbers(ExampleColumn& from) {
    if (!numbers_) column_.integers = column_.integers || from.integers;
    if (!numbers_ || from.is_text() || !options_.missing.spellings.empty()) return false;
    column_.numbers = std::move(from.numbers);
    if (std::ranges::any_of(from.missing, [](char flag) { return flag != 0; }))
      column_.missing = std::move(from.missing);
    return true;
  }

  const ColumnSchema& schema() const { return schema_; }
  ExampleColumn& column() { return column_; }

  /// Returns whether the cell of a row does not fit the column; never for columns that are left out.
  bool is_odd(Index row) const {
    if (schema_.odd == 0 || schema_.role == ColumnRole::left_out) return false;
    if (!numbers_) return is_odd_cell(schema_, column_.texts[row], options_.missing);
    return !column_.cells.empty() && is_odd_cell(schema_, column_.cells[row], options_.missing);
  }

 private:
  /// Returns whether an input column that is not numeric is read as numbers: identifiers and constants that consist of
  /// numbers and, with `vectors`, class labels.
  static bool reads_as_numbers(const ColumnSchema& schema, bool vectors) {
    if (schema.stated) return false;
    if (vectors && schema.class_labels) return true;
    if (schema.type == ColumnType::identifier) return schema.least.has_value() && schema.odd == 0;
    if (schema.type != ColumnType::constant || schema.examples.empty()) return false;
    const NumberScan scan = scan_number(schema.examples[0]);
    return admits(schema.convention, scan.shape) && scan.shape != NumberShape::leading_zero &&
           scan.shape != NumberShape::big_integer;
  }

  NumberScan scan_cell(std::string_view cell) const {
    const NumberScan scan = scan_number(cell);
    if (scan.shape != NumberShape::none || schema_.number_unit.empty()) return scan;
    return scan_number(split_unit(cell).number);
  }

  bool is_missing(std::string_view cell) const {
    if (is_surely_present(cell)) return false;
    return schema_.type == ColumnType::empty ||
           is_missing_cell(cell, options_.missing, numbers_ || schema_.type == ColumnType::date);
  }

  /// Returns whether a cell is present in a column of any type; false for a few cells that are.
  bool is_surely_present(std::string_view cell) const {
    return !cell.empty() && schema_.type != ColumnType::empty && options_.missing.spellings.empty() &&
           !may_spell_missing(cell);
  }

  void add_number(std::string_view cell) {
    const bool missing = is_missing(cell);
    double value = 0;
    bool plain = cell.empty();
    if (!missing) {
      const NumberScan scan = scan_cell(cell);
      const bool grouped = reads_as_grouped(schema_.convention, scan.shape);
      value = grouped ? scan.grouped : scan.value;
      plain = !column_.cells.empty() || (!grouped && is_shortest_text(cell, value));
    }
    if (!plain && column_.cells.empty()) keep_all_cells();
    column_.numbers.push_back(value);
    mark(missing);
    if (!plain || !column_.cells.empty()) column_.cells.push_back(cell);
  }

  void mark(bool missing) {
    if (missing || !column_.missing.empty()) mark_entry(column_, missing);
  }

  /// Adds empty cells for the entries so far, which are written unchanged.
  void keep_all_cells() {
    for (Index e = 0; e < column_.entries(); ++e)
      column_.cells.push_back(column_.present(e) ? fmt::format("{}", column_.numbers[at(e)]) : std::string());
  }

  const ColumnSchema& schema_;
  const SchemaOptions& options_;
  bool numbers_ = false;
  ExampleColumn column_;
};

/// Returns the cells of columns in memory: strings, and numbers with as many digits as needed.
class MemoryCells {
 public:
  explicit MemoryCells(std::vector<ExampleColumn> columns) : columns_(std::move(columns)) {}
  ExampleColumn& column(std::size_t c) { return columns_[c]; }

  /// Returns a cell, valid until the next call.
  std::string_view cell(std::size_t column, Index row) {
    const ExampleColumn& from = columns_[column];
    if (!from.present(row)) return {};
    if (from.is_text()) return from.texts[row];
    if (!from.cells.empty()) return from.cells[row];
    shown_.clear();
    fmt::format_to(std::back_inserter(shown_), "{}", from.numbers[at(row)]);
    return {shown_.data(), shown_.size()};
  }

  std::vector<ColumnCells> cells() {
    std::vector<ColumnCells> cells;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      cells.push_back({.name = columns_[c].name,
                       .numbers = !columns_[c].is_text() || columns_[c].integers,
                       .cell = [this, c](Index r) { return cell(c, r); }});
    return cells;
  }

 private:
  std::vector<ExampleColumn> columns_;
  fmt::memory_buffer shown_;
};

class TableExamples {
 public:
  TableExamples(const ReaderText& text, const ReaderOptions& options)
      : reader_options_(options), options_(table_schema_options(options)), examples_(text.no_examples()) {
    if (text.text().find_first_not_of(" \r\n") == std::string_view::npos) return;
    TableCells cells(text.text());
    begin(infer_table_schema(text.source(), text.text(), options_, cells));
    if (schema_->rows == 0) return;
    take_cells(cells);
    divide();
  }
  /// For columns in memory with one entry per row.
  TableExamples(Examples memory, const ReaderOptions& options)
      : reader_options_(options), options_(table_schema_options(options)) {
    const Index rows = memory.positions();
    take_weights(memory);
    MemoryCells cells(std::exchange(memory.columns, {}));
    memory.ends.clear();
    examples_ = std::move(memory);
    begin(infer_table_schema(examples_.source, cells.cells(), rows, options_));
    if (rows == 0) return;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].take_numbers(cells.column(c))) continue;
      columns_[c].reserve(rows);
      for (Index r = 0; r < rows; ++r) columns_[c].add(cells.cell(c, r));
    }
    if (examples_.lines.empty()) {
      examples_.lines.resize(at(rows));
      std::iota(examples_.lines.begin(), examples_.lines.end(), Index{1});
    }
    divide();
  }

  Examples take() { return std::move(examples_); }

 private:
  void begin(TableSchema inferred) {
    const auto schema = std::make_shared<const TableSchema>(std::move(inferred));
    schema_ = schema.get();
    examples_.schema = schema;
    require_regular(*schema_, options_.bad_rows);
    vectors_ = !reader_options_.rows.field.empty();
    text_ = vectors_ ? nullptr : schema_->text();
    for (const ColumnSchema& column : schema_->columns) columns_.emplace_back(column, options_, vectors_);
  }

  void divide() {
    if (options_.bad_rows == BadRows::skip) skip_bad_rows();
    rows_ = static_cast<Index>(examples_.lines.size());
    for (const std::string& note : schema_->notes) examples_.remarks.push_back(note);
    if (text_ != nullptr)
      divide_by_rows();
    else if (schema_->independent_rows && !vectors_)
      separate_rows();
    else
      divide_by_group();
    add_weights();
  }

  /// Keeps the weights of rows, which are not a column of the table.
  void take_weights(Examples& memory) {
    const auto found = std::ranges::find(memory.columns, kExampleWeights, &ExampleColumn::name);
    if (found == memory.columns.end()) return;
    weights_ = std::move(*found);
    memory.columns.erase(found);
  }

  void add_weights() {
    if (!weights_) return;
    if (vectors_) refuse_weights("a distribution of rows");
    if (examples_.count() != rows_)
      throw UsageError(
          fmt::format("{}: the weights belong to rows, but the rows form sequences; use --rows "
                      "independent, or leave out the weights",
                      examples_.source));
    weights_->once = true;
    examples_.columns.push_back(std::move(*weights_));
  }

  /// Removes rows with odd cells, and reports how many rows are skipped.
  void skip_bad_rows() {
    std::vector<Index> kept;
    const auto rows = static_cast<Index>(examples_.lines.size());
    for (Index r = 0; r < rows; ++r)
      if (std::ranges::none_of(columns_, [&](const TableColumn& column) { return column.is_odd(r); }))
        kept.push_back(r);
    const Index all = rows + schema_->ragged.count, skipped = all - static_cast<Index>(kept.size());
    if (skipped == 0) return;
    const std::vector<std::string> places = bad_places(*schema_);
    if (kept.empty())
      throw DataError(
          fmt::format("{}: all {} rows would be skipped ({}); leave out --bad-rows skip, or set the types "
                      "of the columns with --types",
                      examples_.source, all, places.front()));
    examples_.remarks.push_back(fmt::format("{}: {} of {} rows are skipped: {}{}", examples_.source, skipped, all,
                                            fmt::join(places, "; "),
                                            skipped > static_cast<Index>(places.size()) ? "; ..." : ""));
    if (static_cast<Index>(kept.size()) < rows) permute(kept);
  }

  /// Moves the recorded numbers and reads the cells of the other columns.
  void take_cells(TableCells& cells) {
    const Index rows = cells.rows();
    std::vector<std::size_t> read, kept;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      TableCells::Numbers& numbers = cells.numbers(c);
      const bool plain = numbers.plain;
      if (!columns_[c].take(numbers))
        read.push_back(c);
      else if (!plain)
        kept.push_back(c);
      if (!read.empty() && read.back() == c) columns_[c].reserve(rows);
    }
    examples_.lines = cells.take_lines();
    constexpr Index kBlock = 256, kBlocksToMeasure = 4;  // the places of the cells fit into the first-level cache
    for (Index begin = 0; begin < rows; begin += kBlock) {
      const Index end = std::min(begin + kBlock, rows);
      if (begin == kBlocksToMeasure * kBlock)
        for (TableColumn& column : columns_) column.reserve_like(begin, rows);
      for (const std::size_t c : kept)
        for (Index r = begin; r < end; ++r) {
          const std::string_view cell = cells.cell(r, c);
          columns_[c].keep(cell, cells.readable(cell));
        }
      for (const std::size_t c : read) {
        const bool dates = schema_->date_parts && schema_->date_parts->year == c;
        for (Index r = begin; r < end; ++r) {
          if (dates) {
            read_date(cells, r, c);
            continue;
          }
          const std::string_view cell = cells.cell(r, c);
          columns_[c].add(cell, cells.readable(cell));
        }
      }
    }
  }

  /// Reads the date of a row, whose year is in column `c` and whose other parts are in other columns.
  void read_date(const TableCells& cells, Index row, std::size_t c) {
    const std::string_view cell = cells.cell(row, c);
    row_.clear();
    for (std::size_t other = 0; other < columns_.size(); ++other) row_.push_back(cells.cell(row, other));
    const bool composed = schema_->date_parts->compose(row_, date_);
    columns_[c].add_date(composed ? std::string_view(date_) : cell, cell);
  }

  TableColumn* find(std::string_view name) {
    const auto found =
        std::find_if(columns_.begin(), columns_.end(), [&](TableColumn& c) { return c.schema().name == name; });
    return found == columns_.end() ? nullptr : &*found;
  }
  TableColumn* find(ColumnRole role) {
    const auto found =
        std::find_if(columns_.begin(), columns_.end(), [&](TableColumn& c) { return c.schema().role == role; });
    return found == columns_.end() ? nullptr : &*found;
  }

  /// Returns a function that parses the date in each row of a column. The column must outlive it.
  static MomentOfRow moments_of(TableColumn& column) {
    const DateFormat format = column.schema().date_format.value_or(DateFormat::year_month_day);
    return [&cells = column.column(), format](Index row) {
      return cells.present(row) ? parse_date(cells.texts[row], format) : std::nullopt;
    };
  }

  /// Returns the position of each row in the order of the table: seconds or numbers. Throws DataError for a missing
  /// entry.
  std::vector<double> order_values(TableColumn& order) const {
    const ExampleColumn& cells = order.column();
    std::vector<double> values;
    const bool dates = order.schema().type == ColumnType::date;
    if (!dates && cells.is_text())
      throw UsageError(
          fmt::format("--order {0}: column {0} has neither dates nor numbers; set its type with --types "
                      "{1}=number or {1}=date",
                      order.schema().name, shell_argument(order.schema().name)));
    const MomentOfRow moment_of = dates ? moments_of(order) : MomentOfRow();
    for (Index r = 0; r < rows_; ++r) {
      const std::optional<Moment> moment = dates ? moment_of(r) : std::nullopt;
      const bool known = dates ? moment.has_value() : cells.present(r);
      if (!known)
        throw_data_error(examples_.source, examples_.lines[at(r)],
                         fmt::format("column {}, which orders the rows, is empty; fill it in, or remove the row{}",
                                     order.schema().name, other_rows()));
      values.push_back(dates ? moment->seconds() : cells.numbers[at(r)]);
    }
    return values;
  }

  /// Returns the column by which rows must be sorted: the one specified in the options, or the dates of groups or of a
  /// series.
  TableColumn* sorting_column(bool grouped) {
    if (options_.order) return find(*options_.order);
    TableColumn* order = find(ColumnRole::order);
    if (order == nullptr || order->schema().type != ColumnType::date) return nullptr;
    const bool series = grouped || schema_->events || order->schema().step.order == DateStep::Order::descending;
    return series ? order : nullptr;
  }

  /// Rows of one group, in their order, as one example; without a group all rows are one example.
  void divide_by_group() {
    TableColumn* group = find(ColumnRole::group);
    if (group == nullptr && options_.group) group = find(*options_.group);
    TableColumn* order = sorting_column(group != nullptr);
    if (group == nullptr && order == nullptr)
      end_example(rows_);
    else
      sort_by_group(group, order);
    for (TableColumn& column : columns_) {
      if (&column == group)
        add_group(column);
      else
        add_column(column, examples_.ends, /*once=*/false);
    }
  }

  /// `group` or `order` may be null.
  void sort_by_group(TableColumn* group, TableColumn* order) {
    std::vector<Index> places(at(rows_)), groups(at(rows_), 0);
    std::iota(places.begin(), places.end(), Index{0});
    if (group != nullptr) groups = groups_of(*group);
    const std::vector<double> values = order != nullptr ? order_values(*order) : std::vector<double>();
    const auto precedes = [&](Index a, Index b) {
      if (groups[at(a)] != groups[at(b)]) return groups[at(a)] < groups[at(b)];
      return !values.empty() && values[at(a)] < values[at(b)];
    };
    if (!std::is_sorted(places.begin(), places.end(), precedes)) {
      std::stable_sort(places.begin(), places.end(), precedes);
      examples_.remarks.push_back(
          fmt::format("{}: rows are {}{}{}", examples_.source,
                      group != nullptr ? "collected by " + escape_cell(group->schema().name, kMostOddBytes) : "",
                      group != nullptr && order != nullptr ? " and " : "",
                      order != nullptr ? "ordered by " + escape_cell(order->schema().name, kMostOddBytes) : ""));
      permute(places);
    }
    for (Index r = 0; r < rows_; ++r)
      if (r + 1 == rows_ || groups[at(places[at(r)])] != groups[at(places[at(r + 1)])]) end_example(r + 1);
  }

  /// Returns the option with which the rows are not a sequence; empty if an option or a model defines the sequence.
  const char* other_rows() const {
    const bool inferred = options_.infer_roles && !options_.group && !options_.order && !options_.rows;
    return inferred ? ", or use --rows independent if each row is an example" : "";
  }

  /// Numbers the groups in the order of their first rows.
  std::vector<Index> groups_of(TableColumn& group) const {
    std::unordered_map<std::string, Index> numbers;
    std::vector<Index> groups(at(rows_));
    for (Index r = 0; r < rows_; ++r) {
      if (!group.column().present(r))
        throw_data_error(
            examples_.source, examples_.lines[at(r)],
            fmt::format(
                "column {}, which identifies the sequence of the row, is empty; fill it in, or remove the row{}",
                group.schema().name, other_rows()));
      const Index next = static_cast<Index>(numbers.size());
      groups[at(r)] = numbers.try_emplace(group_name(group.column(), r), next).first->second;
    }
    return groups;
  }
  static std::string group_name(const ExampleColumn& column, Index row) {
    if (!column.cells.empty()) return std::string(column.cells[row]);
    return column.is_text() ? std::string(column.texts[row]) : fmt::format("{}", column.numbers[at(row)]);
  }

  /// Keeps the rows at these places, in this order.
  void permute(const std::vector<Index>& places) {
    const auto reorder = [&](auto& list) {
      if (list.empty()) return;
      auto old = std::move(list);
      list = {};
      list.reserve(places.size());
      for (const Index place : places) list.push_back(std::move(old[at(place)]));
    };
    const auto reorder_texts = [&](TextList& list) {
      if (list.empty()) return;
      const TextList old = std::exchange(list, {});
      list.reserve(places.size(), old.bytes());
      for (const Index place : places) list.push_back(old[place]);
    };
    const auto reorder_column = [&](ExampleColumn& column) {
      reorder_texts(column.texts);
      reorder_texts(column.cells);
      reorder(column.numbers);
      reorder(column.missing);
    };
    reorder(examples_.lines);
    for (TableColumn& table : columns_) reorder_column(table.column());
    if (weights_) reorder_column(*weights_);
  }

  /// The value that all rows of an example share, once per example.
  void add_group(TableColumn& group) {
    ExampleColumn once{.name = group.schema().name, .once = true};
    for (Index e = 0; e < examples_.count(); ++e) once.texts.push_back(group_name(group.column(), examples_.begin(e)));
    examples_.columns.insert(examples_.columns.begin(), std::move(once));
  }

  /// Adds a column and, for dates, the columns derived from it. `ends`: empty if each row is an example.
  void add_column(TableColumn& column, std::span<const Index> ends, bool once) {
    std::vector<ExampleColumn> derived;
    const bool divides = reader_options_.date_parts && !vectors_;
    if (divides && column.schema().type == ColumnType::date && column.schema().role != ColumnRole::left_out)
      derived = calendar_columns(column.schema().name, rows_, moments_of(column), ends);
    const auto add = [&](ExampleColumn& next) {
      next.once = once;
      examples_.columns.push_back(std::move(next));
    };
    add(column.column());
    for (ExampleColumn& more : derived)
      if (schema_->find(more.name) == nullptr) add(more);
  }

  /// Each row is an example of one position; its predicted entries belong to the example as a whole.
  void separate_rows() {
    examples_.ends.resize(at(rows_));
    std::iota(examples_.ends.begin(), examples_.ends.end(), Index{1});
    examples_.example_lines = examples_.lines;
    for (TableColumn& column : columns_)
      add_column(column, examples_.ends, /*once=*/column.schema().role == ColumnRole::predicted);
  }

  /// Each row is an example, whose positions are the words or characters of its text.
  void divide_by_rows() {
    examples_.example_lines = std::move(examples_.lines);
    for (TableColumn& column : columns_) {
      if (&column.schema() == text_)
        add_text(column.column());
      else
        add_column(column, /*ends=*/{}, /*once=*/true);
    }
  }

  /// Returns the columns whose words follow those of the text. They come after it in the table.
  std::vector<const ExampleColumn*> continuations() {
    std::vector<const ExampleColumn*> found;
    for (TableColumn& column : columns_)
      if (schema_->continues_text(column.schema())) found.push_back(&column.column());
    return found;
  }

  void add_text(ExampleColumn& whole) {
    ReaderOptions how = reader_options_;
    how.text = text_->unit == TextUnit::words ? SymbolKind::words : SymbolKind::chars;
    how.text_kind_set = true;
    const TextPositions positions({}, how);
    const std::vector<const ExampleColumn*> others = continuations();
    ExampleColumn text{.name = text_->name, .characters = positions.characters()};
    examples_.lines.clear();
    examples_.ends.reserve(at(rows_));
    for (Index r = 0; r < rows_; ++r) {
      if (r == kRowsToEstimate) reserve_words(text, r);
      const std::size_t before = text.texts.size();
      if (whole.present(r)) positions.append(whole.texts[r], text.texts);
      for (const ExampleColumn* more : others)
        if (more->present(r)) positions.append(more->texts[r], text.texts);
      const bool empty = text.texts.size() == before;  // an empty text becomes one position without an entry
      if (empty) text.texts.push_back({});
      if (empty || !text.missing.empty()) {
        text.missing.resize(before, 0);
        text.missing.resize(text.texts.size(), empty ? 1 : 0);
      }
      examples_.ends.push_back(static_cast<Index>(text.texts.size()));
      examples_.lines.resize(text.texts.size(), examples_.example_lines[at(r)]);
    }
    text.cells = std::move(whole.texts);
    examples_.columns.push_back(std::move(text));
  }

  /// Reserves memory for the words of all rows, whose number is estimated from the first rows.
  void reserve_words(ExampleColumn& text, Index rows) {
    constexpr double kMargin = 1.05;
    const double factor = kMargin * static_cast<double>(rows_) / static_cast<double>(rows);
    const auto expected = [&](std::size_t size) {
      return static_cast<std::size_t>(factor * static_cast<double>(size));
    };
    text.texts.reserve(expected(text.texts.size()), expected(text.texts.bytes()));
    examples_.lines.reserve(expected(text.texts.size()));
    use_large_pages(examples_.lines);
  }

  void end_example(Index end) {
    examples_.example_lines.push_back(examples_.lines[at(examples_.positions())]);
    examples_.ends.push_back(end);
  }

  const ReaderOptions& reader_options_;
  SchemaOptions options_;
  Examples examples_;
  const TableSchema* schema_ = nullptr;
  const ColumnSchema* text_ = nullptr;
  bool vectors_ = false;  ///< rows become vectors of all columns
  Index rows_ = 0;
  std::vector<TableColumn> columns_;
  std::optional<ExampleColumn> weights_;  ///< one per row, for a table in memory
  std::vector<std::string_view> row_;     ///< the cells of a row with a date in parts
  std::string date_;                      ///< the date that is composed of these cells
};

}  // namespace

SchemaOptions table_schema_options(const ReaderOptions& options) {
  SchemaOptions schema = options.schema;
  if (!options.rows.field.empty()) schema.infer_roles = schema.date_parts = false;  // each row is a vector
  if (options.headed) schema.header = true;
  if (!options.sequence_column.empty()) schema.group = options.sequence_column;
  for (const std::string& name : options.numbers)
    schema.types.try_emplace(name, StatedType{.type = ColumnType::number, .unit = {}, .date_format = {}});
  for (const std::string& name : options.texts)
    schema.types.try_emplace(name, StatedType{.type = ColumnType::category, .unit = {}, .date_format = {}});
  schema.ignore_absent = schema.ignore_absent || !options.numbers.empty() || !options.texts.empty();
  return schema;
}

Examples examples_of_table(const ReaderText& text, const ReaderOptions& options) {
  return TableExamples(text, options).take();
}

Examples table_of_columns(Examples columns, const ReaderOptions& options) {
  return TableExamples(std::move(columns), options).take();
}

}  // namespace unfold
