#include "app/forecast/series_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/schema/table_fields.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/only_header.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

bool is_among(const std::vector<std::string>& names, const ColumnSchema& column) {
  return std::ranges::find(names, column.name) != names.end();
}

bool is_number_type(ColumnType type) { return type == ColumnType::number || type == ColumnType::integer; }

bool holds_numbers(const ColumnSchema& column) {
  if (column.type == ColumnType::constant)
    return !column.examples.empty() && parse_number(column.examples.front(), column.convention).has_value();
  return is_number_type(column.type) || column.class_labels || column.type == ColumnType::empty ||
         (column.type == ColumnType::identifier && column.least.has_value());
}

bool is_number_column(const ColumnSchema& column) {
  return is_number_type(column.type) || column.class_labels ||
         (column.type == ColumnType::constant && holds_numbers(column));
}

/// Chooses the roles of the columns of one table.
class RoleChooser {
 public:
  RoleChooser(const ReaderText& text, const TableLayout& layout, const SchemaOptions& options,
              const std::vector<std::string>& groups, SeriesColumns& columns)
      : source_(text.source()), options_(options), columns_(columns) {
    SchemaOptions stated = options;
    std::ranges::copy(groups, std::back_inserter(stated.read));  // columns that are read are not predicted
    if (!columns_.covariates.empty()) keep_covariates(infer_table_schema(text.source(), text.text(), stated));
    std::ranges::copy_if(columns_.covariates, std::back_inserter(stated.read), [&](const std::string& name) {
      return std::ranges::find(layout.names, name) != layout.names.end();
    });
    state_known_types(stated);
    roles_.schema = infer_table_schema(text.source(), text.text(), stated);
    if (roles_.schema.rows == 0) refuse_only_header(source_);
    if (state_date_format(stated)) roles_.schema = infer_table_schema(text.source(), text.text(), stated);
    roles_.types = stated.types;
    for (const std::string& name : groups) {
      const auto place = std::ranges::find(roles_.schema.columns, name, &ColumnSchema::name);
      roles_.joined.push_back(static_cast<std::size_t>(place - roles_.schema.columns.begin()));
    }
  }

  SeriesRoles choose() {
    refuse_header_only(roles_.schema);
    find_times_and_group();
    choose_fields();
    require_regular(roles_.schema, options_.bad_rows);
    return std::move(roles_);
  }

 private:
  /// Only numbers and categories are covariates, not the times and the group. A column of categories is a group only if
  /// times repeat.
  void keep_covariates(const TableSchema& schema) {
    const auto time = std::ranges::find(schema.columns, ColumnRole::order, &ColumnSchema::role);
    const bool repeats = time != schema.columns.end() && time->distinct < time->entries();
    for (const ColumnSchema& column : schema.columns) {
      const bool role = column.role == ColumnRole::order || (column.role == ColumnRole::group && repeats);
      if (role || !(is_number_column(column) || column.type == ColumnType::category))
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
    const auto time = std::ranges::find(roles_.schema.columns, ColumnRole::order, &ColumnSchema::role);
    const bool day_or_month =
        columns_.date_format == DateFormat::day_month_year || columns_.date_format == DateFormat::month_day_year;
    if (time == roles_.schema.columns.end() || !time->exchangeable || !day_or_month) return false;
    const bool points = !time->examples.empty() && time->examples.front().find('.') != std::string::npos;
    if (points) return false;  // the day is first
    options.types[time->name] = {ColumnType::date, {}, columns_.date_format};
    return true;
  }

  void find_times_and_group() {
    for (std::size_t i = 0; i < roles_.schema.columns.size(); ++i) {
      const ColumnSchema& column = roles_.schema.columns[i];
      if (column.role == ColumnRole::group && roles_.joined.empty()) roles_.group = i;
      if (column.role == ColumnRole::order && roles_.schema.columns.size() > 1) roles_.order = i;
    }
    if (!roles_.has_group() && roles_.joined.empty()) find_group();
  }

  /// If times repeat, the first categorical column distinguishes the series.
  void find_group() {
    if (roles_.order == SeriesRoles::kNone ||
        roles_.schema.columns[roles_.order].distinct * 3 > roles_.schema.columns[roles_.order].entries() * 2)
      return;
    for (std::size_t i = 0; i < roles_.schema.columns.size() && roles_.group == SeriesRoles::kNone; ++i) {
      ColumnSchema& column = roles_.schema.columns[i];
      if (i == roles_.order || column.type != ColumnType::category || column.class_labels) continue;
      column.role = ColumnRole::group;
      roles_.group = i;
    }
  }

  /// The schema may predict a category; then all numeric columns are forecast. Row numbers, and columns without
  /// entries, are values only if there are no others.
  void choose_fields() {
    if (!columns_.known.empty())
      return take_fields([&](const ColumnSchema& column) { return is_covariate(columns_, column); });
    const bool stated = !options_.predict.empty();
    const bool predicts = !stated && std::ranges::any_of(roles_.schema.columns, [](const auto& column) {
      return column.role == ColumnRole::predicted && holds_numbers(column);
    });
    take_fields([&](const ColumnSchema& column) {
      if (is_covariate(columns_, column)) return true;
      if (stated) return is_among(options_.predict, column);
      return predicts ? column.role == ColumnRole::predicted : is_number_column(column);
    });
    if (roles_.fields.empty() && !stated)
      take_fields(
          [&](const ColumnSchema& column) { return roles_.schema.columns.size() == 1 || holds_numbers(column); });
    if (predicts) find_inputs();
    if (roles_.fields.empty())
      throw DataError(fmt::format(
          "{}: there is no numeric column to forecast; choose a column with --predict, or see `unfold inspect`",
          source_));
  }

  template <class IsTaken>
  void take_fields(const IsTaken& is_taken) {
    for (std::size_t i = 0; i < roles_.schema.columns.size(); ++i) {
      ColumnSchema& column = roles_.schema.columns[i];
      const bool part = roles_.schema.date_parts && roles_.schema.date_parts->has(i);
      if (part || i == roles_.group || i == roles_.order || roles_.is_joined(i)) continue;
      const bool taken = is_taken(column);
      column.role = taken ? ColumnRole::predicted : ColumnRole::left_out;
      if (!taken) continue;
      if (!holds_numbers(column) && !is_covariate(columns_, column))
        throw DataError(
            fmt::format("{}: column \"{}\" has the type {}; only numbers can be forecast: choose the value "
                        "column with --predict",
                        source_, escape_cell(column.name, 40), type_name(column.type)));
      roles_.fields.push_back({i, column.name});
    }
  }

  /// Finds the numeric columns that are not forecast.
  void find_inputs() {
    for (const ColumnSchema& column : roles_.schema.columns)
      if (column.role == ColumnRole::left_out && is_number_column(column) && column.type != ColumnType::constant)
        roles_.inputs.push_back(column.name);
  }

  std::string source_;
  const SchemaOptions& options_;
  SeriesColumns& columns_;
  SeriesRoles roles_;
};

}  // namespace

bool SeriesRoles::is_joined(std::size_t column) const { return std::ranges::find(joined, column) != joined.end(); }

bool has_categories(const SeriesColumns& columns, const ColumnSchema& column) {
  if (!columns.known.empty()) {
    const auto known = std::ranges::find(columns.known, column.name, &Covariate::column);
    return known != columns.known.end() && !known->categories.empty();
  }
  return is_among(columns.covariates, column) && column.type == ColumnType::category && !column.class_labels;
}

bool is_covariate(const SeriesColumns& columns, const ColumnSchema& column) {
  if (!columns.known.empty())
    return std::ranges::find(columns.known, column.name, &Covariate::column) != columns.known.end();
  return is_among(columns.covariates, column) && (is_number_column(column) || has_categories(columns, column));
}

SeriesRoles choose_series_roles(const ReaderText& text, const TableLayout& layout, const SchemaOptions& options,
                                const std::vector<std::string>& groups, SeriesColumns& columns) {
  return RoleChooser(text, layout, options, groups, columns).choose();
}

}  // namespace unfold
