#pragma once
/// Reproduces tables of published results (reproduction.h). The output compares measured with published results, as
/// tables and as a page.

#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/plots/table.h"
#include "unfold/distributed/processes.h"

namespace unfold {

struct ReproduceRequest {
  std::string table;                     ///< a TOML file, or a name in bench/tables (find_reproduction)
  std::string out;                       ///< folder for runs and results; finished runs in it are not repeated
  std::string scale = "small";           ///< "small" (minutes) or "full" (hours)
  std::optional<std::string> only = {};  ///< only cells that contain this text in "ROW / COLUMN"
  std::optional<double> minutes = {};    ///< minutes per run, instead of the budget of the scale
  std::optional<Index> seeds = {};       ///< runs per cell, instead of the number of the scale
  bool list = false;                     ///< only return the commands
  bool finished = false;                 ///< run nothing; create the page from finished runs
  Index threads = 0;                     ///< threads per run; 0: all available processors
  Index jobs = 1;                        ///< number of runs in parallel, each in its own process (work.h)
  Processes* processes = nullptr;        ///< all processes of mpirun, which call this function together; the first one
                                         ///< writes the page
};

struct ReproduceOutcome {
  std::vector<std::string> commands = {};  ///< with `list`: the commands that prepare files, then those of the runs
  std::vector<TextTable> tables = {};      ///< problem, method, measured and published result, solved runs, verdict
  std::string page;                        ///< Markdown file; its plots are in the same folder
  std::string results_file;                ///< JSON file with the results of all runs
};
/// Runs the table. After InterruptedError, the same request resumes. Throws UsageError, DataError, InterruptedError,
/// RuntimeFailure.
ReproduceOutcome reproduce(const ReproduceRequest& request, Reporter& reporter);

}  // namespace unfold
