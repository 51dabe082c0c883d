#include "app/forecast/series_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "app/fields/predicted_list.h"
#include "app/schema/table_fields.h"
#include "base/printable.h"
#include "data/cells/civil_date.h"
#include "data/cells/row_splitter.h"
#include "data/readers/example_reader.h"
#include "data/readers/reader_text.h"
#include "data/schema/column_profile.h"
#include "data/schema/describe_schema.h"
#include "data/schema/infer_schema.h"
#include "data/schema/only_header.h"
#include "data/schema/require_column.h"
#include "data/schema/table_layout.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using forecasting::DateStyle;
using forecasting::TimeIndex;
constexpr double kMissingValue = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kLeastRowColumns = 8;   // minimum number of columns of a table with one row per series
constexpr std::size_t kLeastDateColumns = 2;  // minimum number of columns if the names are dates
constexpr std::size_t kShownBytes = 40;

bool is_number_type(ColumnType type) { return type == ColumnType::number || type == ColumnType::integer; }

/// The rows of a table below its header, with their line numbers.
class TableRows {
 public:
  TableRows(const ReaderText& text, const SchemaOptions& options)
      : text_(text.text()),
        layout_(table_layout(text.source(), text_, true, options)),
        splitter_(layout_.separator, layout_.line_end, layout_.comment) {}
  const TableLayout& layout() const { return layout_; }

  bool next(TableRow& row) {
    while (position_ < text_.size()) {
      if (splitter_.next(text_, position_, true, row) != RowSplitter::Result::row) return false;
      const bool empty = row.cells.size() == 1 && row.cells[0].empty() && layout_.columns > 1;
      if (row.comment || empty || row.line < layout_.first_line) continue;
      if (layout_.header && !header_read_) {
        header_read_ = true;
        continue;
      }
      return true;
    }
    return false;
  }

 private:
  std::string_view text_;
  TableLayout layout_;
  RowSplitter splitter_;
  std::size_t position_ = 0;
  bool header_read_ = false;
};

/// Returns whether names consist of a prefix and consecutive numbers: V2, V3, V4.
bool are_consecutive(std::span<const std::string> names) {
  std::string prefix;
  Index before = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t digits = names[i].find_last_not_of("0123456789") + 1;
    Index number = 0;
    const char* end = names[i].data() + names[i].size();
    if (digits == names[i].size() || std::from_chars(names[i].data() + digits, end, number).ptr != end) return false;
    if (i == 0) prefix = names[i].substr(0, digits);
    if (names[i].compare(0, digits, prefix) != 0 || digits != prefix.size()) return false;
    if (i > 0 && number != before + 1) return false;
    before = number;
  }
  return true;
}

/// Returns the time index of columns that are named by dates; empty if they are not.
std::optional<TimeIndex> index_of_names(std::span<const std::string> names) {
  for (int k = 0; k < kDateFormats; ++k) {
    const auto format = static_cast<DateFormat>(k);
    if (format == DateFormat::time_of_day) continue;
    std::vector<Moment> dates;
    for (const std::string& name : names) {
      const std::optional<Moment> moment = parse_date(name, format);
      if (!moment) break;
      dates.push_back(*moment);
    }
    if (dates.size() != names.size()) continue;
    const DateStyle style = DateStyle::of_cells(std::vector<std::string>(names.begin(), names.end()), format);
    if (std::optional<TimeIndex> index = TimeIndex::of_dates(dates, style)) return index;
  }
  return std::nullopt;
}

/// Returns the number of a cell; NaN if it is missing, nothing if it is not a number.
std::optional<double> parse_cell(std::string_view cell, const SchemaOptions& options) {
  if (is_missing_cell(cell, options.missing, /*marks=*/true)) return kMissingValue;
  const NumberConvention convention{options.decimal.value_or(DecimalMark::point),
                                    options.thousands.value_or(ThousandsMark::none)};
  return parse_number(cell, convention);
}

double number_in_cell(const std::string& source, const TableRow& row, std::size_t i, const SchemaOptions& options) {
  const std::string_view cell = row.cells[i];
  const std::optional<double> value = parse_cell(cell, options);
  if (!value)
    throw DataError(fmt::format("{}: line {}: \"{}\" in cell {} is not a number", source, row.line,
                                escape_cell(cell, kShownBytes), i + 1));
  return *value;
}

/// Returns whether a row has all its cells, and numbers from the cell `first` on.
bool is_readable(const TableRow& row, std::size_t columns, std::size_t first, const SchemaOptions& options) {
  return row.cells.size() == columns &&
         std::all_of(row.cells.begin() + static_cast<Index>(first), row.cells.end(),
                     [&](std::string_view cell) { return parse_cell(cell, options).has_value(); });
}

/// Tables with one row per series.
class RowSeriesReader {
 public:
  static bool applies(const TableLayout& layout, const SchemaOptions& options) {
    if (!layout.header || options.order || !options.predict.empty()) return false;
    const std::span<const std::string> names = std::span(layout.names).subspan(1);
    if (layout.names.size() >= kLeastRowColumns && are_consecutive(names)) return true;
    const std::size_t first = first_period(layout);
    return first > 0 && index_of_names(std::span(layout.names).subspan(first)).has_value();
  }

  static SeriesTable read(const std::string& source, TableRows& rows, const SchemaOptions& options) {
    SeriesTable table{.series = {}, .fields = {"value"}, .has_groups = true, .notes = {}};
    const std::size_t first = std::max<std::size_t>(first_period(rows.layout()), 1);
    const TimeIndex index = index_of_names(std::span(rows.layout().names).subspan(first)).value_or(TimeIndex{});
    TableRow row;
    Index skipped = 0;
    while (rows.next(row)) {
      if (options.bad_rows == BadRows::skip && !is_readable(row, rows.layout().columns, first, options)) {
        ++skipped;
        continue;
      }
      if (row.cells.size() != rows.layout().columns)
        throw DataError(fmt::format("{}: line {}: the row has {} cells, but the header has {}", source, row.line,
                                    row.cells.size(), rows.layout().columns));
      TableSeries& series = table.series.emplace_back();
      series.group = row.cells[0], series.field = "value", series.index = index;
      for (std::size_t i = first; i < row.cells.size(); ++i)
        series.values.push_back(number_in_cell(source, row, i, options));
      while (!series.values.empty() && std::isnan(series.values.back())) series.values.pop_back();
    }
    if (skipped > 0) table.notes.push_back(fmt::format("{}: {} rows are skipped", source, skipped));
    table.notes.push_back(fmt::format("{}: one series per row, {} series", source, table.series.size()));
    return table;
  }

 private:
  /// Returns the index of the first column whose name is a year or date, after the columns that name the series; 0:
  /// there is none.
  static std::size_t first_period(const TableLayout& layout) {
    if (layout.periods.size() < kLeastDateColumns || layout.periods.size() >= layout.names.size()) return 0;
    const std::size_t first = layout.names.size() - layout.periods.size();
    return layout.names[first] == layout.periods.front() ? first : 0;
  }
};

/// Tables with a row per year and a column per month: one series.
class MonthTableReader {
 public:
  static bool applies(const TableLayout& layout, const SchemaOptions& options) {
    if (!layout.header || options.order || options.group || !options.predict.empty()) return false;
    return layout.periods.size() == kMonths && layout.names.size() == kMonths + 1 && is_year_name(layout.names.front());
  }

  static SeriesTable read(const std::string& source, TableRows& rows, const SchemaOptions& options) {
    SeriesTable table{.series = {}, .fields = {"value"}, .has_groups = false, .notes = {}};
    TableSeries series{.field = "value"};
    std::vector<std::string> months;
    Index before = 0;
    TableRow row;
    while (rows.next(row)) {
      const std::optional<Moment> moment = parse_date(row.cells[0], DateFormat::year);
      const Index year = moment ? civil_from_days(moment->days).year : 0;
      if (!moment || (before != 0 && year != before + 1) || row.cells.size() != kMonths + 1)
        throw DataError(
            fmt::format("{}: line {}: a table with a column for each month has a row of 13 cells for each "
                        "year, in order; \"{}\" does not follow {}",
                        source, row.line, escape_cell(row.cells[0], kShownBytes),
                        before != 0 ? std::to_string(before) : "the header"));
      before = year;
      for (std::size_t m = 1; m <= kMonths; ++m) {
        months.push_back(fmt::format("{:04}-{:02}", year, m));
        series.values.push_back(number_in_cell(source, row, m, options));
      }
    }
    while (!series.values.empty() && std::isnan(series.values.back())) series.values.pop_back();
    series.index = index_of_names(months).value_or(TimeIndex{});
    table.notes.push_back(
        fmt::format("{}: one monthly series of {} values, from a row per year", source, series.values.size()));
    table.series.push_back(std::move(series));
    return table;
  }

 private:
  static constexpr std::size_t kMonths = 12;
};

/// The cells of one group.
struct GroupRows {
  std::string name = {};
  std::vector<Moment> dates = {};
  std::vector<double> numbers = {};  ///< times that are numbers
  std::vector<Index> lines = {};
  std::vector<std::vector<double>> values = {};  ///< [field][row]
  std::vector<std::string> names = {};           ///< name of the series of each row, while several series are read
                                                 ///< together
};

/// Tables whose columns are times, groups and values: the table reader collects and sorts the rows of each group.
class ColumnSeriesReader {
 public:
  /// `groups`: several columns that identify the series together; empty otherwise.
  ColumnSeriesReader(const ReaderText& text, const TableLayout& layout, const SchemaOptions& options,
                     const std::vector<std::string>& groups, const SeriesColumns& columns)
      : source_(text.source()), columns_(columns) {
    SchemaOptions roles = options;
    std::ranges::copy(groups, std::back_inserter(roles.read));  // columns that are read are not predicted
    if (!columns_.covariates.empty()) keep_covariates(infer_table_schema(text.source(), text.text(), roles));
    std::ranges::copy_if(columns_.covariates, std::back_inserter(roles.read), [&](const std::string& name) {
      return std::ranges::find(layout.names, name) != layout.names.end();
    });
    state_known_types(roles);
    schema_ = infer_table_schema(text.source(), text.text(), roles);
    if (schema_.rows == 0) refuse_only_header(source_);
    if (state_date_format(roles)) schema_ = infer_table_schema(text.source(), text.text(), roles);
    types_ = roles.types;
    for (const std::string& name : groups) {
      const auto place = std::ranges::find(schema_.columns, name, &ColumnSchema::name);
      joined_.push_back(static_cast<std::size_t>(place - schema_.columns.begin()));
    }
    choose_columns(options);
  }

  SeriesTable read(const Input& input, const SchemaOptions& options) {
    SeriesTable table;
    table.has_groups = group_ != kNone || !joined_.empty();
    read_groups(input, options, table);
    for (const Field& field : fields_) table.fields.push_back(field.name);
    for (const ColumnSchema& column : schema_.columns) table.columns.push_back(column.name);
    if (group_ != kNone) table.group_column = schema_.columns[group_].name;
    if (order_ != kNone && !schema_.date_parts) table.time_column = schema_.columns[order_].name;
    if (has_dates()) table.date_format = schema_.columns[order_].date_format;
    note_inputs(table);
    if (!joined_.empty()) divide_groups();
    unify_zones(table);
    for (const GroupRows& group : groups_) require_different_times(group);
    const TimeIndex index = common_index(table);
    for (const GroupRows& group : groups_) add_series(group, index, table);
    return table;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// The values of a column, or whether they are a category.
  struct Field {
    std::size_t column = 0;
    std::string name = {};
    std::optional<std::string> category = {};
  };

  /// Only numbers and categories are covariates, not the times and the group. A column of categories is a group only if
  /// times repeat.
  void keep_covariates(const TableSchema& schema) {
    const auto time = std::ranges::find(schema.columns, ColumnRole::order, &ColumnSchema::role);
    const bool repeats = time != schema.columns.end() && time->distinct < time->entries();
    for (const ColumnSchema& column : schema.columns) {
      const bool role = column.role == ColumnRole::order || (column.role == ColumnRole::group && repeats);
      if (role || !(is_numeric(column) || column.type == ColumnType::category))
        std::erase(columns_.covariates, column.name);
    }
  }

  /// Types that an option states have priority.
  void state_known_types(SchemaOptions& options) const {
    for (const Covariate& known : columns_.known) options.types.try_emplace(known.column, known.type);
  }

  /// Returns whether a type was added: that of dates that could have the day or the month first.
  bool state_date_format(SchemaOptions& options) const {
    if (!columns_.date_format) return false;
    const auto time = std::ranges::find(schema_.columns, ColumnRole::order, &ColumnSchema::role);
    const bool day_or_month =
        columns_.date_format == DateFormat::day_month_year || columns_.date_format == DateFormat::month_day_year;
    if (time == schema_.columns.end() || !time->exchangeable || !day_or_month) return false;
    const bool points = !time->examples.empty() && time->examples.front().find('.') != std::string::npos;
    if (points) return false;  // the day is first
    options.types[time->name] = {ColumnType::date, {}, columns_.date_format};
    return true;
  }

  static bool is_named(const std::vector<std::string>& names, const ColumnSchema& column) {
    return std::ranges::find(names, column.name) != names.end();
  }
  static bool is_numeric(const ColumnSchema& column) {
    return is_number_type(column.type) || column.class_labels ||
           (column.type == ColumnType::constant && holds_numbers(column));
  }
  bool has_categories(const ColumnSchema& column) const {
    if (!columns_.known.empty()) {
      const auto known = std::ranges::find(columns_.known, column.name, &Covariate::column);
      return known != columns_.known.end() && !known->categories.empty();
    }
    return is_named(columns_.covariates, column) && column.type == ColumnType::category && !column.class_labels;
  }
  bool is_covariate(const ColumnSchema& column) const {
    if (!columns_.known.empty())
      return std::ranges::find(columns_.known, column.name, &Covariate::column) != columns_.known.end();
    return is_named(columns_.covariates, column) && (is_numeric(column) || has_categories(column));
  }

  void choose_columns(const SchemaOptions& options) {
    refuse_header_only(schema_);
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
      ColumnSchema& column = schema_.columns[i];
      if (column.role == ColumnRole::group) group_ = i;
      if (column.role == ColumnRole::order && schema_.columns.size() > 1) order_ = i;
    }
    if (!joined_.empty()) group_ = kNone;
    if (group_ == kNone && joined_.empty()) find_group();
    // The schema may predict a category; then all numeric columns are forecast. Row numbers, and columns without
    // entries, are values only if there are no others.
    const bool stated = !options.predict.empty();
    if (!columns_.known.empty()) {
      take_fields([&](const ColumnSchema& column) { return is_covariate(column); });
      return require_regular(schema_, options.bad_rows);
    }
    const bool predicts = !stated && std::ranges::any_of(schema_.columns, [](const auto& column) {
      return column.role == ColumnRole::predicted && holds_numbers(column);
    });
    take_fields([&](const ColumnSchema& column) {
      if (is_covariate(column)) return true;
      if (stated) return is_named(options.predict, column);
      return predicts ? column.role == ColumnRole::predicted : is_numeric(column);
    });
    if (fields_.empty() && !stated)
      take_fields([&](const ColumnSchema& column) { return schema_.columns.size() == 1 || holds_numbers(column); });
    if (predicts) find_inputs();
    if (fields_.empty())
      throw DataError(fmt::format(
          "{}: there is no numeric column to forecast; choose a column with --predict, or see `unfold inspect`",
          source_));
    require_regular(schema_, options.bad_rows);
  }

  /// Finds the numeric columns that are not forecast.
  void find_inputs() {
    for (const ColumnSchema& column : schema_.columns)
      if (column.role == ColumnRole::left_out && is_numeric(column) && column.type != ColumnType::constant)
        inputs_.push_back(column.name);
  }

  void note_inputs(SeriesTable& table) const {
    if (inputs_.empty()) return;
    constexpr std::size_t kMostNamed = 4;
    std::vector<std::string> predicted, inputs;
    for (const Field& field : fields_)
      if (!is_named(columns_.covariates, schema_.columns[field.column])) predicted.push_back(in_quotes(field.name));
    for (const std::string& name : inputs_) inputs.push_back(in_quotes(name));
    if (inputs.size() > kMostNamed + 1) {
      inputs[kMostNamed] = fmt::format("{} others", inputs.size() - kMostNamed);
      inputs.resize(kMostNamed + 1);
    }
    table.notes.push_back(fmt::format(
        "{}: only {} is forecast; the other numeric columns ({}) are inputs, which are used only if --future has their "
        "next values; --predict chooses the columns to forecast",
        source_, fmt::join(predicted, ", "), fmt::join(inputs, ", ")));
  }

  static bool holds_numbers(const ColumnSchema& column) {
    if (column.type == ColumnType::constant)
      return !column.examples.empty() && parse_number(column.examples.front(), column.convention).has_value();
    return is_number_type(column.type) || column.class_labels || column.type == ColumnType::empty ||
           (column.type == ColumnType::identifier && column.least.has_value());
  }

  void take_fields(const std::function<bool(const ColumnSchema&)>& is_taken) {
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
      ColumnSchema& column = schema_.columns[i];
      const bool part = schema_.date_parts && schema_.date_parts->has(i);
      if (part || i == group_ || i == order_ || std::ranges::find(joined_, i) != joined_.end()) continue;
      const bool taken = is_taken(column);
      column.role = taken ? ColumnRole::predicted : ColumnRole::left_out;
      if (!taken) continue;
      if (!holds_numbers(column) && !is_covariate(column))
        throw DataError(
            fmt::format("{}: column \"{}\" has the type {}; only numbers can be forecast: choose the value "
                        "column with --predict",
                        source_, escape_cell(column.name, kShownBytes), type_name(column.type)));
      fields_.push_back({i, column.name});
    }
  }

  /// Divides the columns of categories into one field for each category except the most frequent one.
  void divide_categories(const Examples& examples, SeriesTable& table) {
    std::vector<Field> divided;
    for (const Field& field : fields_) {
      const ColumnSchema& column = schema_.columns[field.column];
      if (!has_categories(column)) {
        divided.push_back(field);
        if (is_covariate(column)) table.covariates.push_back({field.name, type_of(column)});
        continue;
      }
      const std::vector<std::string> categories = categories_of(examples, column, table);
      if (categories.size() < 2) continue;
      for (std::size_t k = 1; k < categories.size(); ++k)
        divided.push_back({field.column, field.name + "=" + categories[k], categories[k]});
      table.covariates.push_back(
          {field.name, {.type = ColumnType::category, .unit = {}, .date_format = {}}, categories});
    }
    fields_ = std::move(divided);
  }

  /// Returns how the cells of a column of numbers are read. Integers without separators do not show the convention.
  static StatedType type_of(const ColumnSchema& column) {
    StatedType type{.type = ColumnType::number, .unit = {}, .date_format = {}, .number_unit = column.number_unit};
    if (column.type == ColumnType::number || column.convention.thousands != ThousandsMark::none)
      type.convention = column.convention;
    return type;
  }

  /// Returns the categories of a column, the most frequent one first; empty with a note if there are too many.
  std::vector<std::string> categories_of(const Examples& examples, const ColumnSchema& column,
                                         SeriesTable& table) const {
    constexpr std::size_t kMostCategories = 50;
    if (!columns_.known.empty()) return std::ranges::find(columns_.known, column.name, &Covariate::column)->categories;
    const ExampleColumn& entries = examples.column(column.name);
    std::map<std::string, Index> counts;
    for (Index r = 0; r < entries.entries(); ++r)
      if (entries.present(r)) ++counts[entries.texts[at(r)]];
    std::vector<std::string> categories;
    categories.reserve(counts.size());
    for (const auto& [category, count] : counts) categories.push_back(category);
    std::ranges::stable_sort(categories, [&](const auto& a, const auto& b) { return counts[a] > counts[b]; });
    if (categories.size() <= kMostCategories) return categories;
    table.notes.push_back(fmt::format(
        "{}: column {} has {} categories, so it is not a covariate; at most {} are possible: combine rare ones",
        source_, in_quotes(column.name), categories.size(), kMostCategories));
    return {};
  }

  /// Rejects categories that the data does not have.
  void require_known_categories(const Examples& examples) const {
    for (const Covariate& known : columns_.known) {
      if (known.categories.empty()) continue;
      const ExampleColumn& entries = examples.column(known.column);
      for (Index r = 0; r < entries.entries(); ++r) {
        if (!entries.present(r) || std::ranges::find(known.categories, entries.texts[at(r)]) != known.categories.end())
          continue;
        constexpr std::size_t kMostNamed = 5;
        std::vector<std::string> names;
        for (std::size_t k = 0; k < std::min(kMostNamed, known.categories.size()); ++k)
          names.push_back(in_quotes(known.categories[k]));
        throw DataError(
            fmt::format("{}: line {}: {} in column {} does not occur in the data, so its effect is unknown; "
                        "the data has {}{}",
                        source_, examples.lines[at(r)], in_quotes(entries.texts[at(r)]), in_quotes(known.column),
                        fmt::join(names, ", "), known.categories.size() > kMostNamed ? ", ..." : ""));
      }
    }
  }

  /// If times repeat, the first categorical column distinguishes the series.
  void find_group() {
    if (order_ == kNone || schema_.columns[order_].distinct * 3 > schema_.columns[order_].entries() * 2) return;
    for (std::size_t i = 0; i < schema_.columns.size() && group_ == kNone; ++i) {
      ColumnSchema& column = schema_.columns[i];
      if (i == order_ || column.type != ColumnType::category || column.class_labels) continue;
      column.role = ColumnRole::group;
      group_ = i;
    }
  }

  /// Reads the rows of each group in the order of their times; unused columns are not read.
  void read_groups(const Input& input, const SchemaOptions& options, SeriesTable& table) {
    ReaderOptions how{.format = "table", .schema = options, .date_parts = false};
    how.schema.infer_roles = false;
    how.schema.ignore_absent = true;
    how.schema.predict.clear();
    how.schema.types = types_;
    for (const Field& field : fields_) how.schema.predict.push_back(field.name);
    how.schema.read = how.schema.predict;
    how.schema.group.reset();
    for (const std::size_t i : joined_) how.schema.read.push_back(schema_.columns[i].name);
    if (group_ != kNone) how.schema.group = schema_.columns[group_].name;
    if (order_ != kNone) how.schema.order = schema_.columns[order_].name;
    const Examples examples = read_examples(input, how);
    schema_ = *examples.schema;
    table.notes = examples.remarks;
    require_known_categories(examples);
    divide_categories(examples, table);
    for (Index e = 0; e < examples.count(); ++e) {
      GroupRows& group = groups_.emplace_back();
      if (group_ != kNone) group.name = examples.column(schema_.columns[group_].name).texts[at(e)];
      for (Index r = examples.begin(e); r < examples.end(e); ++r) group.lines.push_back(examples.lines[at(r)]);
      if (order_ != kNone) add_times(examples, e, group);
      for (const Field& field : fields_) add_values(examples, e, field, group.values.emplace_back());
      for (const std::size_t i : joined_) add_names(examples, e, schema_.columns[i], group.names);
    }
  }

  /// Appends the entries of a column to the names of the rows.
  void add_names(const Examples& examples, Index example, const ColumnSchema& column,
                 std::vector<std::string>& names) const {
    const ExampleColumn& entries = examples.column(column.name);
    names.resize(at(examples.end(example) - examples.begin(example)));
    for (Index r = examples.begin(example); r < examples.end(example); ++r) {
      if (!entries.present(r))
        throw DataError(
            fmt::format("{}: line {}: column \"{}\", which identifies the series, is empty; fill it in, or "
                        "remove the row",
                        source_, examples.lines[at(r)], escape_cell(column.name, kShownBytes)));
      std::string& name = names[at(r - examples.begin(example))];
      if (!name.empty()) name += ',';
      name += entries.is_text() ? entries.texts[at(r)] : fmt::format("{:.15g}", entries.numbers[at(r)]);
    }
  }

  /// Divides the rows by their names, in the order of the first lines.
  void divide_groups() {
    std::vector<GroupRows> divided;
    std::unordered_map<std::string, std::size_t> places;
    for (const GroupRows& rows : groups_)
      for (std::size_t r = 0; r < rows.lines.size(); ++r) {
        const auto [place, is_new] = places.try_emplace(rows.names[r], divided.size());
        if (is_new)
          divided.push_back({.name = rows.names[r], .values = std::vector<std::vector<double>>(fields_.size())});
        GroupRows& group = divided[place->second];
        group.lines.push_back(rows.lines[r]);
        if (!rows.dates.empty()) group.dates.push_back(rows.dates[r]);
        if (!rows.numbers.empty()) group.numbers.push_back(rows.numbers[r]);
        for (std::size_t f = 0; f < fields_.size(); ++f) group.values[f].push_back(rows.values[f][r]);
      }
    std::ranges::sort(divided, {}, [](const GroupRows& group) { return std::ranges::min(group.lines); });
    groups_ = std::move(divided);
  }

  /// If the time zones of a column differ, as in summer and winter, all times are converted to the last one.
  void unify_zones(SeriesTable& table) {
    if (last_time_.empty()) return;
    const std::optional<Index> zone = parse_date(last_time_, *schema_.columns[order_].date_format)->zone;
    bool differ = false;
    for (GroupRows& group : groups_)
      for (Moment& moment : group.dates) {
        if (moment.zone == zone) continue;
        differ = true;
        constexpr Index kDay = 86400;
        const Index seconds = moment.epoch_seconds() + zone.value_or(0) * 60;
        moment.days = (seconds >= 0 ? seconds : seconds - kDay + 1) / kDay;
        moment.second = seconds - moment.days * kDay;
        moment.zone = zone;
      }
    if (differ)
      table.notes.push_back(fmt::format("{}: the time zones of column \"{}\" differ; the output uses the last one",
                                        source_, escape_cell(schema_.columns[order_].name, kShownBytes)));
  }

  bool has_dates() const { return order_ != kNone && schema_.columns[order_].type == ColumnType::date; }

  void add_times(const Examples& examples, Index example, GroupRows& group) {
    const ColumnSchema& column = schema_.columns[order_];
    const ExampleColumn& times = examples.column(column.name);
    constexpr std::size_t kKeptTimes = 1000;
    for (Index r = examples.begin(example); r < examples.end(example); ++r) {
      if (has_dates() && time_cells_.size() < kKeptTimes) time_cells_.push_back(times.texts[at(r)]);
      if (has_dates() && r + 1 == examples.end(example)) last_time_ = times.texts[at(r)];
      if (has_dates())
        group.dates.push_back(*parse_date(times.texts[at(r)], *column.date_format));
      else
        group.numbers.push_back(times.numbers[at(r)]);
    }
  }

  /// Integers in columns whose names suggest classes are read as strings.
  void add_values(const Examples& examples, Index example, const Field& field, std::vector<double>& values) const {
    const ColumnSchema& column = schema_.columns[field.column];
    const ExampleColumn& entries = examples.column(column.name);
    for (Index r = examples.begin(example); r < examples.end(example); ++r) {
      if (!entries.present(r))
        values.push_back(kMissingValue);
      else if (field.category)
        values.push_back(entries.texts[at(r)] == *field.category ? 1 : 0);
      else if (entries.is_text())
        values.push_back(parse_number(entries.texts[at(r)], column.convention).value_or(kMissingValue));
      else
        values.push_back(entries.numbers[at(r)]);
    }
  }

  void require_different_times(const GroupRows& group) const {
    for (std::size_t i = 1; i < group.lines.size() && order_ != kNone; ++i) {
      const bool equal = has_dates() ? group.dates[i].seconds() == group.dates[i - 1].seconds()
                                     : group.numbers[i] == group.numbers[i - 1];
      if (!equal) continue;
      throw DataError(fmt::format(
          "{}: lines {} and {} have the same time{}; {}", source_, std::min(group.lines[i - 1], group.lines[i]),
          std::max(group.lines[i - 1], group.lines[i]),
          group.name.empty() ? "" : fmt::format(" and group \"{}\"", escape_cell(group.name, kShownBytes)), advice()));
    }
  }

  /// Returns the remedy for equal times: columns that could identify the series, or one row for each time.
  std::string advice() const {
    std::string candidates;
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
      const ColumnSchema& column = schema_.columns[i];
      const bool tells_apart = column.type != ColumnType::date && column.type != ColumnType::text;
      if (i == order_ || i == group_ || std::ranges::find(joined_, i) != joined_.end() || !tells_apart) continue;
      if (fields_.size() == 1 && i == fields_.front().column) continue;
      if (column.distinct < 2 || 2 * column.distinct > column.entries()) continue;
      candidates += fmt::format("{}{}", candidates.empty() ? "" : " or ", escape_cell(column.name, kShownBytes));
    }
    constexpr const char* kOneRow = "keep one row for each time, such as the sum or the mean of its rows";
    std::string stated = group_ != kNone ? schema_.columns[group_].name + "," : "";
    for (const std::size_t i : joined_) stated += schema_.columns[i].name + ",";
    if (candidates.empty()) candidates = "a column";
    return fmt::format("if {} identifies the series, specify it with --group {}COLUMN; otherwise {}", candidates,
                       escape_cell(stated, kShownBytes), kOneRow);
  }

  /// Returns the step of the longest group, if all groups have this step.
  TimeIndex common_index(SeriesTable& table) const {
    if (order_ == kNone || groups_.empty()) return {};
    const auto longest =
        std::ranges::max_element(groups_, {}, [](const GroupRows& group) { return group.lines.size(); });
    std::optional<TimeIndex> index =
        has_dates() ? TimeIndex::of_dates(longest->dates, time_style()) : TimeIndex::of_numbers(longest->numbers);
    for (const GroupRows& group : groups_)
      if (index && !fits(group, *index)) index.reset();
    if (!index)
      table.notes.push_back(fmt::format(
          "{}: the times of column \"{}\" have no regular step; the rows are treated as consecutive steps; to keep "
          "the times, add a row with empty values for each missing time",
          source_, escape_cell(schema_.columns[order_].name, kShownBytes)));
    else if (index->has_closed_days() && index->step_name() != "working days")
      table.notes.push_back(fmt::format("{}: the dates of column \"{}\" are {}; the forecast has no other days",
                                        source_, escape_cell(schema_.columns[order_].name, kShownBytes),
                                        index->step_name()));
    return index.value_or(TimeIndex{});
  }

  DateStyle time_style() const {
    std::vector<std::string> cells = time_cells_;
    cells.push_back(last_time_);
    return DateStyle::of_cells(cells, *schema_.columns[order_].date_format);
  }

  /// Returns whether the time index of a group does not have many more positions than rows.
  bool fits(const GroupRows& group, const TimeIndex& index) const {
    constexpr Index kMostGaps = 100;  // maximum ratio of positions to rows
    const TimeIndex own = start(group, index);
    Index last = 0;
    for (std::size_t i = 0; i < group.lines.size(); ++i) {
      const std::optional<Index> place = place_of(group, own, i);
      if (!place || (i > 0 && *place <= last)) return false;
      last = *place;
    }
    return last < kMostGaps * (static_cast<Index>(group.lines.size()) + 10);
  }

  TimeIndex start(const GroupRows& group, const TimeIndex& index) const {
    return has_dates() ? index.starting_at(group.dates.front()) : index.starting_at(group.numbers.front());
  }
  std::optional<Index> place_of(const GroupRows& group, const TimeIndex& index, std::size_t row) const {
    return has_dates() ? index.place(group.dates[row]) : index.place(group.numbers[row]);
  }

  void add_series(const GroupRows& group, const TimeIndex& index, SeriesTable& table) const {
    const TimeIndex own = index.has_times() ? start(group, index) : index;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      TableSeries& series = table.series.emplace_back();
      series.group = group.name, series.field = fields_[f].name, series.index = own;
      if (!index.has_times()) {
        series.values = group.values[f];
        series.irregular = group.dates;
        continue;
      }
      for (std::size_t i = 0; i < group.lines.size(); ++i) {
        series.values.resize(at(*place_of(group, own, i)) + 1, kMissingValue);
        series.values.back() = group.values[f][i];
      }
    }
  }

  std::string source_;
  SeriesColumns columns_;
  TableSchema schema_;
  std::vector<std::string> inputs_;  // numeric columns that are not forecast
  std::size_t group_ = kNone, order_ = kNone;
  std::vector<std::size_t> joined_;  // several columns instead of group_
  std::vector<Field> fields_;
  std::map<std::string, StatedType> types_;
  std::vector<std::string> time_cells_;
  std::string last_time_;
  std::vector<GroupRows> groups_;
};

/// Returns the columns of `--group a,b`; empty if fewer than two columns are named. Throws UsageError for an unknown
/// column.
std::vector<std::string> joined_groups(const TableLayout& layout, const SchemaOptions& options) {
  const auto is_column = [&](const std::string& name) {
    return std::ranges::find(layout.names, name) != layout.names.end();
  };
  if (!options.group || is_column(*options.group)) return {};
  std::vector<std::string> groups = split_names(*options.group);
  if (groups.size() < 2) return {};
  for (const std::string& name : groups) require_column("--group", name, layout.names);
  return groups;
}

}  // namespace

TableSchema infer_series_schema(const Input& input, const SchemaOptions& stated) {
  SchemaOptions options = stated;
  options.rows = RowMeaning::sequence;
  const ReaderText text(input);
  TableSchema schema = infer_table_schema(text.source(), text.text(), options);
  if (schema.rows == 0) refuse_only_header(text.source());
  return schema;
}

SeriesTable read_series_table(const std::string& path, const SchemaOptions& stated, const SeriesColumns& columns) {
  return read_series_table(Input::open(path), stated, columns);
}

SeriesTable read_series_table(const Input& input, const SchemaOptions& stated, const SeriesColumns& columns) {
  SchemaOptions options = stated;
  options.rows = RowMeaning::sequence;
  const ReaderText text(input);
  TableRows rows(text, options);
  const std::vector<std::string> groups = joined_groups(rows.layout(), options);
  if (!groups.empty()) options.group.reset();
  const bool months = groups.empty() && MonthTableReader::applies(rows.layout(), options);
  if (!months && (!groups.empty() || !RowSeriesReader::applies(rows.layout(), options)))
    return ColumnSeriesReader(text, rows.layout(), options, groups, columns).read(input, options);
  SeriesTable table =
      months ? MonthTableReader::read(input.name(), rows, options) : RowSeriesReader::read(input.name(), rows, options);
  input.require_whole();
  return table;
}

}  // namespace unfold
