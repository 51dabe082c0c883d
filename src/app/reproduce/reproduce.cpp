#include "app/reproduce/reproduce.h"
#include "base/formats/trusted_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/common/work_distribution.h"
#include "app/plots/plot.h"
#include "app/plots/statistics.h"
#include "app/plots/training_curve.h"
#include "app/reproduce/reproduction.h"
#include "app/sweep/run_settings_record.h"
#include "app/train/setup/train_processes.h"
#include "app/train/train.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "data/tasks/text_source_spec.h"
#include "model/registry/run_folder.h"
#include "numerics/simd.h"
#include "unfold/base/formats/file.h"

namespace unfold {

std::string data_folder() {
  const char* folder = std::getenv("UNFOLD_DATA");
  return folder != nullptr ? folder : "../shared/data";
}

namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
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
  const Variant *row, *column;
  std::vector<Run> runs;
  double floor = 0;    ///< subtracted from the measure of every run
  double success = 0;  ///< threshold for the measure after this subtraction
};

/// One table of the page.
struct Section {
  const Reproduction* table;
  std::vector<Cell> cells;
};

using NamedTexts = std::vector<std::pair<std::string, std::string>>;
constexpr std::string_view kStart = "{start}";

std::string filled_in(std::string text, const NamedTexts& values) {
  for (const auto& [name, value] : values)
    for (std::size_t place = text.find(name); place != std::string::npos; place = text.find(name, place + value.size()))
      text.replace(place, name.size(), value);
  return text;
}

/// Returns whether a row starts from the parameters of another row's run.
bool starts_from_another(const Variant& row) { return row.arguments.find(kStart) != std::string::npos; }

/// Training and validation text written for the runs of a column.
struct PreparedText {
  std::vector<std::string> arguments, commands;
  double floor = 0, success = 0;
};

PreparedText prepare(const SourceText& text, const std::string& stem, bool writes) {
  const std::unique_ptr<TextSource> source = make_text_source(text.source);
  PreparedText result;
  const auto write = [&](const std::string& path, std::uint64_t seed, Index units, Index symbols) {
    const GeneratedText made = generate(*source, {.seed = seed, .units = units, .symbols = symbols});
    if (writes) write_file_atomically(path, made.text);
    result.commands.push_back(fmt::format("unfold generate {} {} {} --seed {} -o {}", text.source,
                                          units > 0 ? "--count" : "--size", units > 0 ? units : symbols, seed, path));
    const double own = made.source_bits / static_cast<double>(made.text.size());
    return source->predicted_after() == '\0' ? own : entropy_of_predicted(*source);
  };
  std::filesystem::create_directories(std::filesystem::path(stem).parent_path());
  const std::string training = stem + "-training.txt", valid = stem + "-validation.txt";
  write(training, 1, text.units, text.symbols);
  result.floor = write(valid, 2, text.valid_units, text.valid_symbols);
  result.success = text.solved > 0 ? text.solved : 0.05 * result.floor;
  result.arguments = {training, "--valid", valid};
  if (const char after = source->predicted_after())
    result.arguments.insert(result.arguments.end(), {"--predict-after", {after}});
  return result;
}

/// State of one call of reproduce.
class Reproducing {
 public:
  Reproducing(const ReproduceRequest& request, Reporter& reporter) : r_(request), reporter_(reporter) {}
  ReproduceOutcome run();

 private:
  std::vector<Section> plan();
  std::vector<Cell> plan(const Reproduction& table);
  bool is_wanted(const Reproduction& table, const Variant& row, const Variant& column) const;
  void make_files(const std::vector<Cell>& cells) const;
  std::vector<std::string> arguments_of(const Variant& row, const Variant& column, const ReproductionScale& scale,
                                        Index seed, const std::string& start) const;
  std::string run_folder(const Variant& row, const Variant& column, Index seed) const {
    return fmt::format("{}/runs/{}-{}-{}", r_.out, slug(column.label), slug(row.label), seed);
  }
  std::string made_stem(const Variant& column) const { return fmt::format("{}/data/{}", r_.out, slug(column.label)); }
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
  std::string solved_text(const Reproduction& table) const;
  TextTable summary(const Reproduction& table, const std::vector<Cell>& cells) const;
  TextTable differences(const Reproduction& table, const std::vector<Cell>& cells) const;
  Json results_json(const std::vector<Section>& sections) const;
  std::string plots(const Section& section) const;
  void write_files(const std::vector<Section>& sections) const;

  const ReproduceRequest& r_;
  Reporter& reporter_;
  std::map<const Variant*, PreparedText> texts_;  // prepared texts, by column
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

/// Returns the tables with the requested name whose data is available.
std::vector<Section> Reproducing::plan() {
  std::vector<std::string> names;
  std::vector<Section> sections;
  bool known = false, missing = false;
  for (const Reproduction& table : reproductions()) {
    if (names.empty() || names.back() != table.name) names.push_back(table.name);
    if (table.name != r_.table) continue;
    known = true;
    std::vector<Cell> cells = plan(table);
    if (cells.empty()) continue;
    if (!table.data.empty() && !std::filesystem::exists(data_folder() + "/" + table.data)) {
      reporter_.remark(fmt::format("{}: skipped, because {}/{} does not exist (UNFOLD_DATA names the data folder)",
                                   table.title, data_folder(), table.data));
      missing = true;
    } else {
      make_files(cells);
      sections.push_back({&table, std::move(cells)});
    }
  }
  if (!known)
    throw UsageError(fmt::format("unknown table {}{} (tables: {})", in_quotes(r_.table), did_you_mean(r_.table, names),
                                 fmt::join(names, ", ")));
  if (sections.empty() && missing)
    throw UsageError(
        fmt::format("{}: its data was not found in {}; set UNFOLD_DATA to its folder", r_.table, data_folder()));
  if (sections.empty())
    throw UsageError(
        fmt::format("--only {}: no row or column of {} has this name at this scale", r_.only.value_or(""), r_.table));
  return sections;
}

/// Writes the files that columns prepare from the data sets.
void Reproducing::make_files(const std::vector<Cell>& cells) const {
  const Variant* last = nullptr;
  if (!all().first()) return;
  for (const Cell& cell : cells) {
    if (cell.column == last || cell.column->prepare == nullptr) continue;
    last = cell.column;
    std::filesystem::create_directories(r_.out + "/data");
    cell.column->prepare(data_folder(), made_stem(*cell.column));
  }
}

std::vector<std::string> Reproducing::arguments_of(const Variant& row, const Variant& column,
                                                   const ReproductionScale& scale, Index seed,
                                                   const std::string& start) const {
  std::vector<std::string> arguments;
  if (const auto text = texts_.find(&column); text != texts_.end()) arguments = text->second.arguments;
  const NamedTexts names = {{"{data}", data_folder()},    {"{units}", scale.units},
                            {"{rate}", column.rate},      {"{seed}", std::to_string(seed)},
                            {std::string(kStart), start}, {"{made}", made_stem(column)}};
  const std::string none;
  const std::string& budget = scale.start.empty() || starts_from_another(row) ? scale.budget : scale.start;
  for (const std::string* part : {&column.arguments, &row.arguments, row.fitted ? &none : &budget})
    for (const std::string& word : words_of(filled_in(*part, names))) arguments.push_back(word);
  if (row.fitted) return arguments;
  const auto limit = std::find(arguments.begin(), arguments.end(), "--minutes");
  if (r_.minutes && limit != arguments.end()) arguments.erase(limit, limit + 2);
  if (r_.minutes) arguments.insert(arguments.end(), {"--minutes", fmt::format("{}", *r_.minutes)});
  arguments.insert(arguments.end(), {"--seed", std::to_string(seed)});
  return arguments;
}

/// Applies --only. The first row is also included if a selected row starts from it.
bool Reproducing::is_wanted(const Reproduction& table, const Variant& row, const Variant& column) const {
  const auto named = [&](const Variant& other) {
    return !r_.only || fmt::format("{} / {}", other.label, column.label).find(*r_.only) != std::string::npos;
  };
  if (named(row)) return true;
  return &row == &table.rows.front() && std::ranges::any_of(table.rows, [&](const Variant& other) {
    return starts_from_another(other) && named(other);
  });
}

std::vector<Cell> Reproducing::plan(const Reproduction& table) {
  const ReproductionScale& scale = r_.scale == "small" ? table.small : table.full;
  std::vector<Cell> cells;
  for (const Variant& column : scale.columns) {
    for (const Variant& row : table.rows) {
      if (!is_wanted(table, row, column)) continue;
      if (column.text && !texts_.contains(&column))
        texts_[&column] = prepare(*column.text, made_stem(column), all().first());
      Cell cell{&row, &column, {}, 0, column.success != 0 ? column.success : table.success};
      if (column.text) cell.floor = texts_[&column].floor, cell.success = texts_[&column].success;
      for (Index seed = 1; seed <= (row.fitted ? 1 : r_.seeds.value_or(scale.seeds)); ++seed)
        cell.runs.push_back({arguments_of(row, column, scale, seed, run_folder(table.rows.front(), column, seed)),
                             run_folder(row, column, seed), seed});
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

std::string command_of(const Run& run) { return fmt::format("unfold train {}", fmt::join(run.arguments, " ")); }

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

std::string Reproducing::solved_text(const Reproduction& table) const {
  if (table.compares) return "";
  const bool each_its_own = std::ranges::any_of(r_.scale == "small" ? table.small.columns : table.full.columns,
                                                [](const Variant& column) { return column.success != 0; });
  if (each_its_own) {
    std::string aims;
    for (const Variant& column : (r_.scale == "small" ? table.small : table.full).columns)
      aims += fmt::format("{} {} {}", aims.empty() ? "" : ",", column.label,
                          shown(table, column.success != 0 ? column.success : table.success));
    return fmt::format("Solved {}:{}.", table.more_is_better ? "from" : "up to", aims);
  }
  if (texts_.empty())
    return fmt::format("A problem counts as solved at {} {}.", shown(table, table.success),
                       table.more_is_better ? "at least" : "at most");
  std::string result = "Excess over the score of the text source itself; largest excess that counts as solved:";
  for (const auto& [column, text] : texts_)
    result += fmt::format(" {} {:.5g} (the source {:.5g}),", column->label, text.success, text.floor);
  result.back() = '.';
  return result;
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
    const auto theirs = table.theirs.find({cell.row->label, cell.column->label});
    result.rows.push_back({cell.column->label, cell.row->label, shown(table, q.median),
                           shown(table, q.lower) + " - " + shown(table, q.upper), median_seconds(cell),
                           theirs == table.theirs.end() ? "-" : theirs->second});
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
  return {{"table", r_.table}, {"scale", r_.scale}, {"cells", std::move(list)}};
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
  std::vector<const Variant*> columns;
  for (const Cell& cell : cells)
    if (columns.empty() || columns.back() != cell.column) columns.push_back(cell.column);
  for (const Variant* column : columns) {
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

void Reproducing::write_files(const std::vector<Section>& sections) const {
  double seconds = 0;
  std::string body, commands;
  for (const auto& [column, text] : texts_) commands += fmt::format("{}\n", fmt::join(text.commands, "\n"));
  for (const Section& section : sections) {
    const Reproduction& table = *section.table;
    const std::vector<Cell>& cells = section.cells;
    body += fmt::format("\n## {}\n\n{}. Scale {}: {}; median and quartiles of {} runs per cell. {}\n\n", table.title,
                        table.source, r_.scale, table.measure_text, cells.front().runs.size(), solved_text(table));
    body += to_markdown(summary(table, cells));
    if (const TextTable beside = differences(table, cells); beside.rows.size() > 1)
      body += "\nSeed by seed:\n\n" + to_markdown(beside);
    body += plots(section);
    if (table.appendix != nullptr) body += "\n" + table.appendix();
    for (const Cell& cell : cells) {
      for (const Run& run : cell.runs) seconds += run.result.value("seconds", 0.0);
      commands += cell.runs.front().result.value("command", "");
      if (cell.runs.size() > 1) commands += fmt::format("  # likewise for seeds 2 to {}", cell.runs.size());
      commands += "\n";
    }
  }
  const std::string& name = r_.table;
  const std::string page = fmt::format(
      "# Reproduced: {}\n\nCreated by `{}`: {:.0f} s of training, threads: {}, {}.\n{}\n## Commands\n\n```sh\n{}```\n",
      name, own_command(), seconds, threads(), simd_name(), body, commands);
  write_file_atomically(r_.out + "/" + name + ".md", page);
  write_file_atomically(r_.out + "/" + name + ".json", results_json(sections).dump(2) + "\n");
}

void Reproducing::keep_finished(std::vector<Section>& sections) const {
  for (Section& section : sections) {
    for (Cell& cell : section.cells) std::erase_if(cell.runs, [&](Run& run) { return !finished(run); });
    std::erase_if(section.cells, [](const Cell& cell) { return cell.runs.empty(); });
  }
  std::erase_if(sections, [](const Section& section) { return section.cells.empty(); });
  if (sections.empty()) throw UsageError(fmt::format("--finished: no run of {} is finished in {}", r_.table, r_.out));
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
          if (seed < cell.runs.size() && starts_from_another(*cell.row) == starts)
            pieces.push_back(piece_of(cell, cell.runs[seed]));
    if (!pieces.empty()) do_work(pieces, {.jobs = r_.jobs, .processes = r_.processes}, reporter_);
  }
}

ReproduceOutcome Reproducing::run() {
  if (r_.out.empty()) throw UsageError("reproduce needs --out DIR, the folder for runs and results");
  std::vector<Section> sections = plan();
  all().any(false);  // barrier: the first process has written the data
  if (r_.finished) keep_finished(sections);
  carry_out(sections);
  if (all().first()) write_files(sections);
  ReproduceOutcome outcome{.page = fmt::format("{}/{}.md", r_.out, r_.table),
                           .results_file = fmt::format("{}/{}.json", r_.out, r_.table)};
  for (const Section& section : sections) outcome.tables.push_back(summary(*section.table, section.cells));
  return outcome;
}

}  // namespace

ReproduceOutcome reproduce(const ReproduceRequest& request, Reporter& reporter) {
  return Reproducing(request, reporter).run();
}

}  // namespace unfold
