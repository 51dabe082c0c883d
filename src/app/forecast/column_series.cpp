#include "app/forecast/column_series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "app/forecast/series_roles.h"
#include "app/forecast/series_times.h"
#include "base/printable.h"
#include "data/readers/example_reader.h"
#include "data/schema/describe_schema.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using forecasting::TimeIndex;

/// Returns how the cells of a column of numbers are read. Integers without separators do not show the convention.
StatedType number_type_of(const ColumnSchema& column) {
  StatedType type{.type = ColumnType::number, .unit = {}, .date_format = {}, .number_unit = column.number_unit};
  if (column.type == ColumnType::number || column.convention.thousands != ThousandsMark::none)
    type.convention = column.convention;
  return type;
}

class ColumnSeriesReader {
 public:
  ColumnSeriesReader(std::string source, const SeriesColumns& columns, SeriesRoles roles)
      : source_(std::move(source)), columns_(columns), roles_(std::move(roles)) {}

  SeriesTable read(const Input& input, const SchemaOptions& options) {
    const Examples examples = read_examples(input, reader_options(options));
    roles_.schema = *examples.schema;
    times_.emplace(source_, roles_.has_times() ? &roles_.time_column() : nullptr, roles_.time_part);
    SeriesTable table;
    table.notes = examples.remarks;
    table.notes.insert(table.notes.end(), roles_.notes.begin(), roles_.notes.end());
    require_known_categories(examples);
    divide_categories(examples, table);
    read_groups(examples);
    describe_columns(table);
    times_->note_parts(table.notes);
    note_inputs(table);
    if (!roles_.joined.empty()) divide_groups();
    times_->unify_zones(groups_, table.notes);
    for (const GroupRows& group : groups_) times_->require_different(group, [&] { return advice(); });
    const TimeIndex index = times_->common_index(groups_, table.notes);
    for (const GroupRows& group : groups_) times_->add_series(group, index, roles_.fields, table.series);
    note_empty_end(table);
    return table;
  }

 private:
  /// Returns options with which unused columns are not read.
  ReaderOptions reader_options(const SchemaOptions& options) const {
    ReaderOptions how{.format = "table", .schema = options, .date_parts = false};
    how.schema.infer_roles = false;
    how.schema.ignore_absent = true;
    how.schema.predict.clear();
    how.schema.types = roles_.types;
    for (const SeriesField& field : roles_.fields) how.schema.predict.push_back(field.name);
    how.schema.read = how.schema.predict;
    how.schema.group.reset();
    for (const std::size_t i : roles_.joined) how.schema.read.push_back(roles_.schema.columns[i].name);
    if (roles_.has_group()) how.schema.group = roles_.group_column().name;
    if (roles_.has_times()) how.schema.order = roles_.time_column().name;
    if (roles_.time_part) how.schema.read.push_back(roles_.time_part->column);
    return how;
  }

  void describe_columns(SeriesTable& table) const {
    table.has_groups = roles_.has_group() || !roles_.joined.empty();
    for (const SeriesField& field : roles_.fields) table.fields.push_back(field.name);
    for (const ColumnSchema& column : roles_.schema.columns) table.columns.push_back(column.name);
    if (roles_.has_group()) table.group_column = roles_.group_column().name;
    if (roles_.has_times() && !roles_.schema.date_parts) table.time_column = roles_.time_column().name;
    if (times_->has_dates()) table.date_format = roles_.time_column().date_format;
    table.time_part = roles_.time_part;
  }

  void note_inputs(SeriesTable& table) const {
    if (roles_.inputs.empty()) return;
    constexpr std::size_t kMostNamed = 4;
    std::vector<std::string> predicted, inputs;
    for (const SeriesField& field : roles_.fields)
      if (std::ranges::find(columns_.covariates, roles_.schema.columns[field.column].name) == columns_.covariates.end())
        predicted.push_back(in_quotes(field.name));
    for (const std::string& name : roles_.inputs) inputs.push_back(in_quotes(name));
    if (inputs.size() > kMostNamed + 1) {
      inputs[kMostNamed] = fmt::format("{} others", inputs.size() - kMostNamed);
      inputs.resize(kMostNamed + 1);
    }
    table.notes.push_back(fmt::format(
        "{}: only {} is forecast; the other numeric columns ({}) are inputs, which are used only if --future has their "
        "next values; --predict chooses the columns to forecast",
        source_, fmt::join(predicted, ", "), fmt::join(inputs, ", ")));
  }

  /// Notes that the last values of a column are empty: often, these are the rows to forecast.
  void note_empty_end(SeriesTable& table) const {
    Index count = 0;
    const TableSeries* first = nullptr;
    for (const TableSeries& series : table.series) {
      if (series.values.empty() || !std::isnan(series.values.back()) || is_known_in_advance(series.field)) continue;
      if (count++ == 0) first = &series;
    }
    if (count == 0) return;
    Index observed = static_cast<Index>(first->values.size());
    while (observed > 0 && std::isnan(first->values[at(observed - 1)])) --observed;
    if (observed == 0) return;
    const Index empty = static_cast<Index>(first->values.size()) - observed;
    const auto time = [&](Index place) {
      return first->index.has_times() ? first->index.label(place) : fmt::format("step {}", place + 1);
    };
    table.notes.push_back(fmt::format(
        "{}: the last {} of column {}{} {} empty ({}{}); the forecast begins after {}, at {}; to forecast {}, "
        "remove {}{}",
        source_, empty == 1 ? "value" : fmt::format("{} values", empty), in_quotes(first->field),
        first->group.empty() ? "" : fmt::format(" of the group {}", in_quotes(first->group)), empty == 1 ? "is" : "are",
        empty == 1 ? time(observed) : fmt::format("{} to {}", time(observed), time(observed + empty - 1)),
        count == 1 ? "" : fmt::format("; as in {} other series", count - 1), empty == 1 ? "it" : "them",
        time(observed + empty), empty == 1 ? "it" : "them", empty == 1 ? "its row" : "their rows",
        table.columns.size() > 2 ? ", or move the rows to a table for --future, which uses their other columns" : ""));
  }

  bool is_known_in_advance(const std::string& name) const {
    return std::ranges::any_of(columns_.covariates, [&](const std::string& covariate) {
      return name == covariate || name.starts_with(covariate + "=");
    });
  }

  /// Divides the columns of categories into one field for each category except the most frequent one.
  void divide_categories(const Examples& examples, SeriesTable& table) {
    std::vector<SeriesField> divided;
    for (const SeriesField& field : roles_.fields) {
      const ColumnSchema& column = roles_.schema.columns[field.column];
      if (!has_categories(columns_, column)) {
        divided.push_back(field);
        if (is_covariate(columns_, column)) table.covariates.push_back({field.name, number_type_of(column)});
        continue;
      }
      const std::vector<std::string> categories = categories_of(examples, column, table);
      if (categories.size() < 2) continue;
      const bool has_empty = std::ranges::find(categories, "") != categories.end();
      for (std::size_t k = 1; k < categories.size(); ++k)
        divided.push_back({field.column, field.name + "=" + categories[k], categories[k], has_empty});
      table.covariates.push_back(
          {field.name, {.type = ColumnType::category, .unit = {}, .date_format = {}}, categories});
    }
    roles_.fields = std::move(divided);
  }

  /// Returns the categories of a column, the most frequent one first; empty with a note if there are too many. Empty
  /// cells are a category, whose name is empty.
  std::vector<std::string> categories_of(const Examples& examples, const ColumnSchema& column,
                                         SeriesTable& table) const {
    constexpr std::size_t kMostCategories = 50;
    if (!columns_.known.empty()) return std::ranges::find(columns_.known, column.name, &Covariate::column)->categories;
    const ExampleColumn& entries = examples.column(column.name);
    std::map<std::string, Index> counts;
    for (Index r = 0; r < entries.entries(); ++r)
      ++counts[std::string(entries.present(r) ? entries.texts[r] : std::string_view())];
    std::vector<std::string> categories;
    categories.reserve(counts.size());
    for (const auto& [category, count] : counts) categories.push_back(category);
    std::ranges::stable_sort(categories, [&](const auto& a, const auto& b) { return counts[a] > counts[b]; });
    if (const auto empty = counts.find(""); empty != counts.end() && categories.size() <= kMostCategories)
      table.notes.push_back(
          fmt::format("{}: column {}: {} cells are empty or missing; they are read as one more category, such as no",
                      source_, in_quotes(column.name), empty->second));
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
        if (!entries.present(r) || std::ranges::find(known.categories, entries.texts[r]) != known.categories.end())
          continue;
        constexpr std::size_t kMostNamed = 5;
        std::vector<std::string> names;
        for (std::size_t k = 0; k < std::min(kMostNamed, known.categories.size()); ++k)
          names.push_back(in_quotes(known.categories[k]));
        throw DataError(
            fmt::format("{}: line {}: {} in column {} does not occur in the data, so its effect is unknown; "
                        "the data has {}{}",
                        source_, examples.lines[at(r)], in_quotes(entries.texts[r]), in_quotes(known.column),
                        fmt::join(names, ", "), known.categories.size() > kMostNamed ? ", ..." : ""));
      }
    }
  }

  /// Collects the rows of each group, in the order of their times.
  void read_groups(const Examples& examples) {
    for (Index e = 0; e < examples.count(); ++e) {
      GroupRows& group = groups_.emplace_back();
      if (roles_.has_group()) group.name = examples.column(roles_.group_column().name).texts[e];
      for (Index r = examples.begin(e); r < examples.end(e); ++r) group.lines.push_back(examples.lines[at(r)]);
      if (roles_.has_times()) times_->add(examples, e, group);
      for (const SeriesField& field : roles_.fields) add_values(examples, e, field, group.values.emplace_back());
      for (const std::size_t i : roles_.joined) add_names(examples, e, roles_.schema.columns[i], group.names);
      if (roles_.time_part) sort_by_time(group);
    }
  }

  /// The table reader sorts the rows by the first column of the times.
  static void sort_by_time(GroupRows& group) {
    std::vector<std::size_t> rows(group.lines.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::ranges::stable_sort(rows, {}, [&](std::size_t r) { return group.dates[r].seconds(); });
    const auto reorder = [&](auto& list) {
      if (list.empty()) return;
      auto sorted = list;
      for (std::size_t r = 0; r < rows.size(); ++r) sorted[r] = list[rows[r]];
      list = std::move(sorted);
    };
    reorder(group.dates);
    reorder(group.lines);
    reorder(group.names);
    for (std::vector<double>& values : group.values) reorder(values);
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
                        source_, examples.lines[at(r)], escape_cell(column.name, 40)));
      std::string& name = names[at(r - examples.begin(example))];
      if (!name.empty()) name += ',';
      name += entries.is_text() ? std::string(entries.texts[r]) : fmt::format("{:.15g}", entries.numbers[at(r)]);
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
          divided.push_back({.name = rows.names[r], .values = std::vector<std::vector<double>>(roles_.fields.size())});
        GroupRows& group = divided[place->second];
        group.lines.push_back(rows.lines[r]);
        if (!rows.dates.empty()) group.dates.push_back(rows.dates[r]);
        if (!rows.numbers.empty()) group.numbers.push_back(rows.numbers[r]);
        for (std::size_t f = 0; f < roles_.fields.size(); ++f) group.values[f].push_back(rows.values[f][r]);
      }
    std::ranges::sort(divided, {}, [](const GroupRows& group) { return std::ranges::min(group.lines); });
    groups_ = std::move(divided);
  }

  /// Integers in columns whose names suggest classes are read as strings.
  void add_values(const Examples& examples, Index example, const SeriesField& field,
                  std::vector<double>& values) const {
    const ColumnSchema& column = roles_.schema.columns[field.column];
    const ExampleColumn& entries = examples.column(column.name);
    for (Index r = examples.begin(example); r < examples.end(example); ++r) {
      if (!entries.present(r) && !field.empty_is_category)
        values.push_back(std::numeric_limits<double>::quiet_NaN());
      else if (field.category)
        values.push_back((entries.present(r) ? entries.texts[r] : std::string_view()) == *field.category ? 1 : 0);
      else if (entries.is_text())
        values.push_back(
            parse_number(entries.texts[r], column.convention).value_or(std::numeric_limits<double>::quiet_NaN()));
      else
        values.push_back(entries.numbers[at(r)]);
    }
  }

  /// Returns the remedy for equal times: columns that could identify the series, or one row for each time.
  std::string advice() const {
    std::string candidates;
    for (std::size_t i = 0; i < roles_.schema.columns.size(); ++i) {
      const ColumnSchema& column = roles_.schema.columns[i];
      const bool tells_apart = column.type != ColumnType::date && column.type != ColumnType::text;
      if (i == roles_.order || i == roles_.part || i == roles_.group || roles_.is_joined(i) || !tells_apart) continue;
      if (roles_.fields.size() == 1 && i == roles_.fields.front().column) continue;
      if (column.distinct < 2 || 2 * column.distinct > column.entries()) continue;
      candidates += fmt::format("{}{}", candidates.empty() ? "" : " or ", escape_cell(column.name, 40));
    }
    constexpr const char* kOneRow = "keep one row for each time, such as the sum or the mean of its rows";
    std::string stated = roles_.has_group() ? roles_.group_column().name + "," : "";
    for (const std::size_t i : roles_.joined) stated += roles_.schema.columns[i].name + ",";
    if (candidates.empty()) candidates = "a column";
    return fmt::format("if {} identifies the series, specify it with --group {}COLUMN; otherwise {}", candidates,
                       escape_cell(stated, 40), kOneRow);
  }

  std::string source_;
  const SeriesColumns& columns_;
  SeriesRoles roles_;
  std::optional<SeriesTimes> times_;
  std::vector<GroupRows> groups_;
};

}  // namespace

SeriesTable read_column_series(const ReaderText& text, const Input& input, const TableLayout& layout,
                               const SchemaOptions& options, const std::vector<std::string>& groups,
                               const SeriesColumns& columns) {
  SeriesColumns used = columns;
  SeriesRoles roles = choose_series_roles(text, layout, options, groups, used);
  return ColumnSeriesReader(text.source(), used, std::move(roles)).read(input, options);
}

}  // namespace unfold
