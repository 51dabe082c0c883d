#pragma once
/// Selection of evaluation data for a run: explicitly named files, or else the test part of the training data, or the
/// validation data recorded in the run's configuration.

#include <memory>
#include <string>
#include <vector>

#include "app/settings/train_settings.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Returns the configuration of a run folder. For a model file, or a folder without a configuration, returns the
/// defaults without data.
TrainSettings settings_of_run(const std::string& model);

/// The evaluation files and the part of them to use.
struct EvaluationFiles {
  std::vector<std::string> files;
  std::string split;   ///< empty: whole files
  std::string part;    ///< "test", "validation" or "all"
  bool named = false;  ///< the files were named by the caller, not taken from the run
  /// Returns a description: "the test part of 90/5/5 of book.txt".
  std::string text() const;
  bool operator==(const EvaluationFiles&) const = default;
};
/// `data`: files named by the caller; empty: use the run's configuration. Throws UsageError if neither the caller nor
/// the run names any data.
EvaluationFiles evaluation_files(const std::string& model, const std::vector<std::string>& data);

struct EvaluationText {
  Corpus corpus;
  Split part;
};
/// Throws DataError for missing files; the message says which option names other files.
EvaluationText load_evaluation(const SymbolModel& model, const EvaluationFiles& judged,
                               const std::string& unknown = "error");

}  // namespace unfold
