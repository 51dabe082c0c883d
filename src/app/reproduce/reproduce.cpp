#include "app/reproduce/reproduce.h"
#include "base/formats/trusted_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "app/common/program.h"
#include "app/common/work_distribution.h"
#include "app/plots/plot.h"
#include "app/plots/statistics.h"
#include "app/plots/training_curve.h"
#include "app/reproduce/reproduction.h"
#include "app/sweep/run_settings_record.h"
#include "app/train/setup/train_processes.h"
#include "app/train/train.h"
#include "model/registry/run_folder.h"
#include "numerics/simd.h"
#include "unfold/base/formats/file.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

using Json = nlohmann::ordered_json;

/// Folder of the data sets: UNFOLD_DATA, by default ../shared/data.
std::string data_folder() {
  const char* folder = std::getenv("UNFOLD_DATA");
  return folder != nullptr ? folder : "../shared/data";
}

/// Converts a title to a file name.
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

/// One training run of a cell.
struct Run {
  std::vector<std::string> arguments;  ///< arguments of `unfold train`, without the folder
  std::string folder;
  Index seed;
  Json result = {};  ///< output of train --json, or {"failed": reason}; in both cases with "command"
};

struct Cell {
  const ReproductionRow* row;
  const ReproductionColumn* column;
  std::vector<Run> runs;
  double floor = 0;    ///< subtracted from the measure of every run
  double success = 0;  ///< threshold for the measure after this subtraction
};

/// One table of the page.
struct Section {
  const Reproduction* table;
  const ReproductionScale* scale;
  std::vector<Cell> cells;
  /// Returns the columns that have cells.
  std::vector<const ReproductionColumn*> columns() const {
    std::vector<const ReproductionColumn*> result;
    for (const Cell& cell : cells)
      if (result.empty() || result.back() != cell.column) result.push_back(cell.column);
    return result;
  }
};

/// Returns the arguments of fill_in that apply to a column at a scale.
NamedTexts named_values(const Reproduction& table, const ReproductionScale& scale, const ReproductionColumn& column) {
  NamedTexts result = scale.values;
  result.insert(result.end(), column.values.begin(), column.values.end());
  result.insert(result.end(), table.values.begin(), table.values.end());
  return result;
}

std::string command_line(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

/// State of one call of reproduce.
class Reproducing {
 public:
  Reproducing(const ReproduceRequest& request, Reporter& reporter) : r_(request), reporter_(reporter) {}
  ReproduceOutcome run();

 private:
  std::vector<Section> plan();
  std::vector<Cell> plan(const Reproduction& table, const ReproductionScale& scale) const;
  bool is_wanted(const Reproduction& table, const ReproductionRow& row, const ReproductionColumn& column) const;
  bool has_data(const Reproduction& table) const;
  void check_names(const std::vector<Section>& sections) const;
  std::vector<std::string> arguments_of(const Reproduction& table, const ReproductionScale& scale,
                                        const ReproductionRow& row, const ReproductionColumn& column, Index seed) const;
  std::vector<std::vector<std::string>> prepare_commands(const Section& section,
                                                         const ReproductionColumn& column) const;
  std::optional<std::string> prepare(const Section& section, const ReproductionColumn& column) const;
  void prepare(std::vector<Section>& sections) const;
  std::string run_folder(const ReproductionRow& row, const ReproductionColumn& column, Index seed) const {
    return fmt::format("{}/runs/{}-{}-{}", r_.out, slug(column.label), slug(row.label), seed);
  }
  std::string made_stem(const ReproductionColumn& column) const {
    return fmt::format("{}/data/{}", r_.out, slug(column.label));
  }
  NamedTexts paths() const {
    const std::string folder = std::filesystem::path(file_).parent_path().string();
    return {{"data", data_folder()}, {"tables", folder.empty() ? "." : folder}, {"out", r_.out}};
  }
  bool finished(Run& run) const;
  Processes& all() const { return r_.processes != nullptr ? *r_.processes : single_process(); }
  Index threads() const;
  void carry_out(const Run& run, Reporter& reporter) const;
  WorkPiece piece_of(const Cell& cell, Run& run) const;
  void carry_out(std::vector<Section>& sections) const;
  void keep_finished(std::vector<Section>& sections) const;
  std::vector<double> values(const Reproduction& table, const Cell& cell) const;
  std::string shown(const Reproduction& table, double value) const;
  std::string own_command() const;
  std::string solved_text(const Section& section) const;
  TextTable summary(const Reproduction& table, const std::vector<Cell>& cells) const;
  TextTable differences(const Reproduction& table, const std::vector<Cell>& cells) const;
  Json results_json(const std::vector<Section>& sections) const;
  std::string plots(const Section& section) const;
  std::string appendix(const Reproduction& table) const;
  std::vector<std::string> commands(const std::vector<Section>& sections) const;
  void write_files(const std::vector<Section>& sections) const;

  const ReproduceRequest& r_;
  Reporter& reporter_;
  std::string file_, name_;  // the file of the tables, and its name without the ending
  std::vector<Reproduction> tables_;
};

/// Parses the words as arguments of `unfold train`.
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

/// Throws UsageError if `unfold train` does not have these arguments.
void check_arguments(const std::vector<std::string>& words) {
  const TrainRequest request = train_request(words);
  (void)canonical_model(request.settings.model);
  (void)canonical_optimizer(request.settings.optimizer);
}

bool Reproducing::has_data(const Reproduction& table) const {
  if (table.data.empty() || r_.list || std::filesystem::exists(data_folder() + "/" + table.data)) return true;
  reporter_.remark(fmt::format("{}: skipped, because {}/{} does not exist (UNFOLD_DATA names the data folder)",
                               table.title, data_folder(), table.data));
  return false;
}

/// Throws UsageError if different columns or rows would use the same files.
void Reproducing::check_names(const std::vector<Section>& sections) const {
  std::set<std::string> stems, folders;
  for (const Section& section : sections) {
    for (const ReproductionColumn* column : section.columns())
      if (!stems.insert(made_stem(*column)).second)
        section.table->fail(column->line, fmt::format("there are two columns {} in this file, apart from case and "
                                                      "punctuation; rename one of them",
                                                      column->label));
    for (const Cell& cell : section.cells)
      if (!folders.insert(cell.runs.front().folder).second)
        section.table->fail(cell.row->line,
                            fmt::format("there are two rows {}, apart from case and punctuation; rename "
                                        "one of them",
                                        cell.row->label));
  }
}

/// Returns the tables of the file that have the requested cells and whose data is available.
std::vector<Section> Reproducing::plan() {
  file_ = find_reproduction(r_.table);
  name_ = std::filesystem::path(file_).stem().string();
  tables_ = parse_reproductions(read_file(file_), file_);
  std::vector<Section> sections;
  bool has_scale = false, missing = false;
  for (const Reproduction& table : tables_) {
    const auto scale = table.scales.find(r_.scale);
    if (scale == table.scales.end()) continue;
    has_scale = true;
    std::vector<Cell> cells = plan(table, scale->second);
    if (cells.empty()) continue;
    if (has_data(table))
      sections.push_back({&table, &scale->second, std::move(cells)});
    else
      missing = true;
  }
  if (!has_scale)
    throw UsageError(fmt::format("{} has no table with the scale {}; use --scale {}", file_, r_.scale,
                                 r_.scale == "small" ? "full" : "small"));
  if (sections.empty() && missing)
    throw UsageError(
        fmt::format("{}: its data was not found in {}; set UNFOLD_DATA to its folder", name_, data_folder()));
  if (sections.empty())
    throw UsageError(
        fmt::format("--only {}: no row or column of {} has this name at this scale", r_.only.value_or(""), name_));
  check_names(sections);
  return sections;
}

/// Applies --only. The first row is also included if a selected row starts from it.
bool Reproducing::is_wanted(const Reproduction& table, const ReproductionRow& row,
                            const ReproductionColumn& column) const {
  const auto named = [&](const ReproductionRow& other) {
    return !r_.only || fmt::format("{} / {}", other.label, column.label).find(*r_.only) != std::string::npos;
  };
  if (named(row)) return true;
  return &row == &table.rows.front() && std::ranges::any_of(table.rows, [&](const ReproductionRow& other) {
    return other.starts_from_first() && named(other);
  });
}

std::vector<std::string> Reproducing::arguments_of(const Reproduction& table, const ReproductionScale& scale,
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

/// Returns `work()`. Adds file and line to the message of a UsageError.
template <class Work>
auto with_place(const Reproduction& table, Index line, const std::string& what, const Work& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    table.fail(line, fmt::format("{}: {}", what, error.what()));
  }
}

std::vector<Cell> Reproducing::plan(const Reproduction& table, const ReproductionScale& scale) const {
  std::vector<Cell> cells;
  for (const std::string& label : scale.columns) {
    const ReproductionColumn& column = *std::ranges::find(table.columns, label, &ReproductionColumn::label);
    for (const ReproductionRow& row : table.rows) {
      if (!is_wanted(table, row, column)) continue;
      Cell cell{&row, &column, {}, 0, column.success.value_or(table.success.value_or(0))};
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

/// Returns the commands that write the files of a column.
std::vector<std::vector<std::string>> Reproducing::prepare_commands(const Section& section,
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

/// Runs the commands of a column and records them next to its files; they are not repeated as long as they stay the
/// same. Returns the output of the last one, if they have been run.
std::optional<std::string> Reproducing::prepare(const Section& section, const ReproductionColumn& column) const {
  const std::string record = made_stem(column) + ".prepared";
  const std::vector<std::vector<std::string>> commands = prepare_commands(section, column);
  const Json old = try_parse_trusted_json_file(record);
  if (old.is_object() && old.value("commands", Json()) == Json(commands)) return text_under(old, "output");
  if (!all().first() || r_.finished) return std::nullopt;
  std::filesystem::create_directories(r_.out + "/data");
  std::string output;
  for (const std::vector<std::string>& command : commands) {
    reporter_.remark(fmt::format("{}: {}", column.label, command_line(command)));
    output = run_program(command, reporter_);
  }
  if (column.floor.empty()) output.clear();
  const Json done = {{"commands", commands}, {"output", output}};
  write_file_atomically(record, done.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  return output;
}

/// Returns the number that a column subtracts from its measure.
double floor_in(const std::optional<std::string>& output, const Reproduction& table, const ReproductionColumn& column) {
  if (!output) table.fail(column.line, "--finished: the commands of prepare have not been run; leave out --finished");
  const Json json = try_parse_trusted_json(*output);
  try {
    return json.at(Json::json_pointer(column.floor)).get<double>();
  } catch (const Json::exception& error) {
    table.fail(column.line,
               fmt::format("floor {}: the last command of prepare does not print JSON with this number: {}",
                           column.floor, json_fault(error)));
  }
}

/// Writes the files of all columns in the first process, and reads the floors in all processes.
void Reproducing::prepare(std::vector<Section>& sections) const {
  if (!all().first()) all().any(false);  // barrier: the first process has written the files
  for (Section& section : sections)
    for (const ReproductionColumn* column : section.columns()) {
      const std::optional<std::string> output = prepare(section, *column);
      if (column->floor.empty()) continue;
      const double floor = floor_in(output, *section.table, *column);
      for (Cell& cell : section.cells) {
        if (cell.column != column) continue;
        cell.floor = floor;
        if (!column->success && section.table->success_of_floor)
          cell.success = *section.table->success_of_floor * floor;
      }
    }
  if (all().first()) all().any(false);
}

std::string command_of(const Run& run) { return "unfold train " + command_line(run.arguments); }

/// Reads the result of a run, if it exists and has the same command; otherwise returns false.
bool Reproducing::finished(Run& run) const {
  const Json old = try_parse_trusted_json_file(run.folder + "/result.json");
  if (!old.is_object() || text_under(old, "command") != command_of(run)) return false;
  run.result = old;
  return true;
}

/// Concurrent runs share the processors.
Index Reproducing::threads() const {
  if (r_.threads > 0) return r_.threads;
  return std::max(1, threads_of_process(0, all()) / static_cast<int>(std::max<Index>(1, r_.jobs)));
}

/// Trains a run, or resumes it if it was interrupted with the same command.
void Reproducing::carry_out(const Run& run, Reporter& reporter) const {
  TrainRequest request = train_request(run.arguments);
  request.out = run.folder;
  request.run.threads = threads();
  request.given.emplace("threads");
  (can_resume(run.folder, command_of(run)) ? request.resume : request.overwrite) = true;
  Json result;
  try {
    result =
        parse_trusted_json(to_json(train(request, reporter)).dump(), "result");  // formatted like the output of --json
  } catch (const DivergedError& error) {
    result = {{"failed", error.what()}};
  } catch (const InterruptedError&) {
    throw InterruptedError(fmt::format("interrupted in {}; run the same command again to continue", run.folder));
  }
  result["command"] = command_of(run);
  write_file_atomically(run.folder + "/result.json", result.dump(2) + "\n");
}

/// Returns the measure of every run; the worst possible value for failed runs.
std::vector<double> Reproducing::values(const Reproduction& table, const Cell& cell) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> result;
  for (const Run& run : cell.runs) {
    const Json::json_pointer place((table.measure.starts_with('/') ? "" : "/valid/") + table.measure);
    const bool there = run.result.contains(place) && run.result.at(place).is_number();
    result.push_back(there                  ? run.result.at(place).get<double>() - cell.floor
                     : table.more_is_better ? -kInfinity
                                            : kInfinity);
  }
  return result;
}

std::string Reproducing::shown(const Reproduction& table, double value) const {
  if (!std::isfinite(value)) return "diverged";
  return table.percent ? fmt::format("{:.2f}", 100 * value) : fmt::format("{:.4g}", value);
}

/// Returns the command that generates the page.
std::string Reproducing::own_command() const {
  std::string command = fmt::format("unfold reproduce {} --scale {}", r_.table, r_.scale);
  if (r_.only) command += fmt::format(" --only '{}'", *r_.only);
  if (r_.minutes) command += fmt::format(" --minutes {}", *r_.minutes);
  if (r_.seeds) command += fmt::format(" --seeds {}", *r_.seeds);
  if (r_.finished) command += " --finished";
  return command;
}

std::string Reproducing::solved_text(const Section& section) const {
  const Reproduction& table = *section.table;
  if (table.compares) return "";
  const std::vector<const ReproductionColumn*> columns = section.columns();
  const bool each_its_own =
      std::ranges::any_of(columns, [](const auto* column) { return column->success.has_value(); });
  const bool above_floors = std::ranges::any_of(columns, [](const auto* column) { return !column->floor.empty(); });
  std::string each;
  for (const ReproductionColumn* column : columns) {
    const Cell& cell = *std::ranges::find(section.cells, column, &Cell::column);
    each += fmt::format("{} {} {}", each.empty() ? "" : ",", column->label,
                        above_floors ? fmt::format("{:.5g} (the source {:.5g})", cell.success, cell.floor)
                                     : shown(table, cell.success));
  }
  if (above_floors)
    return fmt::format("Excess over the score of the text source itself; largest excess that counts as solved:{}.",
                       each);
  if (each_its_own) return fmt::format("Solved {}:{}.", table.more_is_better ? "from" : "up to", each);
  return fmt::format("A problem counts as solved at {} {}.", shown(table, table.success.value_or(0)),
                     table.more_is_better ? "at least" : "at most");
}

/// Duration of the runs that did not diverge, until they reached the goal or used up the budget.
std::string median_seconds(const Cell& cell) {
  std::vector<double> seconds;
  for (const Run& run : cell.runs)
    if (run.result.contains("seconds")) seconds.push_back(run.result.at("seconds").get<double>());
  return seconds.empty() ? "-" : fmt::format("{:.3g}", quartiles(seconds).median);
}

TextTable Reproducing::summary(const Reproduction& table, const std::vector<Cell>& cells) const {
  TextTable result{{"problem", "method", "ours: median", "quartiles", "seconds", "theirs"}, {}};
  if (!table.compares) result.heading.insert(result.heading.end(), {"solved", "verdict"});
  for (const Cell& cell : cells) {
    const std::vector<double> found = values(table, cell);
    const auto succeeds = [&](double x) {
      return table.more_is_better ? std::isfinite(x) && x >= cell.success : x <= cell.success;
    };
    const auto solved = std::count_if(found.begin(), found.end(), succeeds);
    const Quartiles q = quartiles(found);
    const auto published = cell.row->published.find(cell.column->label);
    result.rows.push_back({cell.column->label, cell.row->label, shown(table, q.median),
                           shown(table, q.lower) + " - " + shown(table, q.upper), median_seconds(cell),
                           published == cell.row->published.end() ? "-" : published->second});
    if (table.compares) continue;
    result.rows.back().push_back(fmt::format("{} of {}", solved, found.size()));
    result.rows.back().push_back(succeeds(q.median) ? "solved" : "not solved");
  }
  return result;
}

/// Paired differences between each row and the first row of its column, for cells that share at least two seeds.
TextTable Reproducing::differences(const Reproduction& table, const std::vector<Cell>& cells) const {
  TextTable result{
      {"problem", "method", "mean", "deviation", "difference from the first row", "standard error of the difference"},
      {}};
  const Cell* first = nullptr;
  for (const Cell& cell : cells) {
    if (first == nullptr || first->column != cell.column) first = &cell;
    const std::vector<double> all = values(table, cell), of_first = values(table, *first);
    std::vector<double> own, above;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < of_first.size(); ++j)
        if (cell.runs[i].seed == first->runs[j].seed && std::isfinite(all[i]) && std::isfinite(of_first[j]))
          own.push_back(all[i]), above.push_back(all[i] - of_first[j]);
    if (own.size() < 2) continue;
    const MeanAndSpread spread = mean_and_spread(own), difference = mean_and_spread(above);
    result.rows.push_back({cell.column->label, cell.row->label, shown(table, spread.mean),
                           shown(table, spread.deviation), &cell == first ? "" : shown(table, difference.mean),
                           &cell == first ? "" : shown(table, difference.error)});
  }
  return result;
}

Json Reproducing::results_json(const std::vector<Section>& sections) const {
  Json list = Json::array();
  for (const Section& section : sections)
    for (const Cell& cell : section.cells) {
      Json runs = Json::array();
      for (const Run& run : cell.runs) runs.push_back(run.result);
      list.push_back({{"problem", cell.column->label},
                      {"method", cell.row->label},
                      {"measure", section.table->measure},
                      {"runs", std::move(runs)}});
    }
  return {{"table", name_}, {"scale", r_.scale}, {"cells", std::move(list)}};
}

constexpr double kLeastAbove = 1e-4;  // lower limit of plotted values above the source's entropy, which by chance may
                                      // be negative

/// Writes the plots of a section and returns the Markdown that shows them.
std::string Reproducing::plots(const Section& section) const {
  const Reproduction& table = *section.table;
  const std::vector<Cell>& cells = section.cells;
  const double factor = table.percent ? 100 : 1, curve_factor = table.curve_text.empty() ? factor : 1;
  const std::string& curve_text = table.curve_text.empty() ? table.measure_text : table.curve_text;
  std::string page;
  for (const ReproductionColumn* column : section.columns()) {
    std::vector<Curve> curves;
    std::vector<Bar> bars;
    for (const Cell& cell : cells) {
      if (cell.column != column) continue;
      std::vector<std::vector<std::pair<double, double>>> runs;
      for (const Run& run : cell.runs) {
        runs.push_back(read_log_curve(RunFolder(run.folder).log(), "validation", table.curve_over, table.curve));
        for (auto& point : runs.back()) {
          point.second = curve_factor * (table.curve_factor * point.second - cell.floor);
          if (cell.floor > 0) point.second = std::max(point.second, kLeastAbove);
        }
      }
      curves.push_back({cell.row->label, join_curves(runs)});
      Quartiles q = quartiles(values(table, cell));
      const auto shown_value = [&](double value) { return std::max(0.0, factor * value); };  // may be negative by
                                                                                             // chance
      bars.push_back({cell.row->label, {shown_value(q.lower), shown_value(q.median), shown_value(q.upper)}});
    }
    const std::string name = slug(column->label);
    page += fmt::format("\n### {}\n\n", column->label);
    if (bars.size() > 1) {  // a single bar would only repeat the table
      write_file_atomically(fmt::format("{}/{}.svg", r_.out, name), bar_plot(column->label, table.measure_text, bars));
      page += fmt::format("![{}]({}.svg) ", column->label, name);
    }
    // If rows are only compared with each other, their losses have different units, so only plots over epochs are
    // meaningful.
    const bool by_time = table.curve_over == "seconds";
    if (!(table.compares && by_time) &&
        std::ranges::any_of(curves, [](const Curve& curve) { return curve.points.size() > 1; })) {
      write_file_atomically(fmt::format("{}/{}-curves.svg", r_.out, name),
                            line_plot(column->label, {table.curve_over, by_time}, {curve_text}, curves));
      page += fmt::format("![{}: learning]({}-curves.svg)", column->label, name);
    }
    page += "\n";
  }
  return page;
}

/// Returns the output of the command of the appendix; with --finished, that of its last call. A failure does not affect
/// the other results, so it is stated on the page.
std::string Reproducing::appendix(const Reproduction& table) const {
  if (table.appendix.empty()) return "";
  const std::vector<std::string> command =
      with_place(table, table.line, "appendix", [&] { return fill_in(table.appendix, table.values, paths()); });
  const std::string record = fmt::format("{}/data/{}-appendix.md", r_.out, slug(table.title));
  const auto missing = [&](const std::string& why) {
    reporter_.warn(fmt::format("{}: the page has no appendix: {}", table.title, why));
    return fmt::format("\nThe appendix is missing. Its command is `{}`.\n", command_line(command));
  };
  if (r_.finished)
    return std::filesystem::exists(record) ? "\n" + read_file(record) : missing("its command has not been run");
  try {
    const std::string text = run_program(command, reporter_);
    std::filesystem::create_directories(r_.out + "/data");
    write_file_atomically(record, text);
    return "\n" + text;
  } catch (const RuntimeFailure& error) {
    return missing(error.what());
  }
}

void Reproducing::write_files(const std::vector<Section>& sections) const {
  double seconds = 0;
  std::string body, commands;
  for (const Section& section : sections)
    for (const ReproductionColumn* column : section.columns())
      for (const auto& command : prepare_commands(section, *column)) commands += command_line(command) + "\n";
  for (const Section& section : sections) {
    const Reproduction& table = *section.table;
    const std::vector<Cell>& cells = section.cells;
    body += fmt::format("\n## {}\n\n{}Scale {}: {}; median and quartiles of {} runs per cell. {}\n\n", table.title,
                        table.source.empty() ? "" : table.source + ". ", r_.scale, table.measure_text,
                        cells.front().runs.size(), solved_text(section));
    body += to_markdown(summary(table, cells));
    if (const TextTable beside = differences(table, cells); beside.rows.size() > 1)
      body += "\nSeed by seed:\n\n" + to_markdown(beside);
    body += plots(section);
    body += appendix(table);
    for (const Cell& cell : cells) {
      for (const Run& run : cell.runs) seconds += run.result.value("seconds", 0.0);
      commands += cell.runs.front().result.value("command", "");
      if (cell.runs.size() > 1) commands += fmt::format("  # likewise for seeds 2 to {}", cell.runs.size());
      commands += "\n";
    }
  }
  const std::string page = fmt::format(
      "# Reproduced: {}\n\nCreated by `{}`: {:.0f} s of training, threads: {}, {}.\n{}\n## Commands\n\n```sh\n{}```\n",
      name_, own_command(), seconds, threads(), simd_name(), body, commands);
  write_file_atomically(r_.out + "/" + name_ + ".md", page);
  write_file_atomically(r_.out + "/" + name_ + ".json", results_json(sections).dump(2) + "\n");
}

void Reproducing::keep_finished(std::vector<Section>& sections) const {
  for (Section& section : sections) {
    for (Cell& cell : section.cells) std::erase_if(cell.runs, [&](Run& run) { return !finished(run); });
    std::erase_if(section.cells, [](const Cell& cell) { return cell.runs.empty(); });
  }
  std::erase_if(sections, [](const Section& section) { return section.cells.empty(); });
  if (sections.empty()) throw UsageError(fmt::format("--finished: no run of {} is finished in {}", name_, r_.out));
}

WorkPiece Reproducing::piece_of(const Cell& cell, Run& run) const {
  return {.name = fmt::format("{}: {}", cell.column->label, cell.row->label),
          .claim = run.folder + ".claim",
          .is_done = [this, &run] { return finished(run); },
          .do_it = [this, &run](Reporter& reporter) { carry_out(run, reporter); }};
}

void Reproducing::carry_out(std::vector<Section>& sections) const {
  // Runs that others start from come first. The rest is ordered by seed, so that partial results include all rows.
  for (const bool starts : {false, true}) {
    std::vector<WorkPiece> pieces;
    std::size_t most = 0;
    for (const Section& section : sections)
      for (const Cell& cell : section.cells) most = std::max(most, cell.runs.size());
    for (std::size_t seed = 0; seed < most; ++seed)
      for (Section& section : sections)
        for (Cell& cell : section.cells)
          if (seed < cell.runs.size() && cell.row->starts_from_first() == starts)
            pieces.push_back(piece_of(cell, cell.runs[seed]));
    if (!pieces.empty()) do_work(pieces, {.jobs = r_.jobs, .processes = r_.processes}, reporter_);
  }
}

/// Returns the commands of the files and of the runs, in the order in which they are run.
std::vector<std::string> Reproducing::commands(const std::vector<Section>& sections) const {
  std::vector<std::string> result;
  for (const Section& section : sections)
    for (const ReproductionColumn* column : section.columns())
      for (const auto& command : prepare_commands(section, *column)) result.push_back(command_line(command));
  for (const Section& section : sections)
    for (const Cell& cell : section.cells)
      for (const Run& run : cell.runs) result.push_back(command_of(run));
  return result;
}

ReproduceOutcome Reproducing::run() {
  if (r_.out.empty()) throw UsageError("reproduce needs --out DIR, the folder for runs and results");
  std::vector<Section> sections = plan();
  if (r_.list) return {.commands = commands(sections), .page = {}, .results_file = {}};
  if (r_.finished) keep_finished(sections);
  prepare(sections);
  carry_out(sections);
  if (all().first()) write_files(sections);
  ReproduceOutcome outcome{.page = fmt::format("{}/{}.md", r_.out, name_),
                           .results_file = fmt::format("{}/{}.json", r_.out, name_)};
  for (const Section& section : sections) outcome.tables.push_back(summary(*section.table, section.cells));
  return outcome;
}

}  // namespace

ReproduceOutcome reproduce(const ReproduceRequest& request, Reporter& reporter) {
  return Reproducing(request, reporter).run();
}

}  // namespace unfold
