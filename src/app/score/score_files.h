#pragma once
/// Surprisal of whole files, scored one after another, by child processes (`jobs`), or by several processes that share
/// a folder. Finished results stay in the folder, so that the same request resumes after an interruption.
///
///   for (const ScoredFile& file : score_files({.model = "run", .data = {"a.txt", "b.txt"}}, reporter))
///     use(file.figures);

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/common/perplexity.h"
#include "app/common/reporter.h"
#include "app/evaluate/reading.h"
#include "unfold/distributed/processes.h"

namespace unfold {

struct ScoreFilesRequest {
  std::string model;              ///< run folder or model file
  std::vector<std::string> data;  ///< files, without duplicates
  std::string unknown = "error";  ///< handling of symbols that are not in the alphabet: "error" or "skip"
  ReadingSettings reading = {};
  std::string out = {};            ///< folder for finished results; required with several processes
  Index jobs = 1;                  ///< child processes
  Index threads = 0;               ///< threads per process; 0: an equal share of the processors
  Processes* processes = nullptr;  ///< all processes with this request; nullptr: only this process
};

struct ScoredFile {
  std::string name;
  Figures figures;
};

/// Returns the results in the order of the files. Throws UsageError, DataError, ModelError, InterruptedError,
/// RuntimeFailure.
std::vector<ScoredFile> score_files(const ScoreFilesRequest& request, Reporter& reporter);

/// Tab-separated text with one line per file and a line for the total; as JSON, under `scores` and `all`.
std::string to_text(const std::vector<ScoredFile>& files);
nlohmann::ordered_json to_json(const std::vector<ScoredFile>& files);

}  // namespace unfold
