#include "app/reproduce/reproduction_plan.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "app/sweep/run_settings_record.h"
#include "unfold/base/formats/file.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

/// Folder of the data sets: UNFOLD_DATA, by default ../shared/data.
std::string data_folder() {
  const char* folder = std::getenv("UNFOLD_DATA");
  return folder != nullptr ? folder : "../shared/data";
}

/// Returns the arguments of fill_in that apply to a column at a scale.
NamedTexts named_values(const Reproduction& table, const ReproductionScale& scale, const ReproductionColumn& column) {
  NamedTexts result = scale.values;
  result.insert(result.end(), column.values.begin(), column.values.end());
  result.insert(result.end(), table.values.begin(), table.values.end());
  return result;
}

/// Throws UsageError if `unfold train` does not have these arguments.
void check_arguments(const std::vector<std::string>& words) {
  const TrainRequest request = train_request(words);
  (void)canonical_model(request.settings.model);
  (void)canonical_optimizer(request.settings.optimizer);
}

}  // namespace

std::string slug(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    if (plain || capital)
      result += capital ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!result.empty() && result.back() != '-')
      result += '-';
  }
  return result;
}

std::string command_line(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

TrainRequest train_request(const std::vector<std::string>& words) {
  TrainRequest request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      request.settings.data.push_back(words[i]);
      request.given.add(&TrainSettings::data);
      continue;
    }
    const std::string name = words[i].substr(2);
    const OptionRow* row = find_row(SettingTable::defaults().rows, name);
    const bool flag = row != nullptr && std::holds_alternative<bool*>(row->target);
    const bool has_value = !flag && i + 1 < words.size();
    assign_text(name, has_value ? words[++i] : "true", request.settings, request.run);
    request.given.insert(name);
  }
  return request;
}

std::string PlannedRun::command() const { return "unfold train " + command_line(arguments); }

std::string ReproductionPlan::run_folder(const ReproductionRow& row, const ReproductionColumn& column,
                                         Index seed) const {
  return fmt::format("{}/runs/{}-{}-{}", r_.out, slug(column.label), slug(row.label), seed);
}

std::string ReproductionPlan::made_stem(const ReproductionColumn& column) const {
  return fmt::format("{}/data/{}", r_.out, slug(column.label));
}

NamedTexts ReproductionPlan::paths() const {
  const std::string folder = std::filesystem::path(file_).parent_path().string();
  return {{"data", data_folder()}, {"tables", folder.empty() ? "." : folder}, {"out", r_.out}};
}

bool ReproductionPlan::has_data(const Reproduction& table) const {
  if (table.data.empty() || r_.list || std::filesystem::exists(data_folder() + "/" + table.data)) return true;
  reporter_.remark(fmt::format("{}: skipped, because {}/{} does not exist (UNFOLD_DATA names the data folder)",
                               table.title, data_folder(), table.data));
  return false;
}

/// Throws UsageError if different columns or rows would use the same files.
void ReproductionPlan::check_names() const {
  std::set<std::string> stems, folders;
  for (const PlannedTable& section : planned_) {
    for (const ReproductionColumn* column : section.columns())
      if (!stems.insert(made_stem(*column)).second)
        section.table->fail(column->line, fmt::format("there are two columns {} in this file, apart from case and "
                                                      "punctuation; rename one of them",
                                                      column->label));
    for (const PlannedCell& cell : section.cells)
      if (!folders.insert(cell.runs.front().folder).second)
        section.table->fail(cell.row->line,
                            fmt::format("there are two rows {}, apart from case and punctuation; rename "
                                        "one of them",
                                        cell.row->label));
  }
}

ReproductionPlan::ReproductionPlan(const ReproduceRequest& request, Reporter& reporter)
    : r_(request), reporter_(reporter), file_(find_reproduction(request.table)) {
  name_ = std::filesystem::path(file_).stem().string();
  tables_ = parse_reproductions(read_file(file_), file_);
  bool has_scale = false, missing = false;
  for (const Reproduction& table : tables_) {
    const auto scale = table.scales.find(r_.scale);
    if (scale == table.scales.end()) continue;
    has_scale = true;
    std::vector<PlannedCell> cells = plan(table, scale->second);
    if (cells.empty()) continue;
    if (has_data(table))
      planned_.push_back({&table, &scale->second, std::move(cells)});
    else
      missing = true;
  }
  if (!has_scale)
    throw UsageError(fmt::format("{} has no table with the scale {}; use --scale {}", file_, r_.scale,
                                 r_.scale == "small" ? "full" : "small"));
  if (planned_.empty() && missing)
    throw UsageError(
        fmt::format("{}: its data was not found in {}; set UNFOLD_DATA to its folder", name_, data_folder()));
  if (planned_.empty())
    throw UsageError(
        fmt::format("--only {}: no row or column of {} has this name at this scale", r_.only.value_or(""), name_));
  check_names();
}

/// Applies --only. The first row is also included if a selected row starts from it.
bool ReproductionPlan::is_wanted(const Reproduction& table, const ReproductionRow& row,
                                 const ReproductionColumn& column) const {
  const auto named = [&](const ReproductionRow& other) {
    return !r_.only || fmt::format("{} / {}", other.label, column.label).find(*r_.only) != std::string::npos;
  };
  if (named(row)) return true;
  return &row == &table.rows.front() && std::ranges::any_of(table.rows, [&](const ReproductionRow& other) {
    return other.starts_from_first() && named(other);
  });
}

std::vector<std::string> ReproductionPlan::arguments_of(const Reproduction& table, const ReproductionScale& scale,
                                                        const ReproductionRow& row, const ReproductionColumn& column,
                                                        Index seed) const {
  NamedTexts places = paths();
  places.emplace_back("seed", std::to_string(seed));
  places.emplace_back("made", made_stem(column));
  places.emplace_back("start", run_folder(table.rows.front(), column, seed));
  const std::string& budget = row.starts_from_first() ? scale.budget : scale.start_budget.value_or(scale.budget);
  std::vector<std::string> arguments =
      fill_in(column.arguments + " " + row.arguments + " " + (row.fitted ? "" : budget),
              named_values(table, scale, column), places);
  if (row.fitted) return arguments;
  const auto limit = std::find(arguments.begin(), arguments.end(), "--minutes");
  if (r_.minutes && limit != arguments.end()) arguments.erase(limit, limit + 2);
  if (r_.minutes) arguments.insert(arguments.end(), {"--minutes", fmt::format("{}", *r_.minutes)});
  arguments.insert(arguments.end(), {"--seed", std::to_string(seed)});
  return arguments;
}

std::vector<PlannedCell> ReproductionPlan::plan(const Reproduction& table, const ReproductionScale& scale) const {
  std::vector<PlannedCell> cells;
  for (const std::string& label : scale.columns) {
    const ReproductionColumn& column = *std::ranges::find(table.columns, label, &ReproductionColumn::label);
    for (const ReproductionRow& row : table.rows) {
      if (!is_wanted(table, row, column)) continue;
      PlannedCell cell{&row, &column, {}, 0, column.success.value_or(table.success.value_or(0))};
      const Index seeds = row.fitted ? 1 : r_.seeds.value_or(scale.seeds);
      with_place(table, row.line, fmt::format("{} / {}", row.label, column.label), [&] {
        for (Index seed = 1; seed <= seeds; ++seed)
          cell.runs.push_back({arguments_of(table, scale, row, column, seed), run_folder(row, column, seed), seed});
        check_arguments(cell.runs.front().arguments);
      });
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

std::vector<std::vector<std::string>> ReproductionPlan::prepare_commands(const PlannedTable& section,
                                                                         const ReproductionColumn& column) const {
  NamedTexts places = paths();
  places.emplace_back("made", made_stem(column));
  return with_place(*section.table, column.line, "prepare", [&] {
    std::vector<std::vector<std::string>> commands;
    commands.reserve(column.prepare.size());
    for (const std::string& command : column.prepare) {
      commands.push_back(fill_in(command, named_values(*section.table, *section.scale, column), places));
      if (commands.back().empty()) throw UsageError("a command is empty");
    }
    return commands;
  });
}

std::vector<std::string> ReproductionPlan::commands() const {
  std::vector<std::string> result;
  for (const PlannedTable& section : planned_)
    for (const ReproductionColumn* column : section.columns())
      for (const auto& command : prepare_commands(section, *column)) result.push_back(command_line(command));
  for (const PlannedTable& section : planned_)
    for (const PlannedCell& cell : section.cells)
      for (const PlannedRun& run : cell.runs) result.push_back(run.command());
  return result;
}

}  // namespace unfold
