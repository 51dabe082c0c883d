#pragma once
/// Adds the lines of newer logs to an n-gram model of a log, without the earlier logs: `unfold train RUN --update
/// NEW.log`.
///
///   LogUpdate update = update_log_model({.run = "run", .logs = {"monday.log"}}, reporter);
///
/// Training writes the file counts.cbor to the run folder: the shapes with the number of their lines
/// (model/logs/shape_counts.h) and the complete detector. The updated n-gram model, its alphabet and its templates
/// equal those of training on all lines with the masks of the first training: the positions of words, the grouping,
/// the rules and the beginnings of records do not change. The other parts are continued as in scoring: each new line is
/// scored before it is learned, and its scores are added to the distributions of p-values. New sessions are learned as
/// normal sessions.
///
/// counts.cbor also identifies the logs that were learned (learned_logs.h). A log that was learned is refused, and of a
/// log that has grown since, only the new lines are learned. Without times in its lines, an equal log may be a
/// different one: it is learned, with a note.
///
/// With a half-life of H lines, the counts of the earlier lines are multiplied by 2^(-n/H), where n is the number of
/// new lines, and rounded to integers. This applies to the n-grams, the templates, the values and the transitions. It
/// does not apply to sessions, rates and distributions of p-values.

#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/logs/learned_logs.h"
#include "model/logs/log_detector.h"
#include "model/logs/shape_counts.h"
#include "model/registry/run_folder.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Returns whether models of this kind can be updated: n-grams of separate lines.
bool supports_log_update(const SymbolModel& model);
/// Writes counts.cbor. Throws RuntimeFailure.
void write_log_counts(const RunFolder& folder, const SymbolModel& model, const LogShapeCounts& shapes,
                      const LogDetector& detector, const LearnedLogs& learned);

struct LogUpdateRequest {
  std::string run = {};                  ///< run folder
  std::vector<std::string> logs = {};    ///< newer logs, in order of time
  std::optional<double> half_life = {};  ///< in lines
};

struct LogUpdate {
  std::string model_file = {};
  Index lines = 0, new_lines = 0;          ///< lines of the updated model, after forgetting; lines of the newer logs
  Index templates = 0, new_templates = 0;  ///< templates of the updated model; templates that were new
};

/// Replaces the model in the run folder. Throws UsageError for a run that cannot be updated, and DataError for logs
/// that contain no lines to learn or were already learned.
LogUpdate update_log_model(const LogUpdateRequest& request, Reporter& reporter);

}  // namespace unfold
