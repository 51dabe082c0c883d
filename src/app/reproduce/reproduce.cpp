#include "app/reproduce/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/common/program.h"
#include "app/common/work_distribution.h"
#include "app/reproduce/reproduction_page.h"
#include "app/reproduce/reproduction_plan.h"
#include "app/sweep/run_settings_record.h"
#include "app/train/setup/train_processes.h"
#include "base/formats/trusted_json.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using Json = nlohmann::ordered_json;

/// State of one call of reproduce.
class Reproducing {
 public:
  Reproducing(const ReproduceRequest& request, Reporter& reporter)
      : r_(request), reporter_(reporter), plan_(request, reporter) {}
  ReproduceOutcome run();

 private:
  std::optional<std::string> prepare(const PlannedTable& section, const ReproductionColumn& column) const;
  void prepare();
  bool finished(PlannedRun& run) const;
  Processes& all() const { return r_.processes != nullptr ? *r_.processes : single_process(); }
  Index threads() const;
  void carry_out(const PlannedRun& run, Reporter& reporter) const;
  WorkPiece piece_of(const PlannedCell& cell, PlannedRun& run) const;
  void carry_out();
  void keep_finished();

  const ReproduceRequest& r_;
  Reporter& reporter_;
  ReproductionPlan plan_;
};

/// Runs the commands of a column and records them next to its files; they are not repeated as long as they stay the
/// same. Returns the output of the last one, if they have been run.
std::optional<std::string> Reproducing::prepare(const PlannedTable& section, const ReproductionColumn& column) const {
  const std::string record = plan_.made_stem(column) + ".prepared";
  const std::vector<std::vector<std::string>> commands = plan_.prepare_commands(section, column);
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
void Reproducing::prepare() {
  if (!all().first()) all().any(false);  // barrier: the first process has written the files
  for (PlannedTable& section : plan_.tables())
    for (const ReproductionColumn* column : section.columns()) {
      const std::optional<std::string> output = prepare(section, *column);
      if (column->floor.empty()) continue;
      const double floor = floor_in(output, *section.table, *column);
      for (PlannedCell& cell : section.cells) {
        if (cell.column != column) continue;
        cell.floor = floor;
        if (!column->success && section.table->success_of_floor)
          cell.success = *section.table->success_of_floor * floor;
      }
    }
  if (all().first()) all().any(false);
}

/// Reads the result of a run, if it exists and has the same command; otherwise returns false.
bool Reproducing::finished(PlannedRun& run) const {
  const Json old = try_parse_trusted_json_file(run.folder + "/result.json");
  if (!old.is_object() || text_under(old, "command") != run.command()) return false;
  run.result = old;
  return true;
}

/// Concurrent runs share the processors.
Index Reproducing::threads() const {
  if (r_.threads > 0) return r_.threads;
  return std::max(1, threads_of_process(0, all()) / static_cast<int>(std::max<Index>(1, r_.jobs)));
}

/// Trains a run, or resumes it if it was interrupted with the same command.
void Reproducing::carry_out(const PlannedRun& run, Reporter& reporter) const {
  TrainRequest request = train_request(run.arguments);
  request.out = run.folder;
  request.run.threads = threads();
  request.given.emplace("threads");
  (can_resume(run.folder, run.command()) ? request.resume : request.overwrite) = true;
  Json result;
  try {
    result =
        parse_trusted_json(to_json(train(request, reporter)).dump(), "result");  // formatted like the output of --json
  } catch (const DivergedError& error) {
    result = {{"failed", error.what()}};
  } catch (const InterruptedError&) {
    throw InterruptedError(fmt::format("interrupted in {}; run the same command again to continue", run.folder));
  }
  result["command"] = run.command();
  write_file_atomically(run.folder + "/result.json", result.dump(2) + "\n");
}

void Reproducing::keep_finished() {
  for (PlannedTable& section : plan_.tables()) {
    for (PlannedCell& cell : section.cells) std::erase_if(cell.runs, [&](PlannedRun& run) { return !finished(run); });
    std::erase_if(section.cells, [](const PlannedCell& cell) { return cell.runs.empty(); });
  }
  std::erase_if(plan_.tables(), [](const PlannedTable& section) { return section.cells.empty(); });
  if (plan_.tables().empty())
    throw UsageError(fmt::format("--finished: no run of {} is finished in {}", plan_.name(), r_.out));
}

WorkPiece Reproducing::piece_of(const PlannedCell& cell, PlannedRun& run) const {
  return {.name = fmt::format("{}: {}", cell.column->label, cell.row->label),
          .claim = run.folder + ".claim",
          .is_done = [this, &run] { return finished(run); },
          .do_it = [this, &run](Reporter& reporter) { carry_out(run, reporter); }};
}

void Reproducing::carry_out() {
  // Runs that others start from come first. The rest is ordered by seed, so that partial results include all rows.
  for (const bool starts : {false, true}) {
    std::vector<WorkPiece> pieces;
    std::size_t most = 0;
    for (const PlannedTable& section : plan_.tables())
      for (const PlannedCell& cell : section.cells) most = std::max(most, cell.runs.size());
    for (std::size_t seed = 0; seed < most; ++seed)
      for (PlannedTable& section : plan_.tables())
        for (PlannedCell& cell : section.cells)
          if (seed < cell.runs.size() && cell.row->starts_from_first() == starts)
            pieces.push_back(piece_of(cell, cell.runs[seed]));
    if (!pieces.empty()) do_work(pieces, {.jobs = r_.jobs, .processes = r_.processes}, reporter_);
  }
}

ReproduceOutcome Reproducing::run() {
  if (r_.list) return {.commands = plan_.commands(), .page = {}, .results_file = {}};
  if (r_.finished) keep_finished();
  prepare();
  carry_out();
  if (all().first()) write_reproduction_page(r_, plan_, threads(), reporter_);
  ReproduceOutcome outcome{.page = fmt::format("{}/{}.md", r_.out, plan_.name()),
                           .results_file = fmt::format("{}/{}.json", r_.out, plan_.name())};
  for (const PlannedTable& planned : plan_.tables()) outcome.tables.push_back(summary_table(planned));
  return outcome;
}

}  // namespace

ReproduceOutcome reproduce(const ReproduceRequest& request, Reporter& reporter) {
  if (request.out.empty()) throw UsageError("reproduce needs --out DIR, the folder for runs and results");
  return Reproducing(request, reporter).run();
}

}  // namespace unfold
