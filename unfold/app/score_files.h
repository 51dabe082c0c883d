#pragma once
/// How surprising whole files are: many of them, one after another, by child processes (`jobs`), or by several
/// processes that share a folder. What is finished stays there: the same request goes on where it was broken off.
///
///   for (const ScoredFile& file : score_files({.model = "run", .data = {"a.txt", "b.txt"}}, reporter))
///   use(file.figures);

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "unfold/app/reading.h"
#include "unfold/processes/processes.h"
#include "unfold/runs/figures.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct ScoreFilesRequest {
  std::string model;              ///< run folder or model file
  std::vector<std::string> data;  ///< files, none twice
  std::string unknown = "error";  ///< symbols that the model does not know: "error" or "skip"
  ReadingSettings reading = {};
  std::string out = {};            ///< folder of what is finished; needed where several processes work
  Index jobs = 1;                  ///< child processes
  Index threads = 0;               ///< of a process; 0: its share of the processors
  Processes* processes = nullptr;  ///< that all do this; nullptr: this one
};

struct ScoredFile {
  std::string name;
  Figures figures;
};

/// The files in their order. Throws UsageError, DataError, ModelError, InterruptedError, RuntimeFailure.
std::vector<ScoredFile> score_files(const ScoreFilesRequest& request, Reporter& reporter);

/// Lines of columns divided by tabs, one a file and one of all; the same as JSON, under `scores` and `all`.
std::string to_text(const std::vector<ScoredFile>& files);
nlohmann::ordered_json to_json(const std::vector<ScoredFile>& files);

}  // namespace unfold
