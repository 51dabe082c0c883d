#include "app/schema/table_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/formats/text_encoding.h"
#include "base/options/shell_argument.h"
#include "data/examples/transformations/calendar_columns.h"
#include "data/readers/json_lines.h"
#include "data/readers/reader_text.h"
#include "data/schema/column_names.h"
#include "data/schema/describe_schema.h"
#include "data/schema/stored_schema.h"
#include "data/schema/table_layout.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kDaySeconds = 86400, kWeekSeconds = 7 * kDaySeconds, kYearSeconds = 366 * kDaySeconds;

bool contains_name(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns whether a table has a row for each year and a column for each month.
bool has_row_per_year(const TableSchema& schema) {
  std::vector<std::string> names;
  names.reserve(schema.columns.size());
  for (const ColumnSchema& column : schema.columns) names.push_back(column.name);
  return are_year_and_months(names);
}

bool has_days(DateFormat format) {
  switch (format) {
    case DateFormat::year:
    case DateFormat::year_month:
    case DateFormat::compact_month:
    case DateFormat::quarter:
    case DateFormat::week:
    case DateFormat::time_of_day: return false;
    default: return true;
  }
}

/// Returns whether a part of a date differs between rows and is not the order itself.
bool reads_part(const ColumnSchema& column, std::string_view part, bool independent, bool own_past) {
  const DateFormat format = column.date_format.value_or(DateFormat::year_month_day);
  const bool clock = format == DateFormat::time_of_day;
  const DateStep& step = column.step;
  if (part == "hour") return clock || column.has_time;
  const Index span = step.latest - step.earliest;
  if (part == "weekday")
    return has_days(format) && span >= kWeekSeconds &&
           !(step.regular && (step.months > 0 || step.seconds % kWeekSeconds == 0));
  if (part == "month") return format != DateFormat::year && !clock && span >= kYearSeconds;
  if (part == "gap") return !independent && !step.regular;
  return !own_past && !clock;
}

std::vector<std::string> default_parts(const Examples& examples, const ColumnSchema& column, bool own_past) {
  const bool independent = examples.schema->text() != nullptr || examples.schema->independent_rows;
  std::vector<std::string> parts;
  for (const std::string_view part : calendar_parts()) {
    std::string name = column.name + "." + std::string(part);
    if (examples.find(name) != nullptr && reads_part(column, part, independent, own_past))
      parts.push_back(std::move(name));
  }
  return parts;
}

}  // namespace

SchemaOptions stated_schema(const TrainSettings& s) {
  SchemaOptions options;
  if (s.types) options.types = parse_column_types(*s.types);
  if (s.missing) options.missing.spellings = parse_missing(*s.missing);
  if (s.default_missing) options.missing.defaults = parse_default_missing(*s.default_missing);
  if (s.decimal) options.decimal = parse_decimal_mark(*s.decimal);
  if (s.thousands) options.thousands = parse_thousands_mark(*s.thousands);
  if (s.header) options.header = parse_header(*s.header);
  options.comment = s.comment.value_or("");
  if (s.bad_rows) options.bad_rows = parse_bad_rows(*s.bad_rows);
  if (s.rows) options.rows = parse_row_meaning(*s.rows);
  if (s.sequences) options.group = *s.sequences;
  if (s.order) options.order = *s.order;
  return options;
}

std::vector<std::string> column_names_of(const Input& input, const ReaderOptions& options) {
  constexpr std::size_t kFirstBytes = 256 << 10;
  const std::string format = options.format.empty() ? guess_format(input).format : options.format;
  const std::string_view text = strip_bom(input.bytes());
  if (format == kRecords) return record_keys(text.substr(0, kFirstBytes));
  const bool empty = text.find_first_not_of(" \r\n") == std::string_view::npos;
  if (format != "table" || empty || text.find('\0') != std::string_view::npos) return {};
  const ReaderText decoded(input);
  const std::string_view bytes = decoded.text();
  return table_layout(input.name(), bytes.substr(0, kFirstBytes), bytes.size() <= kFirstBytes, options.schema).names;
}

std::vector<std::string> column_names_of(const MemoryData& data, const ReaderOptions& options) {
  if (!data.texts.empty()) return column_names_of(data.texts.front(), options);
  std::vector<std::string> names;
  if (!has_rows(data.format)) return names;
  for (const ExampleColumn& column : data.examples.columns) names.push_back(column.name);
  return names;
}

bool names_target(const Examples& examples) {
  const std::string target = schema_target(examples);
  return is_class_name(target) || target == "value";
}

std::string schema_target(const Examples& examples) {
  std::string names;
  for (const ColumnSchema& column : examples.schema->columns)
    if (column.role == ColumnRole::predicted) names += (names.empty() ? "" : ",") + column.name;
  return names;
}

void refuse_rows_of_periods(const TableSchema& schema) {
  const auto target = std::ranges::find(schema.columns, ColumnRole::predicted, &ColumnSchema::role);
  if (target == schema.columns.end() || !contains_name(schema.periods, target->name)) return;
  if (has_row_per_year(schema))
    throw DataError(fmt::format(
        "{0}: the columns \"{1}\" to \"{2}\" are the months of the year of each row, so all rows are one monthly "
        "series, as `unfold forecast {0} --horizon 1` reads them; to train, write one row per month (columns for the "
        "date and the value); to predict one column from the others, specify --predict {3}",
        schema.source, escape_cell(schema.periods.front(), kMostOddBytes),
        escape_cell(schema.periods.back(), kMostOddBytes), shell_argument(escape_cell(target->name, kMostOddBytes))));
  throw DataError(fmt::format(
      "{0}: the names of {1} columns, \"{2}\" to \"{3}\", are years or dates, so each row is a series over "
      "time, but train reads the rows in chronological order: `unfold forecast {0} --horizon 1` forecasts each "
      "row; to train, write one row per series and time (columns for the series, the time and the value); "
      "to predict one column from the others, specify --predict {4}",
      schema.source, schema.periods.size(), escape_cell(schema.periods.front(), kMostOddBytes),
      escape_cell(schema.periods.back(), kMostOddBytes), shell_argument(escape_cell(target->name, kMostOddBytes))));
}

void refuse_header_only(const TableSchema& schema) {
  constexpr double kWordsOfName = 6;
  const bool stated = schema.header_reason == "set by --header";
  if (schema.rows != 1 || schema.header || stated || schema.columns.size() < 2) return;
  std::vector<std::string> names;
  for (const ColumnSchema& column : schema.columns) {
    const bool numeric = column.least.has_value() || column.type == ColumnType::date;
    if (numeric || column.examples.size() != 1 || column.words >= kWordsOfName) return;
    names.push_back(escape_cell(column.examples.front(), kMostOddBytes));
  }
  constexpr std::size_t kMostNames = 8;
  if (names.size() > kMostNames) names.resize(kMostNames), names.emplace_back("...");
  throw DataError(
      fmt::format("{}: its only row ({}) seems to contain the names of the columns; add rows below it, or use --header "
                  "no if it is data",
                  schema.source, fmt::join(names, ", ")));
}

std::vector<std::string> schema_reads(const Examples& examples, const std::vector<std::string>& predicts,
                                      bool own_past) {
  std::vector<std::string> reads;
  for (const ColumnSchema& column : examples.schema->columns) {
    const ExampleColumn* entries = examples.find(column.name);
    if (entries == nullptr) continue;
    if (contains_name(predicts, column.name)) {
      if (own_past && !entries->once) reads.push_back(column.name);
      continue;
    }
    const bool order = column.role == ColumnRole::order && column.type == ColumnType::date;
    if ((column.role != ColumnRole::read && !order) || examples.schema->continues_text(column)) continue;
    if (column.type != ColumnType::date) {
      reads.push_back(column.name);
      continue;
    }
    for (std::string& part : default_parts(examples, column, own_past)) reads.push_back(std::move(part));
  }
  return reads;
}

std::vector<std::string> with_date_parts(const Examples& examples, const std::vector<std::string>& reads) {
  std::vector<std::string> all;
  for (const std::string& name : reads) {
    const ColumnSchema* column = examples.schema == nullptr ? nullptr : examples.schema->find(name);
    if (column != nullptr && examples.schema->continues_text(*column)) continue;
    if (column == nullptr || column->type != ColumnType::date) {
      all.push_back(name);
      continue;
    }
    for (std::string& part : default_parts(examples, *column, /*own_past=*/false)) all.push_back(std::move(part));
  }
  return all;
}

bool is_part_of_date(const Examples& examples, std::string_view field) {
  const ExampleColumn* column = examples.find(field);
  return column != nullptr && column->derived;
}

void settle_sequences(const Examples& examples, TrainSettings& s) {
  if (examples.schema == nullptr || examples.schema->text() != nullptr) return;
  if (examples.schema->independent_rows) {
    s.rows = "independent";
    return;
  }
  bool grouped = s.sequences.has_value();
  for (const ColumnSchema& column : examples.schema->columns) {
    if (column.role != ColumnRole::group) continue;
    s.sequences = column.name;
    grouped = true;
  }
  for (const ColumnSchema& column : examples.schema->columns) {
    if (column.role != ColumnRole::order || column.type != ColumnType::date) continue;
    const bool sorts = grouped || column.step.order == DateStep::Order::descending;
    if (sorts) s.order = column.name;
  }
}

void restate(const SchemaOptions& stated, ReaderOptions& options) {
  const bool marks = stated.decimal || stated.thousands;
  const bool any = marks || !stated.missing.spellings.empty() || !stated.missing.defaults || stated.header ||
                   stated.group || stated.order || stated.bad_rows == BadRows::skip || !stated.types.empty() ||
                   !stated.comment.empty();
  if (!any) return;
  if (!has_rows(options.format))
    throw UsageError(fmt::format(
        "--types, --missing, --default-missing, --decimal, --thousands, --header, --comment, --bad-rows, --group and "
        "--order apply to tables, but the model was trained on data of the format {}; leave them out",
        options.format));
  SchemaOptions& schema = options.schema;
  if (marks)
    for (auto& [name, type] : schema.types) type.convention.reset();
  for (const auto& [name, type] : stated.types) schema.types.insert_or_assign(name, type);
  for (const std::string& spelling : stated.missing.spellings) schema.missing.spellings.push_back(spelling);
  schema.missing.defaults = schema.missing.defaults && stated.missing.defaults;
  if (stated.decimal) schema.decimal = stated.decimal;
  if (stated.thousands) schema.thousands = stated.thousands;
  if (stated.header) schema.header = stated.header;
  if (!stated.comment.empty()) schema.comment = stated.comment;
  if (stated.bad_rows == BadRows::skip) schema.bad_rows = BadRows::skip;
  if (stated.group) options.sequence_column = *stated.group;
  if (stated.order) schema.order = stated.order;
}

void read_like(const Examples& examples, ReaderOptions& options) {
  if (examples.schema == nullptr) return;
  SchemaOptions& schema = options.schema;
  schema.infer_roles = false;
  schema.ignore_absent = true;
  for (const ColumnSchema& column : examples.schema->columns) {
    if (column.role == ColumnRole::group) options.sequence_column = column.name;
    if (column.role == ColumnRole::read || column.role == ColumnRole::order) schema.read.push_back(column.name);
    if (column.role == ColumnRole::predicted) schema.predict.push_back(column.name);
    const bool typed =
        column.role != ColumnRole::left_out && (column.type == ColumnType::text || column.type == ColumnType::date);
    if (typed) schema.types.try_emplace(column.name, stated_type(column));
  }
}

void request_columns(const DataSpecification& data, SchemaOptions& options) {
  options.infer_roles = false;
  options.ignore_absent = true;
  const auto add = [&](const std::string& name) {
    if (!contains_name(options.read, name)) options.read.push_back(name);
  };
  for (const FieldSpecification& field : data.fields) {
    const bool label = options.rows == RowMeaning::independent && field.once;
    if (label && !contains_name(options.predict, field.name)) options.predict.push_back(field.name);
    add(field.name);
    for (std::size_t dot = field.name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = field.name.rfind('.', dot - 1))
      add(field.name.substr(0, dot));
  }
  for (const auto& [name, type] : options.types) add(name);
}

}  // namespace unfold
