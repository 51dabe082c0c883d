#pragma once
/// Subcommands that `mpirun` can start in several processes: all of them run the work, and only the first one prints.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/formats/trusted_json.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"
#include "distributed/launch.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {

/// Returns `work(reporter)`. Only the reporter of the first process prints.
template <class Work>
auto run_in_processes(const Processes& processes, Console& console, const Work& work) {
  SilentReporter silent;
  ConsoleReporter reporter(console);
  return work(processes.first() ? static_cast<Reporter&>(reporter) : silent);
}

/// Returns `work(request, reporter)` in the first process and an empty value in the others, which print nothing.
template <class Request, class Work>
auto run_in_processes(Processes& processes, Request& request, Console& console, const Work& work) {
  request.processes = &processes;
  auto outcome = std::make_optional(
      run_in_processes(processes, console, [&](Reporter& reporter) { return work(request, reporter); }));
  if (!processes.first()) outcome.reset();
  return outcome;
}

/// Like the function above, for work that can also start child processes (`--jobs`). Throws UsageError if both are
/// used.
template <class Request, class Work>
auto in_processes_or_jobs(Request& request, Console& console, const Work& work) {
  Processes& processes = launched_processes();
  if (!processes.alone() && request.jobs > 1)
    throw UsageError("--jobs and mpirun cannot be combined; use only one of them");
  return run_in_processes(processes, request, console, work);
}

/// Prints the JSON of a file on one line of standard output.
inline void print_results(const std::string& file) {
  print_result(one_line(parse_trusted_json(read_file(file), file)));
}

}  // namespace unfold
