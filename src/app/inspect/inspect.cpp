#include "app/inspect/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "app/fields/field_entries.h"
#include "app/fields/field_plan.h"
#include "app/fields/field_reading.h"
#include "app/fields/label_notes.h"
#include "app/fields/predicted_list.h"
#include "app/fields/template_data.h"
#include "app/logs/log_data.h"
#include "app/schema/table_fields.h"
#include "app/settings/line_lists.h"
#include "base/formats/text_encoding.h"
#include "base/utf8.h"
#include "data/cells/row_splitter.h"
#include "data/examples/templates.h"
#include "data/logs/log_lines.h"
#include "data/logs/log_records.h"
#include "data/logs/session_lines.h"
#include "data/readers/example_reader.h"
#include "data/readers/fasta.h"
#include "data/readers/reader_text.h"
#include "data/readers/table_examples.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/missing_cells.h"
#include "data/schema/require_column.h"
#include "data/schema/table_layout.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using InspectionJson = nlohmann::json;

constexpr std::size_t kMostCellBytes = 60, kMostShown = 3, kMostDistinctShown = 10'000;

/// Returns one line of the report: a name, padded, and a text.
std::string report_line(std::string_view name, std::string_view text) { return fmt::format("{:<9} {}\n", name, text); }

/// Returns the message of an error without the file name, which the report already contains.
std::string without_source(const std::string& message, const std::string& source) {
  const std::string before = source + ": ";
  return message.starts_with(before) ? message.substr(before.size()) : message;
}

/// Adds the message of an error that training would report. It may have several lines.
void add_refusal(const std::string& why, Inspection& result) {
  constexpr std::size_t kMostLineBytes = 500;
  std::string all;
  std::string_view rest = why;
  for (bool first = true; first || !rest.empty(); first = false) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line = escape_cell(rest.substr(0, end), kMostLineBytes);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    result.text += (first ? "\n" : "") + report_line(first ? "refused" : "", line);
    all += (first ? "" : "\n") + line;
  }
  (*result.json)["refused"] = all;
}

/// Throws UsageError if --read or --predict names a field that is neither a column nor derived from a column.
void require_fields(const TrainSettings& s, const std::vector<std::string>& columns) {
  const auto require = [&](const char* option, std::string name) {
    while (std::ranges::find(columns, name) == columns.end()) {
      const std::size_t dot = name.rfind('.');
      if (dot == std::string::npos || dot == 0) break;
      name.resize(dot);
    }
    require_column(option, name, columns);
  };
  for (const std::string& text : s.read ? split_names(*s.read, columns) : std::vector<std::string>())
    if (parse_template(text).empty()) require("--read", parse_read(text).field);
  for (const std::string& text : s.predict ? split_predicted(*s.predict, columns) : std::vector<std::string>())
    require("--predict", parse_predicted(text, columns).field);
}

/// Returns the schema with which training would read a table.
TableSchema training_schema(const std::string& file, const TrainSettings& s) {
  const bool chooses = s.read || s.predict;
  const bool names_columns = chooses || s.types || s.sequences || s.order;  // as they are after decoding
  LineCount undecodable;
  if (file != "-" && !names_columns) {
    TableSchema schema = infer_table_schema_of_file(file, table_schema_options(training_reader_options(s, {})));
    if (schema.undecodable.count == 0) return schema;
    undecodable = schema.undecodable;
  }
  const Input input = Input::open(file);
  const ReaderText text(input);
  const std::vector<std::string> columns =
      chooses ? column_names_of(input, reader_options(s)) : std::vector<std::string>();
  if (chooses) require_fields(s, columns);
  TableSchema schema =
      infer_table_schema(text.source(), text.text(), table_schema_options(training_reader_options(s, columns)));
  schema.undecodable = undecodable;
  schema.byte_order_mark = strip_bom(input.bytes()).size() != input.bytes().size();
  for (const std::string& remark : text.no_examples().remarks)
    schema.notes.push_back(without_source(remark, text.source()));
  return schema;
}

/// Adds notes on the labels of a table file.
void note_labels(const std::string& file, const SchemaOptions& options, TableSchema& schema) {
  const auto target = std::ranges::find(schema.columns, ColumnRole::predicted, &ColumnSchema::role);
  if (target == schema.columns.end() || target->type != ColumnType::category) return;
  const auto place = static_cast<std::size_t>(target - schema.columns.begin());
  constexpr std::size_t kFirstBytes = 256 << 10;
  const Input input = Input::open(file);
  const ReaderText decoded(input);
  const std::string_view text = decoded.text();
  const TableLayout layout =
      table_layout(input.name(), text.substr(0, kFirstBytes), text.size() <= kFirstBytes, options);
  RowSplitter splitter(layout.separator, layout.line_end, layout.comment);
  LabelCounts counts;
  TableRow row;
  for (std::size_t position = 0; position < text.size();) {
    if (splitter.next(text, position, /*last=*/true, row) != RowSplitter::Result::row) return;
    const bool names = row.line < layout.first_line || (layout.header && row.line == layout.first_line);
    if (row.comment || names || row.cells.size() != schema.columns.size()) continue;
    if (!is_missing_cell(row.cells[place], options.missing, /*marks=*/false)) counts.add(row.cells[place]);
  }
  for (std::string& note : counts.notes(target->name)) schema.notes.push_back(std::move(note));
}

/// Reports a table: its schema, and the problems that training would report as an error.
Inspection inspect_table(const std::string& file, const TrainSettings& s) {
  TableSchema schema = training_schema(file, s);
  std::string refused;
  try {
    require_regular(schema, stated_schema(s).bad_rows);
    refuse_header_only(schema);
    if (!s.read && !s.predict) refuse_rows_of_periods(schema);
    if (file != "-") note_labels(file, stated_schema(s), schema);
  } catch (const DataError& error) {
    refused = without_source(error.what(), schema.source);
  }
  Inspection result{.text = describe(schema), .json = to_json(schema)};
  if (!refused.empty()) add_refusal(refused, result);
  return result;
}

/// Reports the contents of one field of the examples.
struct FieldSummary {
  std::string name, type, per;
  Index entries = 0, missing = 0, distinct = 0;
  bool distinct_exact = true;
  std::vector<std::string> examples = {};
  std::string role = "left out";
};

std::string type_of(const ExampleColumn& column) {
  if (column.is_text()) return column.characters ? "characters" : column.integers ? "classes" : "text";
  return column.width == 1 ? "number" : fmt::format("{} numbers", column.width);
}

FieldSummary summary_of(const ExampleColumn& column) {
  FieldSummary summary{.name = column.name,
                       .type = type_of(column),
                       .per = column.source ? "source"
                              : column.once ? "example"
                                            : "position",
                       .entries = column.entries()};
  std::unordered_set<std::string> distinct;
  for (Index e = 0; e < column.entries(); ++e) {
    if (!column.present(e)) {
      ++summary.missing;
      continue;
    }
    std::string entry = entry_text(column, e);
    if (distinct.size() >= kMostDistinctShown) {
      summary.distinct_exact = summary.distinct_exact && distinct.contains(entry);
      continue;
    }
    if (distinct.size() < kMostShown && !distinct.contains(entry))
      summary.examples.push_back(escape_cell(entry, kMostCellBytes));
    distinct.insert(std::move(entry));
  }
  summary.distinct = static_cast<Index>(distinct.size());
  return summary;
}

/// Reports the fields that training reads and predicts, or why an option is required.
struct PlannedFields {
  std::vector<std::string> reads = {}, predicts = {};
  std::string refused = {};
};

PlannedFields planned_fields(const Examples& examples, TrainSettings s) {
  PlannedFields planned;
  try {
    const FieldPlan plan = plan_fields(examples, s);
    planned.reads = plan.layout.reads;
    planned.predicts = plan.choice.predicts;
  } catch (const Error& error) {
    planned.refused = without_source(error.what(), examples.source);
  }
  return planned;
}

std::string role_in(const PlannedFields& planned, const std::string& name) {
  const bool predicted = std::ranges::find(planned.predicts, name) != planned.predicts.end();
  const bool read = std::ranges::any_of(planned.reads, [&](const std::string& text) {
    const std::string field = parse_read(text).field;
    return field == name || field.starts_with(name + ".");
  });
  return predicted ? read ? "predicted from its past" : "predicted" : read ? "read" : "left out";
}

std::string count_of_distinct(const FieldSummary& field) {
  return fmt::format("{}{} distinct", field.distinct_exact ? "" : "more than ", field.distinct);
}

std::string lengths_text(const Examples& examples) {
  Index shortest = examples.length(0), longest = shortest;
  for (Index e = 1; e < examples.count(); ++e) {
    shortest = std::min(shortest, examples.length(e));
    longest = std::max(longest, examples.length(e));
  }
  const char* kind = examples.are_trees() ? "trees" : examples.are_grids() ? "grids" : "examples";
  return fmt::format("{} {} with {} positions ({} to {} each)", examples.count(), kind, examples.positions(), shortest,
                     longest);
}

/// Rows of a table as JSON Lines. Like tables, but an error ends the inspection, because types are inferred from all
/// lines.
Inspection inspect_records(const std::string& file, const TrainSettings& s) {
  TrainSettings settings = s;
  settings.data = {file};
  settings.symbols = kAnyText;
  const std::vector<std::string> columns = column_names_of(Input::open(file), reader_options(settings));
  if (s.read || s.predict) require_fields(s, columns);
  const Examples examples = read_fields(
      settings.data, training_reader_options(settings, s.read || s.predict ? columns : std::vector<std::string>()));
  TableSchema schema = *examples.schema;
  for (const std::string& remark : examples.remarks)
    if (std::ranges::find(schema.notes, remark) == schema.notes.end())
      schema.notes.push_back(without_source(remark, examples.source));
  for (const ColumnSchema& column : examples.schema->columns)
    if (column.role == ColumnRole::predicted)
      for (std::string& note : label_notes(examples, {column.name})) schema.notes.push_back(std::move(note));
  Inspection result{.text = describe(schema), .json = to_json(schema)};
  (*result.json)["format"] = *s.format;
  return result;
}

/// Reports data with fields other than tables.
Inspection inspect_fields(const std::string& file, const TrainSettings& s) {
  TrainSettings settings = s;
  settings.data = {file};
  settings.symbols = kAnyText;
  const Examples examples = read_fields(settings.data, reader_options(settings));
  const PlannedFields planned = planned_fields(examples, settings);
  std::vector<FieldSummary> fields;
  for (const ExampleColumn& column : examples.columns) {
    fields.push_back(summary_of(column));
    fields.back().role = role_in(planned, column.name);
    if (fields.back().missing == fields.back().entries)
      fields.back().role += " (no entries)";
    else if (fields.back().role == "left out" && !s.read && is_annotation(examples, column.name))
      fields.back().role += " (annotation; --read includes it)";
  }
  std::string text = report_line("format", fmt::format("{}: {}", *s.format, lengths_text(examples)));
  InspectionJson json = {{"format", *s.format},          {"source", escape_cell(file, 4096)},
                         {"examples", examples.count()}, {"positions", examples.positions()},
                         {"reads", planned.reads},       {"predicts", planned.predicts}};
  json["notes"] = InspectionJson::array();
  std::vector<std::string> notes = examples.remarks;
  for (std::string& note : label_notes(examples, planned.predicts)) notes.push_back(std::move(note));
  for (const std::string& note : notes) {
    text += report_line("note", escape_cell(note, 500));
    json["notes"].push_back(escape_cell(note, 500));
  }
  std::size_t width = 6;
  for (const FieldSummary& field : fields) width = std::max(width, escape_cell(field.name, kMostCellBytes).size());
  text +=
      fmt::format("\n{:{}}  {:12}  {:9}  {:>8}  role; contents; examples\n", "field", width, "type", "per", "missing");
  json["fields"] = InspectionJson::array();
  for (const FieldSummary& field : fields) {
    text += fmt::format("{:{}}  {:12}  {:9}  {:>8}  {}; {}; {}\n", escape_cell(field.name, kMostCellBytes), width,
                        field.type, field.per, field.missing, field.role, count_of_distinct(field),
                        field.examples.empty() ? "-" : fmt::format("{}", fmt::join(field.examples, " | ")));
    json["fields"].push_back({{"name", escape_cell(field.name, 4096)},
                              {"type", field.type},
                              {"per", field.per},
                              {"entries", field.entries},
                              {"missing", field.missing},
                              {"distinct", field.distinct},
                              {"distinct_exact", field.distinct_exact},
                              {"examples", field.examples},
                              {"role", field.role}});
  }
  Inspection result{.text = std::move(text), .json = std::move(json)};
  if (!planned.refused.empty()) add_refusal(planned.refused, result);
  return result;
}

/// Counts of a text in one pass.
struct TextSummary {
  Index lines = 0, empty_lines = 0, carriage_returns = 0, controls = 0, escapes = 0, undecodable = 0, longest = 0;
  Index first_control = 0, first_undecodable = 0;  ///< lines
  Index characters = 0;
  std::set<char32_t> distinct = {};
};

TextSummary summary_of_text(std::string_view text) {
  TextSummary summary;
  Index line_begin = 0;
  for (Index i = 0, size = static_cast<Index>(text.size()); i < size;) {
    const Index begin = i;
    const char32_t c = next_code_point(text, i);
    if (c == kNoCodePoint) {
      if (summary.undecodable++ == 0) summary.first_undecodable = summary.lines + 1;
      ++i;
      continue;
    }
    ++summary.characters;
    summary.distinct.insert(c);
    if (c == '\n') {
      ++summary.lines;
      summary.empty_lines += begin == line_begin ? 1 : 0;
      summary.longest = std::max(summary.longest, begin - line_begin);
      line_begin = i;
    } else if (c == '\r') {
      ++summary.carriage_returns;
    } else if ((c < 0x20 && c != '\t') || c == 0x7F) {
      if (summary.controls++ == 0) summary.first_control = summary.lines + 1;
      summary.escapes += c == 0x1B ? 1 : 0;
    }
  }
  if (line_begin < static_cast<Index>(text.size())) {
    ++summary.lines;
    summary.longest = std::max(summary.longest, static_cast<Index>(text.size()) - line_begin);
  }
  return summary;
}

Inspection inspect_text(const std::string& file) {
  const Input input = Input::open(file);
  const std::string_view text = input.bytes();
  reject_utf16(input.name(), text);
  const TextSummary summary = summary_of_text(text);
  const std::string note = resembles(input);
  input.require_whole();
  const std::string list = guess_item_lines(text);
  std::string out = report_line(
      "format", list.empty() ? fmt::format("running text of {} bytes in {} lines", text.size(), summary.lines)
                             : fmt::format("lines: {} bytes in {} lines, each a separate sequence ({}); --format text "
                                           "would read it as running text",
                                           text.size(), summary.lines, list));
  out += report_line("symbols", fmt::format("{} characters, {} different; the next one is predicted (--symbols words "
                                            "reads words)",
                                            summary.characters, summary.distinct.size()));
  out += report_line(
      "lines", fmt::format("longest {} bytes, {} empty{}", summary.longest, summary.empty_lines,
                           summary.carriage_returns > 0 ? fmt::format(", {} carriage returns", summary.carriage_returns)
                                                        : std::string()));
  InspectionJson json = {{"format", "text"},
                         {"source", escape_cell(file, 4096)},
                         {"bytes", text.size()},
                         {"lines", summary.lines},
                         {"separate_lines", !list.empty()},
                         {"empty_lines", summary.empty_lines},
                         {"characters", summary.characters},
                         {"distinct_characters", summary.distinct.size()},
                         {"carriage_returns", summary.carriage_returns},
                         {"control_characters", summary.controls},
                         {"undecodable", summary.undecodable}};
  json["notes"] = InspectionJson::array();
  const auto warn = [&](const std::string& what) {
    out += report_line("warning", escape_cell(what, 500));
    json["notes"].push_back(escape_cell(what, 500));
  };
  if (summary.undecodable > 0)
    warn(fmt::format("{} bytes are not UTF-8, the first in line {}; --symbols bytes reads any bytes",
                     summary.undecodable, summary.first_undecodable));
  if (summary.controls > 0)
    warn(fmt::format("{} control characters, {} of them terminal escape sequences, the first in line {}",
                     summary.controls, summary.escapes, summary.first_control));
  if (!note.empty()) warn(without_source(note, file));
  return {.text = std::move(out), .json = std::move(json)};
}

Inspection inspect_sessions(const Input& input, const SessionLines& how) {
  SessionLineParts parts;
  std::size_t sessions = 0, fewest = 0, most = 0;
  std::set<std::string, std::less<>> events;
  for_each_log_line(input.bytes(), [&](std::string_view line) {
    how.split(line, parts);
    if (parts.events.empty()) return;
    fewest = sessions++ == 0 ? parts.events.size() : std::min(fewest, parts.events.size());
    most = std::max(most, parts.events.size());
    for (const std::string_view event : parts.events)
      if (events.size() < kMostDistinctShown && !events.contains(event)) events.emplace(event);
  });
  const char* const ids = how.has_id ? ", after its identifier" : "";
  return {
      .text = report_line("format", fmt::format("log of {} sessions, one in each line{}", sessions, ids)) +
              report_line("events", fmt::format("{} to {} in a session, {} different", fewest, most, events.size())) +
              report_line("read", "the events of each session; unfold score finds unusual sessions (docs/logs.md)"),
      .json = InspectionJson{{"format", "log"},
                             {"source", escape_cell(input.name(), 4096)},
                             {"sessions", sessions},
                             {"fewest_events", fewest},
                             {"most_events", most},
                             {"different_events", events.size()}}};
}

Inspection inspect_log(const std::string& file) {
  Input input = with_line_feeds(Input::open(file));
  if (const std::optional<SessionLines> sessions = guess_session_lines(input.bytes()))
    return inspect_sessions(input, *sessions);
  if (begins_records_with_times(input.bytes()))
    if (std::optional<std::string> records = joined_records(input.bytes(), {}))
      input = Input::from_bytes(input.name(), *std::move(records));
  const LogScanner scanner{LogRules()};
  std::map<std::string, Index> counts;
  std::map<std::string, Index, std::less<>> values;
  const auto scan = [&](std::string_view text, LogLine& line) { scanner.scan(text, line); };
  const LogTemplates templates = shapes_of(input.bytes(), scan, [&](const LogLine& line) {
    if (counts.size() < kMostDistinctShown || counts.contains(line.shape)) ++counts[line.shape];
    for (const MaskedValue& value : line.masked) {
      const auto found = values.find(value.name);
      if (found == values.end())
        values.emplace(value.name, 1);
      else
        ++found->second;
    }
  });
  std::vector<std::pair<Index, std::string>> ordered;
  ordered.reserve(counts.size());
  for (const auto& [shape, count] : counts) ordered.emplace_back(-count, shape);
  std::ranges::sort(ordered);
  std::string out = report_line(
      "format", fmt::format("log of {} lines with {} different templates", templates.lines, templates.different));
  InspectionJson json = {{"format", "log"},
                         {"source", escape_cell(file, 4096)},
                         {"lines", templates.lines},
                         {"templates", templates.different},
                         {"labels", begins_with_labels(input.bytes())}};
  if (begins_with_labels(input.bytes())) out += report_line("labels", "the first column is a label of each line");
  std::vector<std::string> masked;
  masked.reserve(values.size());
  for (const auto& [name, count] : values) masked.push_back(fmt::format("{} <{}>", count, name));
  if (!masked.empty()) out += report_line("values", fmt::format("{}", fmt::join(masked, ", ")));
  json["values"] = values;
  json["examples"] = InspectionJson::array();
  for (std::size_t i = 0; i < std::min(ordered.size(), kMostShown); ++i) {
    out += report_line(i == 0 ? "templates" : "",
                       fmt::format("{} lines: {}", -ordered[i].first, escape_cell(ordered[i].second, 120)));
    json["examples"].push_back({{"lines", -ordered[i].first}, {"template", escape_cell(ordered[i].second, 500)}});
  }
  out += report_line("read", "the words of each template; the next word is predicted (docs/logs.md)");
  return {.text = std::move(out), .json = std::move(json)};
}

Inspection inspect_fasta(const std::string& file) {
  const FastaFile records = read_fasta(Input::open(file));
  Index shortest = 0, longest = 0;
  for (Index r = 0; r < records.count(); ++r) {
    const Index length = records.ends[at(r)] - (r == 0 ? 0 : records.ends[at(r - 1)]) - 1;
    shortest = r == 0 ? length : std::min(shortest, length);
    longest = std::max(longest, length);
  }
  std::set<char> letters(records.letters.begin(), records.letters.end());
  letters.erase('\n');
  std::string out =
      report_line("format", fmt::format("{} of {} records ({} to {} letters each)",
                                        records.has_qualities ? "FASTQ" : "FASTA", records.count(), shortest, longest));
  out += report_line(
      "letters",
      fmt::format("{} different: {}{}", letters.size(), std::string(letters.begin(), letters.end()),
                  records.lower_case > 0 ? fmt::format(" ({} in lower case)", records.lower_case) : std::string()));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(records.names.size(), kMostShown); ++i)
    names.push_back(escape_cell(records.names[i], kMostCellBytes));
  out += report_line("records", fmt::format("{}", fmt::join(names, " | ")));
  out += report_line("read", "the letters; the next one is predicted. Headers and qualities are ignored");
  return {.text = std::move(out),
          .json = InspectionJson{{"format", "fasta"},
                                 {"source", escape_cell(file, 4096)},
                                 {"records", records.count()},
                                 {"shortest", shortest},
                                 {"longest", longest},
                                 {"letters", std::string(letters.begin(), letters.end())},
                                 {"qualities", records.has_qualities}}};
}

}  // namespace

Inspection inspect_file(const std::string& file, const TrainSettings& settings, const Given& given) {
  TrainSettings s = settings;
  s.data = {file};
  const std::string note = resolve_format(s, given);
  const std::string format = s.format.value_or("text");
  refuse_table_options(given, file, format);
  if (!has_fields(s))
    for (const OptionRow& row : choice_rows(s))
      if (given.contains(row.name))
        throw UsageError(fmt::format("--{0} applies to data with fields, and {1} has the format {2}: omit --{0}",
                                     row.name, file, format));
  Inspection result = format == "table"        ? inspect_table(file, s)
                      : format == kRecords     ? inspect_records(file, s)
                      : format == kLogFormat   ? inspect_log(file)
                      : format == kFastaFormat ? inspect_fasta(file)
                      : has_fields(s)          ? inspect_fields(file, s)
                                               : inspect_text(file);
  if (has_fields(s) && !note.empty()) result.text += "\n" + report_line("detected", escape_cell(note, 500));
  return result;
}

}  // namespace unfold
