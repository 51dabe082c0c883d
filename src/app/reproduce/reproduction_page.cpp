#include "app/reproduce/reproduction_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/common/program.h"
#include "app/plots/plot.h"
#include "app/plots/statistics.h"
#include "app/plots/training_curve.h"
#include "model/registry/run_folder.h"
#include "numerics/simd.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the measure of every run; the worst possible value for failed runs.
std::vector<double> measures(const Reproduction& table, const PlannedCell& cell) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> result;
  for (const PlannedRun& run : cell.runs) {
    const Json::json_pointer place((table.measure.starts_with('/') ? "" : "/valid/") + table.measure);
    const bool there = run.result.contains(place) && run.result.at(place).is_number();
    result.push_back(there                  ? run.result.at(place).get<double>() - cell.floor
                     : table.more_is_better ? -kInfinity
                                            : kInfinity);
  }
  return result;
}

std::string shown_measure(const Reproduction& table, double value) {
  if (!std::isfinite(value)) return "diverged";
  return table.percent ? fmt::format("{:.2f}", 100 * value) : fmt::format("{:.4g}", value);
}

/// Returns the command that generates the page.
std::string own_command(const ReproduceRequest& request) {
  std::string command = fmt::format("unfold reproduce {} --scale {}", request.table, request.scale);
  if (request.only) command += fmt::format(" --only '{}'", *request.only);
  if (request.minutes) command += fmt::format(" --minutes {}", *request.minutes);
  if (request.seeds) command += fmt::format(" --seeds {}", *request.seeds);
  if (request.finished) command += " --finished";
  return command;
}

std::string solved_text(const PlannedTable& section) {
  const Reproduction& table = *section.table;
  if (table.compares) return "";
  const std::vector<const ReproductionColumn*> columns = section.columns();
  const bool each_its_own =
      std::ranges::any_of(columns, [](const auto* column) { return column->success.has_value(); });
  const bool above_floors = std::ranges::any_of(columns, [](const auto* column) { return !column->floor.empty(); });
  std::string each;
  for (const ReproductionColumn* column : columns) {
    const PlannedCell& cell = *std::ranges::find(section.cells, column, &PlannedCell::column);
    each += fmt::format("{} {} {}", each.empty() ? "" : ",", column->label,
                        above_floors ? fmt::format("{:.5g} (the source {:.5g})", cell.success, cell.floor)
                                     : shown_measure(table, cell.success));
  }
  if (above_floors)
    return fmt::format("Excess over the score of the text source itself; largest excess that counts as solved:{}.",
                       each);
  if (each_its_own) return fmt::format("Solved {}:{}.", table.more_is_better ? "from" : "up to", each);
  return fmt::format("A problem counts as solved at {} {}.", shown_measure(table, table.success.value_or(0)),
                     table.more_is_better ? "at least" : "at most");
}

/// Duration of the runs that did not diverge, until they reached the goal or used up the budget.
std::string median_seconds(const PlannedCell& cell) {
  std::vector<double> seconds;
  for (const PlannedRun& run : cell.runs)
    if (run.result.contains("seconds")) seconds.push_back(run.result.at("seconds").get<double>());
  return seconds.empty() ? "-" : fmt::format("{:.3g}", quartiles(seconds).median);
}

}  // namespace

TextTable summary_table(const PlannedTable& planned) {
  const Reproduction& table = *planned.table;
  TextTable result{{"problem", "method", "ours: median", "quartiles", "seconds", "theirs"}, {}};
  if (!table.compares) result.heading.insert(result.heading.end(), {"solved", "verdict"});
  for (const PlannedCell& cell : planned.cells) {
    const std::vector<double> found = measures(table, cell);
    const auto succeeds = [&](double x) {
      return table.more_is_better ? std::isfinite(x) && x >= cell.success : x <= cell.success;
    };
    const auto solved = std::count_if(found.begin(), found.end(), succeeds);
    const Quartiles q = quartiles(found);
    const auto published = cell.row->published.find(cell.column->label);
    result.rows.push_back({cell.column->label, cell.row->label, shown_measure(table, q.median),
                           shown_measure(table, q.lower) + " - " + shown_measure(table, q.upper), median_seconds(cell),
                           published == cell.row->published.end() ? "-" : published->second});
    if (table.compares) continue;
    result.rows.back().push_back(fmt::format("{} of {}", solved, found.size()));
    result.rows.back().push_back(succeeds(q.median) ? "solved" : "not solved");
  }
  return result;
}

namespace {

/// Paired differences between each row and the first row of its column, for cells that share at least two seeds.
TextTable seed_differences(const PlannedTable& planned) {
  const Reproduction& table = *planned.table;
  TextTable result{
      {"problem", "method", "mean", "deviation", "difference from the first row", "standard error of the difference"},
      {}};
  const PlannedCell* first = nullptr;
  for (const PlannedCell& cell : planned.cells) {
    if (first == nullptr || first->column != cell.column) first = &cell;
    const std::vector<double> all = measures(table, cell), of_first = measures(table, *first);
    std::vector<double> own, above;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < of_first.size(); ++j)
        if (cell.runs[i].seed == first->runs[j].seed && std::isfinite(all[i]) && std::isfinite(of_first[j]))
          own.push_back(all[i]), above.push_back(all[i] - of_first[j]);
    if (own.size() < 2) continue;
    const MeanAndSpread spread = mean_and_spread(own), difference = mean_and_spread(above);
    result.rows.push_back({cell.column->label, cell.row->label, shown_measure(table, spread.mean),
                           shown_measure(table, spread.deviation),
                           &cell == first ? "" : shown_measure(table, difference.mean),
                           &cell == first ? "" : shown_measure(table, difference.error)});
  }
  return result;
}

/// Writes the page of a plan whose runs have results.
class PageWriter {
 public:
  PageWriter(const ReproduceRequest& request, const ReproductionPlan& plan, Reporter& reporter)
      : r_(request), plan_(plan), reporter_(reporter) {}
  void write_files(Index threads) const;

 private:
  Json results_json() const;
  std::string plots(const PlannedTable& section) const;
  std::string appendix(const Reproduction& table) const;

  const ReproduceRequest& r_;
  const ReproductionPlan& plan_;
  Reporter& reporter_;
};

Json PageWriter::results_json() const {
  Json list = Json::array();
  for (const PlannedTable& section : plan_.tables())
    for (const PlannedCell& cell : section.cells) {
      Json runs = Json::array();
      for (const PlannedRun& run : cell.runs) runs.push_back(run.result);
      list.push_back({{"problem", cell.column->label},
                      {"method", cell.row->label},
                      {"measure", section.table->measure},
                      {"runs", std::move(runs)}});
    }
  return {{"table", plan_.name()}, {"scale", r_.scale}, {"cells", std::move(list)}};
}

constexpr double kLeastAbove = 1e-4;  // lower limit of plotted values above the source's entropy, which by chance may
                                      // be negative

/// Writes the plots of a section and returns the Markdown that shows them.
std::string PageWriter::plots(const PlannedTable& section) const {
  const Reproduction& table = *section.table;
  const std::vector<PlannedCell>& cells = section.cells;
  const double factor = table.percent ? 100 : 1, curve_factor = table.curve_text.empty() ? factor : 1;
  const std::string& curve_text = table.curve_text.empty() ? table.measure_text : table.curve_text;
  std::string page;
  for (const ReproductionColumn* column : section.columns()) {
    std::vector<Curve> curves;
    std::vector<Bar> bars;
    for (const PlannedCell& cell : cells) {
      if (cell.column != column) continue;
      std::vector<std::vector<std::pair<double, double>>> runs;
      for (const PlannedRun& run : cell.runs) {
        runs.push_back(read_log_curve(RunFolder(run.folder).log(), "validation", table.curve_over, table.curve));
        for (auto& point : runs.back()) {
          point.second = curve_factor * (table.curve_factor * point.second - cell.floor);
          if (cell.floor > 0) point.second = std::max(point.second, kLeastAbove);
        }
      }
      curves.push_back({cell.row->label, join_curves(runs)});
      Quartiles q = quartiles(measures(table, cell));
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
std::string PageWriter::appendix(const Reproduction& table) const {
  if (table.appendix.empty()) return "";
  const std::vector<std::string> command =
      with_place(table, table.line, "appendix", [&] { return fill_in(table.appendix, table.values, plan_.paths()); });
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

void PageWriter::write_files(Index threads) const {
  double seconds = 0;
  std::string body, commands;
  for (const PlannedTable& section : plan_.tables())
    for (const ReproductionColumn* column : section.columns())
      for (const auto& command : plan_.prepare_commands(section, *column)) commands += command_line(command) + "\n";
  for (const PlannedTable& section : plan_.tables()) {
    const Reproduction& table = *section.table;
    const std::vector<PlannedCell>& cells = section.cells;
    body += fmt::format("\n## {}\n\n{}Scale {}: {}; median and quartiles of {} runs per cell. {}\n\n", table.title,
                        table.source.empty() ? "" : table.source + ". ", r_.scale, table.measure_text,
                        cells.front().runs.size(), solved_text(section));
    body += to_markdown(summary_table(section));
    if (const TextTable beside = seed_differences(section); beside.rows.size() > 1)
      body += "\nSeed by seed:\n\n" + to_markdown(beside);
    body += plots(section);
    body += appendix(table);
    for (const PlannedCell& cell : cells) {
      for (const PlannedRun& run : cell.runs) seconds += run.result.value("seconds", 0.0);
      commands += cell.runs.front().result.value("command", "");
      if (cell.runs.size() > 1) commands += fmt::format("  # likewise for seeds 2 to {}", cell.runs.size());
      commands += "\n";
    }
  }
  const std::string page = fmt::format(
      "# Reproduced: {}\n\nCreated by `{}`: {:.0f} s of training, threads: {}, {}.\n{}\n## Commands\n\n```sh\n{}```\n",
      plan_.name(), own_command(r_), seconds, threads, simd_name(), body, commands);
  write_file_atomically(r_.out + "/" + plan_.name() + ".md", page);
  write_file_atomically(r_.out + "/" + plan_.name() + ".json", results_json().dump(2) + "\n");
}

}  // namespace

void write_reproduction_page(const ReproduceRequest& request, const ReproductionPlan& plan, Index threads,
                             Reporter& reporter) {
  PageWriter(request, plan, reporter).write_files(threads);
}

}  // namespace unfold
