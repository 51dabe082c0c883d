#pragma once
/// Internal: training and validation data of `train` for running text, split into parts.

#include <optional>

#include "app/common/reporter.h"
#include "app/logs/log_data.h"
#include "app/settings/train_settings.h"
#include "app/train/setup/initial_model.h"
#include "unfold/data/text/corpus.h"
#include "unfold/data/text/split.h"
#include "unfold/distributed/processes.h"

namespace unfold {

/// Training and validation data. `training` and `validation` refer to the corpora only by sequence index.
struct Material {
  Corpus corpus;
  std::optional<Corpus> valid;
  Split training, validation;
  bool has_test = false;

  const Corpus& validation_corpus() const { return valid ? *valid : corpus; }
};

/// Returns whether each of several processes, or one with a memory limit, reads only the parts of DATA it needs. This
/// applies to running text in plain files. Data that is converted, decompressed, masked or cut into lines is read
/// completely by every process.
bool is_read_in_parts(const TrainSettings& s);

/// Returns a fingerprint of the training and validation files, from their sizes and samples of their content
/// (distributed/consistency.h). Empty for folders, streams and files that can be read only once.
std::string fingerprint_of_data(const TrainSettings& s);

/// `log` has the settings for logs; nullptr for other data. `known` provides the alphabet; nullptr: it is built from
/// DATA. `limited`: a single process, too, reads the text in parts if it can. Fills in settings that depend on the
/// data. Called by all processes. Throws DataError, UsageError.
Material load_training_corpora(TrainSettings& s, LogTraining* log, const InitialModel* known, bool limited,
                               Reporter& reporter, Processes& processes);

}  // namespace unfold
