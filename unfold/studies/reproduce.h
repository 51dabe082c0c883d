#pragma once
/// Runs a table of published results again (reproduction.h): ours, theirs and a verdict, as tables and as a page.

#include <optional>
#include <string>
#include <vector>

#include "unfold/processes/processes.h"
#include "unfold/report/table.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct ReproduceRequest {
  std::string table;            ///< name of those that are run together
  std::string out;              ///< folder of the runs and results; runs that are finished there are not repeated
  std::string scale = "small";  ///< "small" (minutes) or "full" (hours)
  std::optional<std::string> only = {};  ///< only rows and columns with this in "ROW / COLUMN"
  std::optional<double> minutes = {};    ///< of each run, instead of what the scale says
  std::optional<Index> seeds = {};       ///< runs of each cell, instead of what the scale says
  bool finished = false;                 ///< run nothing: make the page of the runs that are finished
  Index threads = 0;                     ///< of each run; 0: every processor available
  Index jobs = 1;                        ///< runs side by side, each in a process of its own (work.h)
  Processes* processes = nullptr;        ///< of mpirun, which all do this; the first writes the page
};

struct ReproduceOutcome {
  std::vector<TextTable> tables = {};  ///< problem, method, ours, theirs, solved, verdict
  std::string page;                    ///< Markdown file, with its plots beside it
  std::string results_file;            ///< JSON file with the results of every run
};
/// Throws UsageError, DataError, InterruptedError (the same request goes on), RuntimeFailure.
ReproduceOutcome reproduce(const ReproduceRequest& request, Reporter& reporter);

}  // namespace unfold
