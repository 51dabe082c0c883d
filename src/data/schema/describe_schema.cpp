#include "data/schema/describe_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/utf8.h"

namespace unfold {
namespace {

/// Formats a number with the decimals of its column, or with the fewest digits that identify it if these decimals come
/// only from a binary fraction.
std::string shown_number(double x, int decimals) {
  constexpr int kShownDecimals = 6;
  return decimals > kShownDecimals ? fmt::format("{}", x) : format_number(x, decimals);
}

constexpr std::size_t kMostDescribedColumns = 200;
constexpr std::size_t kMostShownBytes = 30;  ///< maximum number of bytes of an example cell

bool is_unprintable(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F || c == 0xFEFF;
}

std::string escaped_character(char32_t c) {
  switch (c) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: return fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c));
  }
}

const char* thousands_mark_name(ThousandsMark mark) {
  constexpr std::array<const char*, 4> kNames = {"none", "comma", "point", "space"};
  return kNames[static_cast<std::size_t>(mark)];
}

std::string date_text(Index seconds, bool time) {
  const Index days = seconds >= 0 ? seconds / 86400 : -((-seconds + 86399) / 86400);
  const CivilDate date = civil_from_days(days);
  const std::string day = fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
  const Index second = seconds - days * 86400;
  return time ? fmt::format("{} {:02}:{:02}:{:02}", day, second / 3600, second / 60 % 60, second % 60) : day;
}

std::string clock_text(Index seconds) {
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

const char* order_name(DateStep::Order order) {
  switch (order) {
    case DateStep::Order::ascending: return "ascending";
    case DateStep::Order::descending: return "descending";
    case DateStep::Order::unsorted: return "unsorted";
    default: return "none";
  }
}

bool is_numeric_type(const ColumnSchema& column) {
  return column.type == ColumnType::number || column.type == ColumnType::integer;
}

/// Describes the values of a column in one phrase: range of numbers, range and step of dates, number of classes.
std::string contents_of(const ColumnSchema& column) {
  if (is_numeric_type(column) && column.least) {
    return fmt::format("{} to {}", shown_number(*column.least, column.decimals),
                       shown_number(*column.most, column.decimals));
  }
  if (column.type == ColumnType::date && column.date_format) {
    const bool clock = column.date_format == DateFormat::time_of_day;
    const auto shown = [&](Index seconds) {
      return clock && seconds >= 0 && seconds < 86400 ? clock_text(seconds) : date_text(seconds, column.has_time);
    };
    std::string text = fmt::format("{} to {}", shown(column.step.earliest), shown(column.step.latest));
    if (column.step.regular) {
      text += ", " + column.step.name;
      if (column.step.exceptions > 0) text += fmt::format(" with {} exceptions", column.step.exceptions);
    }
    if (column.step.order != DateStep::Order::none) text += fmt::format(", {}", order_name(column.step.order));
    return text;
  }
  return fmt::format("{}{} distinct", column.distinct_exact ? "" : "about ", column.distinct);
}

std::string lines_text(const LineCount& lines) {
  return fmt::format("{} {}{}", lines.lines.size() == 1 ? "line" : "lines", fmt::join(lines.lines, ", "),
                     lines.count > static_cast<Index>(lines.lines.size()) ? ", ..." : "");
}

std::string line_ends_text(const LineEnds& ends) {
  std::vector<std::string> kinds;
  const int count = (ends.lf > 0 ? 1 : 0) + (ends.crlf > 0 ? 1 : 0) + (ends.cr > 0 ? 1 : 0);
  const auto add = [&](Index n, const char* name) {
    if (n > 0) kinds.push_back(count > 1 ? fmt::format("{} {}", n, name) : std::string(name));
  };
  add(ends.lf, "LF");
  add(ends.crlf, "CRLF");
  add(ends.cr, "CR");
  return kinds.empty() ? "none" : fmt::format("{}", fmt::join(kinds, ", "));
}

/// Returns the lines on header and line endings.
std::string cells_text(const TableSchema& schema) {
  return fmt::format("header    {}: {}\nlines     {}{}{}\n", schema.header ? "yes" : "no",
                     escape_cell(schema.header_reason, 200), line_ends_text(schema.line_ends),
                     schema.byte_order_mark ? ", byte order mark" : "",
                     schema.comments > 0 ? fmt::format(", {} comments", schema.comments) : "");
}

/// Notes about the bytes and rows, one sentence each.
std::vector<std::string> faults_of(const TableSchema& schema) {
  std::vector<std::string> faults;
  if (schema.undecodable.count > 0) {
    faults.push_back(
        fmt::format("{} bytes are not UTF-8 ({})", schema.undecodable.count, lines_text(schema.undecodable)));
  }
  if (schema.control_characters.count > 0) {
    faults.push_back(fmt::format("{} control characters ({})", schema.control_characters.count,
                                 lines_text(schema.control_characters)));
  }
  if (schema.ragged.count > 0) {
    faults.push_back(
        fmt::format("{} rows do not have {} cells ({}); quote cells that contain the separator, or use "
                    "--bad-rows skip to leave such rows out",
                    schema.ragged.count, schema.columns.size(), lines_text(schema.ragged)));
  }
  if (schema.misplaced_quotes.count > 0) {
    faults.push_back(fmt::format("{} rows have text after a closing quote ({}); double the quotes inside a cell",
                                 schema.misplaced_quotes.count, lines_text(schema.misplaced_quotes)));
  }
  if (schema.unclosed_quote > 0) {
    faults.push_back(
        fmt::format("the quote in line {} is not closed; it and all later quotes are read as ordinary characters",
                    schema.unclosed_quote));
  }
  return faults;
}

nlohmann::json json_of(const LineCount& lines) { return {{"count", lines.count}, {"lines", lines.lines}}; }

nlohmann::json json_of(const ColumnSchema& column) {
  nlohmann::json json = {{"name", escape_cell(column.name, kMostOddBytes)},
                         {"type", type_name(column.type)},
                         {"stated", column.stated},
                         {"type_reason", escape_cell(column.type_reason, 500)},
                         {"role", role_name(column.role)},
                         {"role_reason", escape_cell(column.role_reason, 500)},
                         {"rows", column.rows},
                         {"missing", column.missing},
                         {"distinct", column.distinct},
                         {"distinct_exact", column.distinct_exact},
                         {"odd", column.odd}};
  json["examples"] = nlohmann::json::array();
  for (const std::string& example : column.examples) json["examples"].push_back(escape_cell(example, kMostOddBytes));
  json["odd_cells"] = nlohmann::json::array();
  for (const OddCell& cell : column.odd_cells) {
    json["odd_cells"].push_back({{"line", cell.line}, {"cell", escape_cell(cell.text, kMostOddBytes)}});
  }
  if (is_numeric_type(column)) {
    json["decimal"] = column.convention.decimal == DecimalMark::comma ? "comma" : "point";
    json["thousands"] = thousands_mark_name(column.convention.thousands);
    json["decimals"] = column.decimals;
    if (!column.number_unit.empty()) json["unit"] = column.number_unit;
    if (column.least) json["least"] = *column.least;
    if (column.most) json["most"] = *column.most;
  }
  if (column.type == ColumnType::category) json["class_labels"] = column.class_labels;
  if (column.type == ColumnType::text) json["unit"] = column.unit == TextUnit::words ? "words" : "characters";
  if (column.type == ColumnType::date && column.date_format) {
    json["date_format"] = date_pattern(*column.date_format);
    json["has_time"] = column.has_time;
    json["order"] = order_name(column.step.order);
    json["step"] = column.step.regular ? nlohmann::json(column.step.name) : nlohmann::json();
    json["step_exceptions"] = column.step.regular ? column.step.exceptions : 0;
    json["earliest"] = column.step.earliest;
    json["latest"] = column.step.latest;
  }
  return json;
}

}  // namespace

const char* separator_name(char separator) {
  switch (separator) {
    case '\t': return "tabs";
    case ';': return "semicolons";
    case ',': return "commas";
    case '|': return "vertical bars";
    default: return "nothing (one column)";
  }
}

std::string escape_cell(std::string_view cell, std::size_t most) {
  std::string text;
  for (Index i = 0; i < static_cast<Index>(cell.size());) {
    const Index begin = i;
    const char32_t c = next_code_point(cell, i);
    std::string next;
    if (c == kNoCodePoint) {
      next = fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(cell[at(i++)])));
    } else if (is_unprintable(c)) {
      next = escaped_character(c);
    } else if (c == '\\') {
      next = "\\\\";
    } else {
      next = cell.substr(at(begin), at(i - begin));
    }
    if (text.size() + next.size() > most) return text + "...";
    text += next;
  }
  return text;
}

namespace {

bool is_grouped(const TableSchema& schema) {
  return std::ranges::find(schema.columns, ColumnRole::group, &ColumnSchema::role) != schema.columns.end();
}

/// Returns the first columns, and of the others those that are predicted, group the rows or order them.
std::vector<const ColumnSchema*> described_columns(const TableSchema& schema) {
  constexpr std::size_t kMostOthers = 20;
  std::vector<const ColumnSchema*> columns;
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnRole role = schema.columns[c].role;
    const bool shown = role != ColumnRole::read && role != ColumnRole::left_out;
    if (c < kMostDescribedColumns || (shown && columns.size() < kMostDescribedColumns + kMostOthers))
      columns.push_back(&schema.columns[c]);
  }
  return columns;
}

/// Returns the table of the columns.
std::string text_of_columns(const TableSchema& schema) {
  const std::vector<const ColumnSchema*> shown = described_columns(schema);
  std::size_t width = 6;
  for (const ColumnSchema* column : shown) width = std::max(width, escape_cell(column->name, kMostShownBytes).size());
  std::string text = fmt::format("{:{}}  {:10}  {:9}  {:>8}  {:>5}  contents; examples; reasons\n", "column", width,
                                 "type", "role", "missing", "odd");
  for (const ColumnSchema* column : shown) {
    std::vector<std::string> examples;
    for (const std::string& example : column->examples) examples.push_back(escape_cell(example, kMostShownBytes));
    text +=
        fmt::format("{:{}}  {:10}  {:9}  {:>8}  {:>5}  {}; {}; {}; {}\n", escape_cell(column->name, kMostShownBytes),
                    width, type_name(column->type), role_name(column->role), column->missing, column->odd,
                    contents_of(*column), examples.empty() ? "-" : fmt::format("{}", fmt::join(examples, " | ")),
                    escape_cell(column->type_reason, 200), escape_cell(column->role_reason, 200));
    for (const OddCell& cell : column->odd_cells)
      text += fmt::format("{:{}}  line {}: \"{}\" does not fit\n", "", width, cell.line,
                          escape_cell(cell.text, kMostOddBytes));
  }
  if (shown.size() < schema.columns.size())
    text += fmt::format("... and {} more columns; --json lists all\n", schema.columns.size() - shown.size());
  return text;
}

}  // namespace

std::string describe(const TableSchema& schema) {
  std::string text = fmt::format(
      "format    table of {} rows and {} columns, {}\n", schema.rows, schema.columns.size(),
      schema.layout.empty() ? fmt::format("separated by {}", separator_name(schema.separator)) : schema.layout);
  if (schema.layout.empty()) text += cells_text(schema);
  if (schema.events) text += "events    the next event of each group is predicted from the earlier ones\n";
  if (!schema.rows_reason.empty())
    text += schema.independent_rows
                ? fmt::format("rows      independent examples: {}; use --rows sequence if rows follow each other\n",
                              schema.rows_reason)
                : fmt::format("rows      {}: {}; use --rows independent if each row is an example\n",
                              is_grouped(schema) ? "sequences" : "one sequence", schema.rows_reason);
  for (const std::string& note : schema.notes) text += fmt::format("note      {}\n", escape_cell(note, 500));
  for (const std::string& fault : faults_of(schema)) text += fmt::format("warning   {}\n", fault);
  text += "\n";
  return text + text_of_columns(schema);
}

namespace {

/// Returns the option that changes the decision whether rows are examples; empty if an option has decided it.
std::string rows_option(const TableSchema& schema) {
  if (schema.rows_reason.empty() || schema.rows_reason == kRowsAreStated) return "";
  if (schema.independent_rows) return " (--rows sequence reads them as one sequence)";
  const auto group = std::ranges::find(schema.columns, ColumnRole::group, &ColumnSchema::role);
  return fmt::format(", one sequence{} (--rows independent makes each row an example)",
                     group == schema.columns.end() ? "" : " per " + escape_cell(group->name, kMostShownBytes));
}

}  // namespace

std::string describe_briefly(const TableSchema& schema) {
  constexpr std::size_t kMostListed = 12;
  const auto list = [&](ColumnRole role) {
    std::vector<std::string> shown;
    std::size_t count = 0;
    for (const ColumnSchema& column : schema.columns) {
      if (column.role != role || ++count > kMostListed) continue;
      std::string text = fmt::format("{} ({}", escape_cell(column.name, kMostShownBytes), type_name(column.type));
      if (column.missing > 0 && role != ColumnRole::left_out) text += fmt::format(", {} missing", column.missing);
      if (role == ColumnRole::left_out) text += ": " + escape_cell(column.role_reason, 120);
      shown.push_back(text + ")");
    }
    if (count > kMostListed) shown.push_back(fmt::format("{} more", count - kMostListed));
    return fmt::format("{}", fmt::join(shown, ", "));
  };
  std::string text = fmt::format("{}: table of {} {}rows", escape_cell(schema.source, 200), schema.rows,
                                 schema.independent_rows ? "independent " : "") +
                     rows_option(schema);
  constexpr std::array<std::pair<ColumnRole, const char*>, 5> kParts = {{{ColumnRole::read, "read: "},
                                                                         {ColumnRole::predicted, "predicted: "},
                                                                         {ColumnRole::group, "grouped by "},
                                                                         {ColumnRole::order, "ordered by "},
                                                                         {ColumnRole::left_out, "left out: "}}};
  for (const auto& [role, name] : kParts)
    if (const std::string columns = list(role); !columns.empty()) text += "; " + (name + columns);
  return text;
}

nlohmann::json to_json(const TableSchema& schema) {
  nlohmann::json json = {
      {"format", "table"},
      {"source", escape_cell(schema.source, 4096)},
      {"separator", schema.separator == '\0' ? "" : std::string(1, schema.separator)},
      {"header", schema.header},
      {"header_reason", escape_cell(schema.header_reason, 500)},
      {"rows", schema.rows},
      {"line_ends", {{"lf", schema.line_ends.lf}, {"crlf", schema.line_ends.crlf}, {"cr", schema.line_ends.cr}}},
      {"byte_order_mark", schema.byte_order_mark},
      {"undecodable", json_of(schema.undecodable)},
      {"control_characters", json_of(schema.control_characters)},
      {"ragged", json_of(schema.ragged)},
      {"misplaced_quotes", json_of(schema.misplaced_quotes)},
      {"unclosed_quote", schema.unclosed_quote},
      {"comments", schema.comments},
      {"events", schema.events},
      {"independent_rows", schema.independent_rows}};
  if (!schema.rows_reason.empty()) json["rows_reason"] = schema.rows_reason;
  if (!schema.periods.empty()) {
    json["periods"] = nlohmann::json::array();
    for (const std::string& name : schema.periods) json["periods"].push_back(escape_cell(name, 4096));
  }
  json["notes"] = nlohmann::json::array();
  for (const std::string& note : schema.notes) json["notes"].push_back(escape_cell(note, 500));
  json["columns"] = nlohmann::json::array();
  for (const ColumnSchema& column : schema.columns) json["columns"].push_back(json_of(column));
  return json;
}

}  // namespace unfold
