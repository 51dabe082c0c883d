#pragma once
/// Work of verbs that `mpirun` may have started several times: every process does it, and the first one tells.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "unfold/base/error.h"
#include "unfold/base/file.h"
#include "unfold/base/own_json.h"
#include "unfold/cli/verb.h"
#include "unfold/processes/launch.h"
#include "unfold/terminal/console_reporter.h"
#include "unfold/terminal/figures.h"

namespace unfold {

/// What `work(reporter)` gives in this process; the first one tells what it reports.
template <class Work>
auto in_processes(const Processes& processes, Console& console, const Work& work) {
  SilentReporter silent;
  ConsoleReporter reporter(console);
  return work(processes.first() ? static_cast<Reporter&>(reporter) : silent);
}

/// What `work(request, reporter)` gives in the first process; in the others, which say nothing, nothing.
template <class Request, class Work>
auto in_processes(Processes& processes, Request& request, Console& console, const Work& work) {
  request.processes = &processes;
  auto outcome =
      std::make_optional(in_processes(processes, console, [&](Reporter& reporter) { return work(request, reporter); }));
  if (!processes.first()) outcome.reset();
  return outcome;
}

/// The same of work that may also be done by `--jobs` processes of its own. Throws UsageError for both at once.
template <class Request, class Work>
auto in_processes_or_jobs(Request& request, Console& console, const Work& work) {
  Processes& processes = launched_processes();
  if (!processes.alone() && request.jobs > 1) throw UsageError("--jobs and mpirun exclude each other");
  return in_processes(processes, request, console, work);
}

/// The JSON of a file as one line of standard output.
inline void print_results(const std::string& file) { print_result(one_line(parse_own_json(read_file(file), file))); }

}  // namespace unfold
