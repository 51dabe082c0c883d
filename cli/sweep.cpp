#include "app/sweep/sweep.h"

#include <fmt/format.h>

#include "cli/in_processes.h"
#include "cli/shared_options.h"
#include "cli/train_options.h"

namespace unfold {
namespace {

class Sweep final : public Verb {
 public:
  Sweep();
  ExitCode run(Console& console) override;

 private:
  SweepRequest request_;
};

Sweep::Sweep()
    : Verb(CommandOptions(
          "sweep", "trains on a grid of settings with several seeds and prints a table of results",
          {"unfold sweep book.txt --grid 'rate=1e-3,3e-3;units=128,256' --seeds 5 --minutes 1 --out sweep",
           "unfold sweep book.txt --grid 'model=lstm:64,layers=2|gru:128' --epochs 2 --jobs 2 --out cells",
           "mpirun -n 4 unfold sweep book.txt --grid 'batch=8,32' --seeds 2 --steps 500 --out sweep"})) {
  options_.add({.name = "grid",
                .target = &request_.grid,
                .placeholder = "GRID",
                .help = "settings and their values (required): options of train by name, units of the model, options "
                        "of the SPEC of the optimizer or the model",
                .group = OptionGroup::training,
                .common = true});
  options_.add({.name = "seeds",
                .target = &request_.seeds,
                .placeholder = "N",
                .help = "runs per grid point, with seeds from --seed upward",
                .least = 1,
                .most = 10000,
                .group = OptionGroup::training,
                .common = true});
  options_.add(jobs_row(request_.jobs));
  options_.add(
      {.name = "measure",
       .target = &request_.measure,
       .placeholder = "PLACE",
       .help = "the metric of the table, as a path in the output of train --json, for example valid/perplexity",
       .default_text = "error rate, error or bits, whichever exists",
       .group = OptionGroup::output,
       .common = true});
  add_train_options(options_, request_.base);
  add_unpacking_limit();
  add_key();
  add_common();
}

ExitCode Sweep::run(Console& console) {
  if (request_.grid.empty()) throw UsageError("sweep needs --grid, for example --grid 'rate=1e-3,3e-3;units=128,256'");
  if (request_.base.resume || request_.base.overwrite)
    throw UsageError(
        "sweep always resumes the runs in --out; leave out --resume and --overwrite, or choose a different --out");
  take_given(options_, request_.base);
  const auto outcome = in_processes_or_jobs(request_, console, sweep);
  if (!outcome) return ExitCode::success;
  if (json_) {
    print_results(outcome->results_file);
    return ExitCode::success;
  }
  print_result(to_text(outcome->table));
  print_result(
      fmt::format("\n{}; best: {}\nThe runs are in {}\n", outcome->measure, outcome->best, outcome->results_file));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_sweep() { return std::make_unique<Sweep>(); }

}  // namespace unfold
