#include "app/forecast/series_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/formats/file.h"
#include "data/schema/column_roles.h"
#include "data/schema/describe_schema.h"
#include "data/schema/infer_schema.h"
#include "data/schema/row_splitter.h"
#include "data/schema/table_layout.h"

namespace unfold {
namespace {

using forecasting::TimeIndex;
constexpr double kMissingValue = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kLeastRowColumns = 8;  // of a table with one row per series
constexpr std::size_t kShownBytes = 40;

bool is_number_type(ColumnType type) { return type == ColumnType::number || type == ColumnType::integer; }

/// The rows of a table below its header, with their lines.
class TableRows {
 public:
  TableRows(const Input& input, const SchemaOptions& options)
      : text_(input.bytes()),
        layout_(table_layout(input.name(), text_, true, options)),
        splitter_(layout_.separator, layout_.line_end, options.comment) {
    if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;
  }
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

/// Whether names are a prefix with consecutive numbers: V2, V3, V4.
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

/// The index of columns that are named by dates; nothing if they are not.
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
    if (std::optional<TimeIndex> index = TimeIndex::of_dates(dates, format)) return index;
  }
  return std::nullopt;
}

/// Tables with one row per series.
class RowSeriesReader {
 public:
  static bool applies(const TableLayout& layout, const SchemaOptions& options) {
    if (!layout.header || layout.names.size() < kLeastRowColumns || options.order || !options.predict.empty())
      return false;
    const std::span<const std::string> names = std::span(layout.names).subspan(1);
    return are_consecutive(names) || index_of_names(names).has_value();
  }

  static SeriesTable read(const Input& input, TableRows& rows, const SchemaOptions& options) {
    SeriesTable table{.series = {}, .fields = {"value"}, .has_groups = true, .notes = {}};
    const std::span<const std::string> names = std::span(rows.layout().names).subspan(1);
    const TimeIndex index = are_consecutive(names) ? TimeIndex{} : index_of_names(names).value_or(TimeIndex{});
    const NumberConvention convention{options.decimal.value_or(DecimalMark::point),
                                      options.thousands.value_or(ThousandsMark::none)};
    TableRow row;
    while (rows.next(row)) {
      TableSeries& series = table.series.emplace_back();
      series.group = row.cells[0], series.field = "value", series.index = index;
      for (std::size_t i = 1; i < row.cells.size(); ++i) series.values.push_back(number(input, row, i, convention));
      while (!series.values.empty() && std::isnan(series.values.back())) series.values.pop_back();
    }
    table.notes.push_back(fmt::format("{}: one series per row, {} series", input.name(), table.series.size()));
    return table;
  }

 private:
  static double number(const Input& input, const TableRow& row, std::size_t i, const NumberConvention& convention) {
    const std::string_view cell = row.cells[i];
    if (cell.empty() || cell == "NA" || cell == "NaN" || cell == "nan") return kMissingValue;
    const std::optional<double> value = parse_number(cell, convention);
    if (!value)
      throw DataError(fmt::format("{}, line {}, cell {}: \"{}\" is not a number", input.name(), row.line, i + 1,
                                  escape_cell(cell, kShownBytes)));
    return *value;
  }
};

/// The cells of one group.
struct GroupRows {
  std::string name = {};
  std::vector<Moment> dates = {};
  std::vector<double> numbers = {};  ///< times that are numbers
  std::vector<Index> lines = {};
  std::vector<std::vector<double>> values = {};  ///< [field][row]
};

/// Tables whose columns are times, groups and values.
class ColumnSeriesReader {
 public:
  ColumnSeriesReader(const Input& input, TableRows& rows, const SchemaOptions& options)
      : input_(input), rows_(rows), schema_(infer_table_schema(input.name(), input.bytes(), options)) {
    choose_columns(options);
  }

  SeriesTable read() {
    read_rows();
    SeriesTable table;
    for (const std::size_t i : fields_) table.fields.push_back(schema_.columns[i].name);
    table.has_groups = group_ != kNone;
    for (GroupRows& group : groups_) sort(group);
    const TimeIndex index = common_index(table);
    for (const GroupRows& group : groups_) add_series(group, index, table);
    return table;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void choose_columns(const SchemaOptions& options) {
    const auto stated = [](const std::vector<std::string>& names, const ColumnSchema& column) {
      return std::ranges::find(names, column.name) != names.end();
    };
    for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
      ColumnSchema& column = schema_.columns[i];
      if (column.role == ColumnRole::group) group_ = i;
      if (column.role == ColumnRole::order && schema_.columns.size() > 1) order_ = i;
    }
    if (group_ == kNone) find_group();
    take_fields([&](const ColumnSchema& column) {
      if (!options.predict.empty()) return stated(options.predict, column);
      return is_number_type(column.type) || column.class_labels ||
             (column.type == ColumnType::constant && holds_numbers(column));
    });
    // Row numbers, and columns without entries, are values only where there is nothing else.
    if (fields_.empty() && options.predict.empty())
      take_fields([&](const ColumnSchema& column) { return schema_.columns.size() == 1 || holds_numbers(column); });
    if (fields_.empty())
      throw DataError(fmt::format(
          "{}: no column of numbers to forecast; choose one with --predict, or see `unfold inspect`", input_.name()));
    require_regular(schema_);
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
      if (i == group_ || i == order_) continue;
      const bool taken = is_taken(column);
      column.role = taken ? ColumnRole::predicted : ColumnRole::left_out;
      if (!taken) continue;
      if (!holds_numbers(column))
        throw DataError(
            fmt::format("{}: column \"{}\" has the type {}; only numbers can be forecast: choose the value "
                        "column with --predict",
                        input_.name(), escape_cell(column.name, kShownBytes), type_name(column.type)));
      fields_.push_back(i);
    }
  }

  /// Where times repeat, the first column of categories tells the series apart.
  void find_group() {
    if (order_ == kNone || schema_.columns[order_].distinct * 3 > schema_.columns[order_].entries() * 2) return;
    for (std::size_t i = 0; i < schema_.columns.size() && group_ == kNone; ++i) {
      ColumnSchema& column = schema_.columns[i];
      if (i == order_ || column.type != ColumnType::category || column.class_labels) continue;
      column.role = ColumnRole::group;
      group_ = i;
    }
  }

  void read_rows() {
    std::map<std::string, std::size_t, std::less<>> places;
    TableRow row;
    while (rows_.next(row)) {
      if (row.cells.size() != schema_.columns.size()) continue;  // a final line of blanks; others were refused
      const std::string_view name = group_ == kNone ? std::string_view() : row.cells[group_];
      auto place = places.find(name);
      if (place == places.end()) {
        place = places.emplace(name, groups_.size()).first;
        groups_.push_back({.name = std::string(name)});
        groups_.back().values.resize(fields_.size());
      }
      GroupRows& group = groups_[place->second];
      group.lines.push_back(row.line);
      if (order_ != kNone) read_time(row, group);
      for (std::size_t f = 0; f < fields_.size(); ++f) {
        const std::optional<double> value = parse_number(row.cells[fields_[f]], schema_.columns[fields_[f]].convention);
        group.values[f].push_back(value.value_or(kMissingValue));
      }
    }
  }

  bool has_dates() const { return order_ != kNone && schema_.columns[order_].type == ColumnType::date; }

  void read_time(const TableRow& row, GroupRows& group) const {
    const ColumnSchema& column = schema_.columns[order_];
    const std::string_view cell = row.cells[order_];
    if (has_dates()) {
      const std::optional<Moment> moment = parse_date(cell, *column.date_format);
      if (moment) return group.dates.push_back(*moment);
    } else if (const std::optional<double> number = parse_number(cell, column.convention)) {
      return group.numbers.push_back(*number);
    }
    throw DataError(
        fmt::format("{}, line {}: the time \"{}\" of column \"{}\" cannot be read; correct it, or remove the row",
                    input_.name(), row.line, escape_cell(cell, kShownBytes), escape_cell(column.name, kShownBytes)));
  }

  /// Sorts the rows of a group by time. Throws DataError for equal times.
  void sort(GroupRows& group) const {
    if (order_ == kNone) return;
    std::vector<std::size_t> order(group.lines.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) {
      if (!has_dates()) return group.numbers[a] < group.numbers[b];
      const Moment &x = group.dates[a], &y = group.dates[b];
      return std::pair(x.epoch_seconds(), x.nanosecond) < std::pair(y.epoch_seconds(), y.nanosecond);
    };
    std::ranges::stable_sort(order, before);
    for (std::size_t i = 1; i < order.size(); ++i)
      if (!before(order[i - 1], order[i]))
        throw DataError(
            fmt::format("{}: lines {} and {} have the same time; state the column that tells the series apart "
                        "with --group",
                        input_.name(), std::min(group.lines[order[i - 1]], group.lines[order[i]]),
                        std::max(group.lines[order[i - 1]], group.lines[order[i]])));
    const auto permute = [&](auto& values) {
      auto sorted = values;
      for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
      values.swap(sorted);
    };
    if (has_dates()) permute(group.dates);
    if (!has_dates()) permute(group.numbers);
    permute(group.lines);
    for (std::vector<double>& values : group.values) permute(values);
  }

  /// The step of the longest group, if it is that of all groups.
  TimeIndex common_index(SeriesTable& table) const {
    if (order_ == kNone || groups_.empty()) return {};
    const auto longest =
        std::ranges::max_element(groups_, {}, [](const GroupRows& group) { return group.lines.size(); });
    std::optional<TimeIndex> index = has_dates()
                                         ? TimeIndex::of_dates(longest->dates, *schema_.columns[order_].date_format)
                                         : TimeIndex::of_numbers(longest->numbers);
    for (const GroupRows& group : groups_)
      if (index && !fits(group, *index)) index.reset();
    if (!index)
      table.notes.push_back(
          fmt::format("{}: the times of column \"{}\" have no regular step; the rows are taken as consecutive steps",
                      input_.name(), escape_cell(schema_.columns[order_].name, kShownBytes)));
    return index.value_or(TimeIndex{});
  }

  /// The index of a group whose positions are not much more than its rows.
  bool fits(const GroupRows& group, const TimeIndex& index) const {
    constexpr Index kMostGaps = 100;  // times as many positions as rows
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
      series.group = group.name, series.field = schema_.columns[fields_[f]].name, series.index = own;
      if (!index.has_times()) {
        series.values = group.values[f];
        continue;
      }
      for (std::size_t i = 0; i < group.lines.size(); ++i) {
        series.values.resize(at(*place_of(group, own, i)) + 1, kMissingValue);
        series.values.back() = group.values[f][i];
      }
    }
  }

  const Input& input_;
  TableRows& rows_;
  TableSchema schema_;
  std::size_t group_ = kNone, order_ = kNone;
  std::vector<std::size_t> fields_;
  std::vector<GroupRows> groups_;
};

}  // namespace

SeriesTable read_series_table(const std::string& path, const SchemaOptions& options) {
  const Input input = Input::open(path);
  TableRows rows(input, options);
  SeriesTable table = RowSeriesReader::applies(rows.layout(), options)
                          ? RowSeriesReader::read(input, rows, options)
                          : ColumnSeriesReader(input, rows, options).read();
  input.require_whole();
  return table;
}

}  // namespace unfold
