#include "app/reproduce/reproduction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "app/common/program.h"
#include "base/formats/toml.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

// Converts a value to the type of the target; returns false if it has a different type.
bool convert(const TomlValue& from, std::string& to) {
  const auto* text = std::get_if<std::string>(&from.value);
  if (text != nullptr) to = *text;
  return text != nullptr;
}
bool convert(const TomlValue& from, bool& to) {
  const auto* flag = std::get_if<bool>(&from.value);
  if (flag != nullptr) to = *flag;
  return flag != nullptr;
}
bool convert(const TomlValue& from, Index& to) {
  const auto* number = std::get_if<Index>(&from.value);
  if (number != nullptr) to = *number;
  return number != nullptr;
}
bool convert(const TomlValue& from, double& to) {
  if (const auto* whole = std::get_if<Index>(&from.value)) return to = static_cast<double>(*whole), true;
  const auto* number = std::get_if<double>(&from.value);
  if (number != nullptr) to = *number;
  return number != nullptr;
}
template <class T>
bool convert(const TomlValue& from, std::optional<T>& to) {
  return convert(from, to.emplace());
}
bool convert(const TomlValue& from, std::vector<std::string>& to) {
  const auto* list = std::get_if<TomlList>(&from.value);
  if (list == nullptr) return false;
  to.resize(list->size());
  for (std::size_t i = 0; i < to.size(); ++i)
    if (!convert((*list)[i], to[i])) return false;
  return true;
}
bool convert(const TomlValue& from, NamedTexts& to) {
  const auto* table = std::get_if<TomlTable>(&from.value);
  if (table == nullptr) return false;
  for (const TomlMember& member : *table) {
    to.emplace_back(member.key, "");
    if (!convert(member.value, to.back().second)) return false;
  }
  return true;
}

const char* wanted_type(const std::string&) { return "a string in quotes"; }
const char* wanted_type(bool) { return "true or false"; }
const char* wanted_type(Index) { return "a whole number"; }
const char* wanted_type(double) { return "a number"; }
template <class T>
const char* wanted_type(const std::optional<T>&) {
  return wanted_type(T());
}
const char* wanted_type(const std::vector<std::string>&) { return "a list of strings in quotes"; }
const char* wanted_type(const NamedTexts&) { return "a table of strings, {name = \"text\"}"; }

/// Reads the keys of one table of a file. After all keys have been read, `finish` rejects the remaining ones.
class TableKeys {
 public:
  TableKeys(const TomlTable& table, std::string what, const std::string& filename, Index line)
      : table_(table), what_(std::move(what)), filename_(filename), line_(line) {}

  /// Assigns the value of a key; leaves the target unchanged if the key is missing.
  template <class T>
  void read(const char* key, T& target) {
    const TomlMember* member = find(key);
    if (member != nullptr && !convert(member->value, target))
      throw_toml_error(filename_, member->line, fmt::format("{} must be {}", key, wanted_type(target)));
  }
  template <class T>
  void need(const char* key, T& target) {
    read(key, target);
    if (find(key) == nullptr) missing_.emplace_back(key);
  }
  /// Calls `use(table, line)` for each table in a list.
  template <class Use>
  void read_tables(const char* key, const Use& use) {
    const TomlMember* member = find(key);
    if (member == nullptr) return missing_.emplace_back(key), void();
    const auto* list = std::get_if<TomlList>(&member->value.value);
    const auto is_table = [](const TomlValue& item) { return std::holds_alternative<TomlTable>(item.value); };
    if (list == nullptr || !std::ranges::all_of(*list, is_table))
      throw_toml_error(filename_, member->line, fmt::format("{} must be a list of tables", key));
    for (const TomlValue& item : *list) use(std::get<TomlTable>(item.value), item.line);
  }
  /// Calls `use(table, line)` if the key is present.
  template <class Use>
  void read_table(const char* key, const Use& use) {
    const TomlMember* member = find(key);
    if (member == nullptr) return;
    const auto* table = std::get_if<TomlTable>(&member->value.value);
    if (table == nullptr) throw_toml_error(filename_, member->line, fmt::format("{} must be a table", key));
    use(*table, member->line);
  }

  void finish() const {
    for (const TomlMember& member : table_)
      if (std::ranges::find(known_, member.key) == known_.end())
        throw_toml_error(filename_, member.line,
                         fmt::format("{} has no key {}{} (keys: {})", what_, in_quotes(member.key),
                                     did_you_mean(member.key, known_), fmt::join(known_, ", ")));
    if (!missing_.empty())
      throw_toml_error(filename_, line_, fmt::format("{} needs {}", what_, fmt::join(missing_, ", ")));
  }

 private:
  const TomlMember* find(const char* key) {
    if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
    const auto place = std::ranges::find(table_, key, &TomlMember::key);
    return place == table_.end() ? nullptr : &*place;
  }

  const TomlTable& table_;
  std::string what_;
  const std::string& filename_;
  Index line_;
  std::vector<std::string> known_, missing_;
};

ReproductionColumn read_column(const TomlTable& table, const std::string& filename, Index line) {
  ReproductionColumn column;
  column.line = line;
  TableKeys keys(table, "a column", filename, line);
  keys.need("label", column.label);
  keys.read("arguments", column.arguments);
  keys.read("values", column.values);
  keys.read("prepare", column.prepare);
  keys.read("floor", column.floor);
  keys.read("success", column.success);
  keys.finish();
  return column;
}

ReproductionRow read_row(const TomlTable& table, const std::string& filename, Index line) {
  ReproductionRow row;
  row.line = line;
  NamedTexts published;
  TableKeys keys(table, "a row", filename, line);
  keys.need("label", row.label);
  keys.read("arguments", row.arguments);
  keys.read("fitted", row.fitted);
  keys.read("published", published);
  keys.finish();
  row.published = {published.begin(), published.end()};
  return row;
}

ReproductionScale read_scale(const TomlTable& table, const std::string& name, const Reproduction& of, Index line) {
  ReproductionScale scale;
  for (const ReproductionColumn& column : of.columns) scale.columns.push_back(column.label);
  const std::vector<std::string> labels = scale.columns;
  TableKeys keys(table, name, of.file, line);
  keys.read("columns", scale.columns);
  keys.read("seeds", scale.seeds);
  keys.read("budget", scale.budget);
  keys.read("start_budget", scale.start_budget);
  keys.read("values", scale.values);
  keys.finish();
  for (const std::string& label : scale.columns)
    if (std::ranges::find(labels, label) == labels.end())
      of.fail(line, fmt::format("{}: there is no column {}{} (columns: {})", name, in_quotes(label),
                                did_you_mean(label, labels), fmt::join(labels, ", ")));
  if (scale.columns.empty()) of.fail(line, fmt::format("{}: columns is empty; leave it out to use all columns", name));
  if (scale.seeds < 1 || scale.seeds > 1000)
    of.fail(line, fmt::format("{}: seeds must be from 1 to 1000, not {}", name, scale.seeds));
  return scale;
}

/// Throws UsageError if two rows or columns have the same label or an empty one.
template <class Entry>
void check_labels(const Reproduction& table, const char* what, const std::vector<Entry>& entries) {
  std::set<std::string_view> seen;
  for (const Entry& entry : entries) {
    if (entry.label.empty()) table.fail(entry.line, fmt::format("the label of a {} is empty", what));
    if (!seen.insert(entry.label).second)
      table.fail(entry.line, fmt::format("there are two {}s {}", what, in_quotes(entry.label)));
  }
  if (entries.empty()) table.fail(table.line, fmt::format("the table has no {}s", what));
}

void check_columns(const Reproduction& table) {
  check_labels(table, "column", table.columns);
  if (table.compares && table.success)
    table.fail(table.line, "success has no effect with compares = true; leave it out");
  for (const ReproductionColumn& column : table.columns) {
    if (!column.floor.empty() && column.prepare.empty())
      table.fail(column.line, "floor is a value in the output of the last command of prepare, and there is none");
    if (!column.floor.empty() && !column.floor.starts_with('/'))
      table.fail(column.line,
                 fmt::format("floor must be a JSON pointer, which begins with /, not {}", in_quotes(column.floor)));
    const bool has_threshold = column.success || table.success || (table.success_of_floor && !column.floor.empty());
    if (!table.compares && !has_threshold)
      table.fail(column.line,
                 fmt::format("the column {} has no threshold: add success to the column or to the table, or "
                             "compares = true to the table if rows are only compared with each other",
                             in_quotes(column.label)));
  }
}

void check_rows(const Reproduction& table) {
  check_labels(table, "row", table.rows);
  if (table.rows.front().starts_from_first())
    table.fail(table.rows.front().line, "{start} is the run of the first row; only later rows can start from it");
  std::vector<std::string> columns;
  for (const ReproductionColumn& column : table.columns) columns.push_back(column.label);
  for (const ReproductionRow& row : table.rows)
    for (const auto& [column, result] : row.published)
      if (std::ranges::find(columns, column) == columns.end())
        table.fail(row.line, fmt::format("published: there is no column {}{} (columns: {})", in_quotes(column),
                                         did_you_mean(column, columns), fmt::join(columns, ", ")));
}

Reproduction read_reproduction(const TomlTable& table, const std::string& filename, Index line) {
  Reproduction result;
  result.file = filename;
  result.line = line;
  TableKeys keys(table, "a table", filename, line);
  keys.need("title", result.title);
  keys.read("source", result.source);
  keys.need("measure", result.measure);
  keys.read("measure_text", result.measure_text);
  keys.read("percent", result.percent);
  keys.read("success", result.success);
  keys.read("success_of_floor", result.success_of_floor);
  keys.read("more_is_better", result.more_is_better);
  keys.read("compares", result.compares);
  keys.read("curve", result.curve);
  keys.read("curve_text", result.curve_text);
  keys.read("curve_factor", result.curve_factor);
  keys.read("curve_over", result.curve_over);
  keys.read("data", result.data);
  keys.read("appendix", result.appendix);
  keys.read("values", result.values);
  keys.read_tables("columns", [&](const TomlTable& column, Index at_line) {
    result.columns.push_back(read_column(column, filename, at_line));
  });
  keys.read_tables(
      "rows", [&](const TomlTable& row, Index at_line) { result.rows.push_back(read_row(row, filename, at_line)); });
  for (const char* name : {"small", "full"})
    keys.read_table(name, [&](const TomlTable& scale, Index at_line) {
      result.scales[name] = read_scale(scale, name, result, at_line);
    });
  keys.finish();
  if (result.scales.empty()) result.fail(line, "a table needs [table.small], [table.full] or both");
  if (result.measure_text.empty()) result.measure_text = result.measure;
  if (result.curve_over != "seconds" && result.curve_over != "epochs")
    result.fail(line, fmt::format("curve_over must be seconds or epochs, not {}", in_quotes(result.curve_over)));
  check_columns(result);
  check_rows(result);
  return result;
}

/// Returns the names of the tables in a folder.
std::vector<std::string> tables_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

/// Replaces the placeholders whose value `value_of` returns; it returns nothing for those that stay.
template <class ValueOf>
std::string with_values(const std::string& text, const ValueOf& value_of) {
  std::string result;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t open = text.find('{', from), close = text.find('}', open);
    result += text.substr(from, open - from);
    if (close == std::string::npos) return open == std::string::npos ? result : result + text.substr(open);
    const std::optional<std::string> value = value_of(text.substr(open + 1, close - open - 1));
    result += value ? *value : text.substr(open, close + 1 - open);
    from = close + 1;
  }
  return result;
}

const std::string* find_text(const NamedTexts& texts, const std::string& name) {
  const auto place = std::ranges::find(texts, name, &NamedTexts::value_type::first);
  return place == texts.end() ? nullptr : &place->second;
}

/// Replaces the placeholders of `values`, also in the values themselves. `open`: the values that are being replaced.
std::string expanded(const std::string& text, const NamedTexts& values, const NamedTexts& paths,
                     std::vector<std::string>& open) {
  return with_values(text, [&](const std::string& name) -> std::optional<std::string> {
    const std::string* value = find_text(values, name);
    if (value == nullptr && find_text(paths, name) != nullptr) return std::nullopt;
    if (value == nullptr) {
      std::vector<std::string> names;
      for (const NamedTexts* texts : {&values, &paths})
        for (const auto& entry : *texts) names.push_back(entry.first);
      throw UsageError(fmt::format("there is no value {}{} (values: {})", in_quotes("{" + name + "}"),
                                   did_you_mean(name, names), fmt::join(names, ", ")));
    }
    if (std::ranges::find(open, name) != open.end())
      throw UsageError(fmt::format("the value {} contains itself", in_quotes("{" + name + "}")));
    open.push_back(name);
    std::string result = expanded(*value, values, paths, open);
    open.pop_back();
    return result;
  });
}

}  // namespace

void Reproduction::fail(Index at_line, std::string_view what) const { throw_toml_error(file, at_line, what); }

std::vector<Reproduction> parse_reproductions(std::string_view text, const std::string& filename) {
  const TomlTable document = parse_toml(text, filename);
  std::vector<Reproduction> tables;
  TableKeys keys(document, "the file", filename, 1);
  keys.read_tables(
      "table", [&](const TomlTable& table, Index line) { tables.push_back(read_reproduction(table, filename, line)); });
  keys.finish();
  return tables;
}

std::string find_reproduction(const std::string& table) {
  if (table.ends_with(".toml") || table.find('/') != std::string::npos) return table;
  std::vector<std::string> all, folders;
  for (const std::filesystem::path& folder :
       {std::filesystem::path("bench/tables"), (program_folder() / "../share/unfold/tables").lexically_normal()}) {
    const std::vector<std::string> names = tables_in(folder);
    if (std::ranges::find(names, table) != names.end()) return (folder / (table + ".toml")).string();
    all.insert(all.end(), names.begin(), names.end());
    folders.push_back(folder.string());
  }
  if (all.empty())
    throw UsageError(fmt::format(
        "unknown table {}: there are no tables in {}; run the command in the folder of the sources, or name "
        "a TOML file",
        in_quotes(table), fmt::join(folders, " and ")));
  throw UsageError(fmt::format("unknown table {}{} (tables: {}; or the path of a TOML file)", in_quotes(table),
                               did_you_mean(table, all), fmt::join(all, ", ")));
}

std::vector<std::string> fill_in(const std::string& command, const NamedTexts& values, const NamedTexts& paths) {
  std::vector<std::string> open, words;
  std::istringstream stream(expanded(command, values, paths, open));
  for (std::string word; stream >> word;)
    words.push_back(with_values(word, [&](const std::string& name) -> std::optional<std::string> {
      const std::string* path = find_text(paths, name);
      return path == nullptr ? std::nullopt : std::make_optional(*path);
    }));
  return words;
}

}  // namespace unfold
