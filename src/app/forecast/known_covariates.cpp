#include "app/forecast/known_covariates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "app/fields/predicted_list.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "data/cells/numeric_cell.h"
#include "data/schema/only_header.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// The series of one field and group, by name.
class FutureValues {
 public:
  FutureValues(const SeriesTable& future, std::string name)
      : name_(std::move(name)), date_format_(future.date_format), has_groups_(future.has_groups) {
    for (const TableSeries& series : future.series) series_[{series.group, series.field}] = &series;
  }

  /// Appends the next `horizon` values of a covariate to `values`, and notes about empty and unusual values to `notes`.
  void append(const TableSeries& history, Index horizon, std::vector<double>& values,
              std::vector<std::string>& notes) const {
    const auto place = series_.find({has_groups_ ? history.group : std::string(), history.field});
    if (place == series_.end())
      throw DataError(fmt::format("{}: there are no rows for the group {}", name_, in_quotes(history.group)));
    const TableSeries& later = *place->second;
    const bool timed = history.index.has_times() && (later.index.has_times() || !later.irregular.empty());
    const std::map<std::string, double> by_label =
        timed ? labeled(later, history.index) : std::map<std::string, double>();
    const Index n = static_cast<Index>(history.values.size());
    Index empty = 0;
    std::string first_empty;
    for (Index h = 0; h < horizon; ++h) {
      const std::string label = history.index.label(n + h);
      const auto found = by_label.find(label);
      if (timed ? found == by_label.end() : h >= static_cast<Index>(later.values.size()))
        throw DataError(
            fmt::format("{}: column {} has no value for {}, step {} of the forecast{}; add the row, or forecast "
                        "fewer steps",
                        name_, in_quotes(history.field), timed ? in_quotes(label) : "the row", h + 1,
                        timed ? range_of(later) : ""));
      values.push_back(timed ? found->second : later.values[at(h)]);
      if (std::isnan(values.back()) && empty++ == 0) first_empty = timed ? label : fmt::format("step {}", h + 1);
    }
    note_far_value(history, std::span(values).last(at(horizon)), notes);
    if (empty > 0)
      notes.push_back(fmt::format(
          "{}: column {} is empty for {} of {} steps{}; the first is {}; the covariate has no effect at these "
          "steps",
          name_, in_quotes(history.field), empty, horizon,
          history.group.empty() ? "" : fmt::format(" of the group {}", in_quotes(history.group)), first_empty));
  }

 private:
  /// Notes the first of the next values that is farther outside the range of the history than the width of this range.
  void note_far_value(const TableSeries& history, std::span<const double> next, std::vector<std::string>& notes) const {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const double x : history.values)
      if (!std::isnan(x)) least = std::min(least, x), most = std::max(most, x);
    const double width = most - least;
    const auto is_far = [&](double x) { return x > most + width || x < least - width; };
    const auto far = std::ranges::find_if(next, is_far);
    if (far == next.end() || !(least <= most)) return;
    const Index h = far - next.begin();
    notes.push_back(fmt::format(
        "{}: column {} is {:.6g} at {}{}, but from {:.6g} to {:.6g} in the data; the forecast extrapolates its effect, "
        "so check the value",
        name_, in_quotes(history.field), *far,
        history.index.has_times() ? history.index.label(static_cast<Index>(history.values.size()) + h)
                                  : fmt::format("step {}", h + 1),
        history.group.empty() ? "" : fmt::format(" of the group {}", in_quotes(history.group)), least, most));
  }

  /// Returns a clause with the first and the last date of the rows.
  std::string range_of(const TableSeries& later) const {
    const auto text = [](const Moment& moment) {
      return forecasting::format_moment(moment, DateFormat::year_month_day);
    };
    std::pair<Moment, Moment> ends;
    if (!later.irregular.empty())
      ends = {later.irregular.front(), later.irregular.back()};
    else if (later.index.has_dates())
      ends = {later.index.moment(0), later.index.moment(static_cast<Index>(later.values.size()) - 1)};
    else
      return {};
    return fmt::format("; its dates{} are from {} to {}",
                       date_format_ ? fmt::format(", read as {},", date_pattern(*date_format_)) : "", text(ends.first),
                       text(ends.second));
  }

  /// Returns the values by the labels that their times have in `index`; dates may be written differently. A few dates
  /// may have no regular step, such as a week without its Sunday.
  static std::map<std::string, double> labeled(const TableSeries& later, const forecasting::TimeIndex& index) {
    std::map<std::string, double> values;
    for (std::size_t t = 0; t < later.values.size(); ++t) {
      const bool dates = index.has_dates() && (later.index.has_dates() || !later.irregular.empty());
      if (!dates) {
        values[later.index.label(static_cast<Index>(t))] = later.values[t];
        continue;
      }
      const Moment moment = later.irregular.empty() ? later.index.moment(static_cast<Index>(t)) : later.irregular[t];
      if (const std::optional<Index> position = index.place(moment)) values[index.label(*position)] = later.values[t];
    }
    return values;
  }

  std::string name_;
  std::optional<DateFormat> date_format_;
  bool has_groups_;
  std::map<std::pair<std::string, std::string>, const TableSeries*> series_;
};

bool is_number_or_category(const ColumnSchema& column) {
  const bool role = column.role == ColumnRole::order || column.role == ColumnRole::group;
  return !role && (column.type == ColumnType::number || column.type == ColumnType::integer ||
                   column.type == ColumnType::category || column.type == ColumnType::constant);
}

/// Returns the names of the columns that may be covariates, except the target.
SeriesColumns possible_covariates(const TableSchema& future, const std::string& target = {}) {
  SeriesColumns columns;
  for (const ColumnSchema& column : future.columns) {
    if (column.name == target) continue;
    if (column.type != ColumnType::date) columns.covariates.push_back(column.name);
    if (column.type == ColumnType::empty) columns.without_entries.push_back(column.name);
  }
  return columns;
}

/// Returns whether the only row of a table has the names of the data.
bool is_header(const TableSchema& future, const SeriesTable& table) {
  return future.rows == 1 && std::ranges::any_of(future.columns, [&](const ColumnSchema& column) {
           return !column.examples.empty() &&
                  std::ranges::find(table.columns, column.examples.front()) != table.columns.end();
         });
}

bool has_texts(const ColumnSchema& column) {
  if (column.type == ColumnType::constant) return !parse_number(column.examples.front(), column.convention);
  return column.type == ColumnType::text || (column.type == ColumnType::category && !column.class_labels);
}

/// Rejects texts in columns that are numbers in the data.
void require_numbers(const SeriesTable& table, const TableSchema& future) {
  for (const Covariate& covariate : table.covariates) {
    const ColumnSchema* column = future.find(covariate.column);
    if (!covariate.categories.empty() || column == nullptr || !has_texts(*column)) continue;
    throw DataError(fmt::format(
        "{}: column {} has numbers in the data, but texts here, such as {}; write the same values as in the data",
        future.source, in_quotes(column->name), in_quotes(column->examples.front())));
  }
}

/// Rejects numbers and categories that the data does not have.
void require_columns_of_data(const SeriesTable& table, const TableSchema& future) {
  if (is_header(future, table)) refuse_only_header(future.source);
  constexpr std::size_t kMostNamed = 10;
  std::vector<std::string> names;
  for (const std::string& name : table.columns)
    if (names.size() < kMostNamed) names.push_back(in_quotes(name));
  for (const ColumnSchema& column : future.columns) {
    if (!is_number_or_category(column) || std::ranges::find(table.columns, column.name) != table.columns.end())
      continue;
    throw DataError(fmt::format(
        "{}: the data has no column {}, so its effect is unknown; the columns of the data are {}{}{}; rename or remove "
        "the column",
        future.source, in_quotes(column.name), fmt::join(names, ", "), table.columns.size() > kMostNamed ? ", ..." : "",
        did_you_mean(column.name, table.columns)));
  }
}

/// Notes the columns of `future`, except the target, whose entries in the data have no effect, such as texts and
/// constants.
void note_unused_columns(SeriesTable& table, const TableSchema& future, const SchemaOptions& schema,
                         const std::string& target) {
  const std::vector<std::string> groups = split_names(schema.group.value_or(table.group_column));
  for (const ColumnSchema& column : future.columns) {
    const bool covariate =
        std::ranges::find(table.covariates, column.name, &Covariate::column) != table.covariates.end();
    const bool group = std::ranges::find(groups, column.name) != groups.end() || column.name == table.group_column;
    const bool time = column.name == table.time_column || (table.time_part && column.name == table.time_part->column);
    if (covariate || group || time || column.name == target || !is_number_or_category(column)) continue;
    table.notes.push_back(fmt::format(
        "{}: column {} is not used: in the data it is neither a column of numbers nor one of several categories",
        future.source, in_quotes(column.name)));
  }
}

/// Returns whether nothing but covariates is left of a table.
bool has_only_covariates(const SeriesTable& table) {
  return std::ranges::all_of(table.fields, [&](const std::string& field) {
    return std::ranges::any_of(table.covariates, [&](const Covariate& covariate) {
      return field == covariate.column || field.starts_with(covariate.column + "=");
    });
  });
}

/// Returns the name of the column that is predicted if none is stated, the last one of several; empty if there is none.
std::string inferred_target(const Input& data, const SchemaOptions& schema) {
  if (!schema.predict.empty() || split_names(schema.group.value_or("")).size() > 1) return {};
  const TableSchema inferred = infer_series_schema(data, schema);
  std::string target;
  for (const ColumnSchema& column : inferred.columns)
    if (column.role == ColumnRole::predicted) target = column.name;
  return target;
}

}  // namespace

TablesOfCovariates read_with_future(const std::string& data, const std::string& future, const SchemaOptions& schema) {
  const std::vector<Input> inputs = open_inputs({data, future});
  SchemaOptions options = schema;
  options.predict.clear();
  options.ignore_absent = true;
  if (schema.group) options.group.reset();  // several columns, perhaps
  const TableSchema later = infer_series_schema(inputs[1], options);
  TablesOfCovariates tables;
  tables.table = read_series_table(inputs[0], schema, possible_covariates(later));
  std::string target;
  if (tables.table.covariates.size() > 1 && has_only_covariates(tables.table))
    target = inferred_target(inputs[0], schema);
  if (!target.empty()) {
    tables.table = read_series_table(inputs[0], schema, possible_covariates(later, target));
    tables.table.notes.push_back(fmt::format(
        "{}: column {} is forecast, so its values in this table are not used; use --predict to forecast a different "
        "column",
        later.source, in_quotes(target)));
  }
  require_columns_of_data(tables.table, later);
  if (tables.table.covariates.empty())
    throw DataError(fmt::format(
        "{}: there is no covariate: no column has numbers or categories and occurs in the data, too", later.source));
  require_numbers(tables.table, later);
  note_unused_columns(tables.table, later, schema, target);
  const auto has = [&](const std::string& name) { return !name.empty() && later.find(name) != nullptr; };
  const std::vector<std::string> groups = split_names(schema.group.value_or(tables.table.group_column));
  const bool grouped = tables.table.has_groups && (schema.group || !tables.table.group_column.empty());
  const bool shared = grouped && std::ranges::none_of(groups, has);
  if (!shared) options.group = schema.group;
  if (!shared && !options.group && has(tables.table.group_column)) options.group = tables.table.group_column;
  if (!options.order && has(tables.table.time_column)) options.order = tables.table.time_column;
  tables.future = read_series_table(
      inputs[1], options,
      {.known = tables.table.covariates, .date_format = tables.table.date_format, .time_part = tables.table.time_part});
  if (shared && !tables.future.has_groups)
    tables.table.notes.push_back(fmt::format("{}: column {} is missing, so the same values are used for all groups",
                                             later.source, in_quotes(fmt::format("{}", fmt::join(groups, ", ")))));
  return tables;
}

std::vector<std::vector<std::vector<double>>> take_known_covariates(SeriesTable& table, const SeriesTable& future,
                                                                    const std::string& future_name, Index horizon) {
  const auto is_known = [&](const std::string& field) {
    return std::ranges::find(future.fields, field) != future.fields.end();
  };
  for (const std::string& field : future.fields)
    if (std::ranges::find(table.fields, field) == table.fields.end())
      throw DataError(fmt::format("{}: column {} is not numeric in the data, so its effect is unknown", future_name,
                                  in_quotes(field)));
  const FutureValues values(future, future_name);
  const bool data_has_times = !table.series.empty() && table.series.front().index.has_times();
  const std::size_t width = table.fields.size();
  std::vector<TableSeries> left;
  std::vector<std::vector<std::vector<double>>> known;
  std::vector<std::string> notes;
  for (std::size_t first = 0; first < table.series.size(); first += width) {
    std::vector<std::vector<double>> covariates;
    for (std::size_t k = first; k < first + width; ++k) {
      if (!is_known(table.series[k].field)) continue;
      covariates.push_back(table.series[k].values);
      values.append(table.series[k], horizon, covariates.back(), notes);
    }
    for (std::size_t k = first; k < first + width; ++k) {
      if (is_known(table.series[k].field)) continue;
      left.push_back(std::move(table.series[k]));
      known.push_back(covariates);
    }
  }
  if (!data_has_times && !future.series.empty() &&
      (future.series.front().index.has_times() || !future.series.front().irregular.empty()))
    notes.push_back(
        fmt::format("{}: the rows are matched with the steps of the forecast by their order, not by their dates, "
                    "because the data "
                    "has no regular step",
                    future_name));
  std::erase_if(table.fields, is_known);
  if (table.fields.empty())
    throw DataError(
        fmt::format("{}: all columns of the data are also in this table, so they are covariates; none is left to "
                    "forecast; remove the column to forecast from the table",
                    future_name));
  table.series = std::move(left);
  constexpr std::size_t kMostNotes = 5;
  if (notes.size() > kMostNotes) {
    notes[kMostNotes - 1] = fmt::format("{}: {} more covariates have empty cells or unusual values", future_name,
                                        notes.size() - kMostNotes + 1);
    notes.resize(kMostNotes);
  }
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  return known;
}

}  // namespace unfold
