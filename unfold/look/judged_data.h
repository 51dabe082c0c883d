#pragma once
/// The data that a run is judged on: the test part of what it was trained on, or what its configuration says it was
/// validated on, or files that somebody names.

#include <memory>
#include <string>
#include <vector>

#include "unfold/capabilities/symbol_model.h"
#include "unfold/data/corpus.h"
#include "unfold/data/split.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// What a run folder's configuration says; the defaults, with no data, of a model file or a folder without one.
TrainSettings settings_of_run(const std::string& model);

/// Which files, and which part of them.
struct JudgedFiles {
  std::vector<std::string> files;
  std::string split;   ///< empty: the files as they are
  std::string part;    ///< "test", "validation" or "all"
  bool named = false;  ///< people named them, not the run
  /// The same for people: "the test part of 90/5/5 of book.txt".
  std::string text() const;
  bool operator==(const JudgedFiles&) const = default;
};
/// `data`: files that were named; empty: what the run says. Throws UsageError where neither says anything.
JudgedFiles judged_files(const std::string& model, const std::vector<std::string>& data);

struct JudgedText {
  Corpus corpus;
  Split part;
};
/// Throws DataError, which names what can be given instead, for files that are not there (any more).
JudgedText load_judged(const SymbolModel& model, const JudgedFiles& judged, const std::string& unknown = "error");

}  // namespace unfold
