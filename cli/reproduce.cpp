#include "app/reproduce/reproduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/in_processes.h"
#include "cli/shared_options.h"

namespace unfold {
namespace {

class Reproduce final : public Verb {
 public:
  Reproduce();
  ExitCode run(Console& console) override;

 private:
  std::vector<std::string> table_;
  ReproduceRequest request_;
};

Reproduce::Reproduce()
    : Verb(CommandOptions(
          "reproduce", "reproduces a table of published results: prints our results, the published ones and a verdict",
          {"unfold reproduce long-range --scale small --out long-range",
           "unfold reproduce long-range --scale full --only 'adding 100' --seeds 1 --out adding"})) {
  options_.add_inputs({.name = "table",
                       .target = &table_,
                       .placeholder = "TABLE",
                       .help = "a TOML file (docs/reproduce.md), or the name of a file in bench/tables of the current "
                               "directory: long-range, riemannian, path, ..."});
  options_.add({.name = "out",
                .target = &request_.out,
                .placeholder = "DIR",
                .help = "folder for the runs and results (required); finished runs in it are not repeated",
                .letter = "o",
                .file = FileUse::filled});
  options_.add({.name = "scale",
                .target = &request_.scale,
                .placeholder = "SCALE",
                .help = "small (minutes) or full (hours)",
                .choices = {"small", "full"}});
  options_.add({.name = "only",
                .target = &request_.only,
                .placeholder = "TEXT",
                .help = "only rows and columns with TEXT in \"ROW / COLUMN\""});
  options_.add({.name = "minutes",
                .target = &request_.minutes,
                .placeholder = "N",
                .help = "minutes per run",
                .least = 0.001,
                .default_text = "depends on --scale"});
  options_.add({.name = "seeds",
                .target = &request_.seeds,
                .placeholder = "N",
                .help = "runs per cell",
                .least = 1,
                .most = 1000,
                .default_text = "depends on --scale"});
  options_.add(jobs_row(request_.jobs));
  options_.add({.name = "list", .target = &request_.list, .help = "run nothing; print the commands"});
  options_.add({.name = "finished",
                .target = &request_.finished,
                .help = "run nothing; create the page from the finished runs in DIR"});
  add_threads();
  add_common();
}

ExitCode Reproduce::run(Console& console) {
  request_.table = table_.front();
  request_.threads = threads_;
  const auto outcome = in_processes_or_jobs(request_, console, reproduce);
  if (!outcome) return ExitCode::success;
  if (request_.list) {
    print_result(json_ ? one_line({{"commands", outcome->commands}})
                       : fmt::format("{}\n", fmt::join(outcome->commands, "\n")));
    return ExitCode::success;
  }
  if (json_) {
    print_results(outcome->results_file);
    return ExitCode::success;
  }
  for (const TextTable& table : outcome->tables) print_result(to_text(table));
  print_result(fmt::format("\nThe page is {}\n", outcome->page));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_reproduce() { return std::make_unique<Reproduce>(); }

}  // namespace unfold
