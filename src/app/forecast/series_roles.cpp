#include "app/forecast/series_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/forecast/counted_times.h"
#include "app/schema/table_fields.h"
#include "base/printable.h"
#include "data/schema/column_names.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/only_header.h"
#include "model/forecast/time_index.h"
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

/// Returns whether a text contains a number of four digits from 1900 to 2099.
bool names_a_year(const std::string& text) {
  constexpr std::size_t kDigits = 4;
  constexpr const char* kAllDigits = "0123456789";
  for (std::size_t i = text.find_first_of(kAllDigits); i < text.size();) {
    const std::size_t end = std::min(text.size(), text.find_first_not_of(kAllDigits, i));
    if (end - i == kDigits && (text.compare(i, 2, "19") == 0 || text.compare(i, 2, "20") == 0)) return true;
    i = text.find_first_of(kAllDigits, end);
  }
  return false;
}

/// Chooses the roles of the columns of one table.
class RoleChooser {
 public:
  RoleChooser(const ReaderText& text, const TableLayout& layout, const SchemaOptions& options,
              const std::vector<std::string>& groups, SeriesColumns& columns)
      : text_(text), source_(text.source()), options_(options), columns_(columns) {
    SchemaOptions stated = options;
    std::ranges::copy(groups, std::back_inserter(stated.read));  // columns that are read are not predicted
    if (!columns_.covariates.empty()) keep_covariates(infer_table_schema(text.source(), text.text(), stated), stated);
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
    note_unread_times();
    return std::move(roles_);
  }

 private:
  /// Only numbers and categories are covariates, not the times and the group. A column of categories is a group only if
  /// times repeat. States the type of those whose empty cells are a category.
  void keep_covariates(const TableSchema& schema, SchemaOptions& stated) {
    const auto time = std::ranges::find(schema.columns, ColumnRole::order, &ColumnSchema::role);
    const bool repeats = time != schema.columns.end() && time->distinct < time->entries();
    for (const ColumnSchema& column : schema.columns) {
      const bool role = column.role == ColumnRole::order || (column.role == ColumnRole::group && repeats);
      const bool usable = !role && (is_number_column(column) || column.type == ColumnType::category);
      const bool empty_category = usable && has_empty_category(column);
      if (empty_category)
        stated.types.try_emplace(column.name, StatedType{.type = ColumnType::category, .unit = {}, .date_format = {}});
      else if (!usable || is_among(columns_.without_entries, column))
        std::erase(columns_.covariates, column.name);
    }
  }

  /// Returns whether the empty cells of a column are a category: next to other categories, or to one value.
  static bool has_empty_category(const ColumnSchema& column) {
    const bool categories = column.type == ColumnType::category && !column.class_labels;
    return column.missing > 0 && (categories || (column.distinct == 1 && is_number_column(column)));
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
    for (std::size_t i = 0; i < roles_.schema.columns.size(); ++i)
      if (roles_.schema.columns[i].role == ColumnRole::order && roles_.schema.columns.size() > 1) roles_.order = i;
    if (!roles_.has_times() && !options_.order) find_years();
    find_part();
    for (std::size_t i = 0; i < roles_.schema.columns.size(); ++i)
      if (roles_.schema.columns[i].role == ColumnRole::group && roles_.joined.empty() && i != roles_.part)
        roles_.group = i;
    if (!roles_.has_group() && roles_.joined.empty()) find_group();
    if (!roles_.has_times() && !options_.order && columns_.known.empty()) use_counted_times();
  }

  /// Notes a column of texts that name different years, such as "FY2000/01", if no column contains the times.
  void note_unread_times() {
    constexpr Index kLeastYears = 4;
    if (roles_.has_times() || roles_.has_group() || !roles_.joined.empty()) return;
    for (const ColumnSchema& column : roles_.schema.columns) {
      const bool texts = column.type == ColumnType::text || column.type == ColumnType::category ||
                         column.type == ColumnType::identifier;
      if (!texts || column.distinct < kLeastYears || column.distinct != column.entries()) continue;
      if (column.examples.empty() || !std::ranges::all_of(column.examples, names_a_year)) continue;
      roles_.notes.push_back(fmt::format(
          "{}: column {} has texts such as {}, which are not read as times, so the rows are treated as consecutive "
          "steps; to keep the times, write years, such as 2024, or dates",
          source_, in_quotes(column.name), in_quotes(column.examples.front())));
      return;
    }
  }

  void use_counted_times() {
    const auto is_value = [](const ColumnSchema& column) { return is_number_column(column); };
    if (std::ranges::count_if(roles_.schema.columns, is_value) < 2) return;
    std::vector<std::size_t> groups = roles_.joined;
    if (roles_.has_group()) groups = {roles_.group};
    const auto counted = find_counted_times(text_, roles_.schema, options_, groups);
    if (!counted) return;
    roles_.notes.push_back(counted->note);
    roles_.order = counted->order;
    if (counted->group != SeriesRoles::kNone) roles_.group = counted->group;
  }

  /// Finds a column of years with fractions, such as 1949.083: the times of a series of R.
  void find_years() {
    constexpr Index kLeastRows = 8;
    for (std::size_t i = 0; i < roles_.schema.columns.size() && roles_.schema.columns.size() > 1; ++i) {
      const ColumnSchema& column = roles_.schema.columns[i];
      const bool differ = column.sorted && column.missing == 0 && column.distinct == column.entries();
      if (!is_number_column(column) || !is_date_name(column.name) || !differ || column.entries() < kLeastRows) continue;
      if (column.role == ColumnRole::predicted || !column.least || is_among(options_.predict, column)) continue;
      const double step = (*column.most - *column.least) / static_cast<double>(column.entries() - 1);
      if (forecasting::steps_of_year(*column.least, *column.most, step) == 0) continue;
      roles_.order = i;
      return;
    }
  }

  /// Finds the column that continues the times.
  void find_part() {
    if (!roles_.has_times()) return;
    const bool known = !columns_.known.empty();
    roles_.time_part = known ? columns_.time_part : find_time_part(roles_.schema, roles_.time_column(), options_);
    if (!roles_.time_part) return;
    const auto place = std::ranges::find(roles_.schema.columns, roles_.time_part->column, &ColumnSchema::name);
    if (place == roles_.schema.columns.end())
      throw DataError(fmt::format("{}: the column {}, which continues the times in the data, is missing; add it",
                                  source_, in_quotes(roles_.time_part->column)));
    roles_.part = static_cast<std::size_t>(place - roles_.schema.columns.begin());
    if (roles_.is_joined(roles_.part)) {
      roles_.part = SeriesRoles::kNone;
      roles_.time_part.reset();
      return;
    }
    roles_.types[place->name] = {.type = ColumnType::category, .unit = {}, .date_format = {}};
  }

  /// If times repeat, the first categorical column distinguishes the series.
  void find_group() {
    if (!roles_.has_times()) return;
    const Index parts = roles_.time_part ? roles_.schema.columns[roles_.part].distinct : 1;
    if (roles_.time_column().distinct * parts * 3 > roles_.time_column().entries() * 2) return;
    for (std::size_t i = 0; i < roles_.schema.columns.size() && roles_.group == SeriesRoles::kNone; ++i) {
      ColumnSchema& column = roles_.schema.columns[i];
      if (i == roles_.order || i == roles_.part || column.type != ColumnType::category || column.class_labels) continue;
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
      throw DataError(fmt::format("{}: there is no numeric column to forecast; {}", source_, remedy_of_columns()));
  }

  /// Returns the remedy for a table without a numeric column.
  std::string remedy_of_columns() const {
    for (const ColumnSchema& column : roles_.schema.columns)
      if (column.role != ColumnRole::order && column.role != ColumnRole::group)
        if (std::string remedy = remedy_of_texts(column.name); !remedy.empty()) return remedy;
    return "choose a column with --predict, or see `unfold inspect`";
  }

  /// Returns the remedy for a column that has texts besides numbers; empty if most of its cells are texts.
  std::string remedy_of_texts(const std::string& name) const {
    SchemaOptions stated = options_;
    stated.predict.clear();
    stated.types[name] = {.type = ColumnType::number, .unit = {}, .date_format = {}};
    const TableSchema schema = infer_table_schema(text_.source(), text_.text(), stated);
    const ColumnSchema* column = schema.find(name);
    if (column == nullptr || column->odd == 0 || 2 * column->odd > column->entries()) return {};
    std::vector<std::string> texts;
    for (const OddCell& cell : column->odd_cells)
      if (std::ranges::find(texts, cell.text) == texts.end()) texts.push_back(cell.text);
    const std::string option = missing_option(options_.missing.spellings, texts);
    return fmt::format("{} of {} values of column \"{}\" are numbers, but \"{}\" in line {} is not; {}",
                       column->entries() - column->odd, column->entries(), escape_cell(name, 40),
                       escape_cell(column->odd_cells.front().text, 40), column->odd_cells.front().line,
                       option.empty() ? "correct such cells" : "if such cells are missing values, use " + option);
  }

  template <class IsTaken>
  void take_fields(const IsTaken& is_taken) {
    for (std::size_t i = 0; i < roles_.schema.columns.size(); ++i) {
      ColumnSchema& column = roles_.schema.columns[i];
      const bool part = roles_.schema.date_parts && roles_.schema.date_parts->has(i);
      if (part || i == roles_.part || i == roles_.group || i == roles_.order || roles_.is_joined(i)) continue;
      const bool taken = is_taken(column);
      column.role = taken ? ColumnRole::predicted : ColumnRole::left_out;
      if (!taken) continue;
      if (!holds_numbers(column) && !is_covariate(columns_, column)) {
        const std::string remedy = remedy_of_texts(column.name);
        throw DataError(fmt::format("{}: column \"{}\" has the type {}; only numbers can be forecast: {}", source_,
                                    escape_cell(column.name, 40), type_name(column.type),
                                    remedy.empty() ? "choose the value column with --predict" : remedy));
      }
      roles_.fields.push_back({i, column.name});
    }
  }

  /// Finds the numeric columns that are not forecast.
  void find_inputs() {
    for (const ColumnSchema& column : roles_.schema.columns)
      if (column.role == ColumnRole::left_out && is_number_column(column) && column.type != ColumnType::constant)
        roles_.inputs.push_back(column.name);
  }

  const ReaderText& text_;
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
  const bool only_value = column.distinct == 1 && column.missing > 0;
  return is_among(columns.covariates, column) && column.type == ColumnType::category &&
         (!column.class_labels || only_value);
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
