#pragma once
/// Internal: running text as `train` reads it: data and validation data of any kind of text, in parts.

#include <optional>

#include "unfold/app/known_start.h"
#include "unfold/app/log_data.h"
#include "unfold/data/corpus.h"
#include "unfold/data/split.h"
#include "unfold/processes/processes.h"
#include "unfold/runs/reporter.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// What is trained on. Parts refer to the corpora by number only.
struct Material {
  Corpus corpus;
  std::optional<Corpus> valid;
  Split training, validation;
  bool has_test = false;

  const Corpus& validation_corpus() const { return valid ? *valid : corpus; }
};

/// Whether of DATA each of several processes reads only what it needs: running text in plain files. What is rewritten,
/// unpacked, masked or cut into lines is read by everybody.
bool is_read_in_parts(const TrainSettings& s);

/// Of the files to train and to validate on, by their sizes and parts of them (processes/agreement.h). Empty where they
/// can be read once only, where they are folders, and for a stream.
std::string fingerprint_of_data(const TrainSettings& s);

/// `log`: how logs are read; nullptr for other data. `known`: has the alphabet; nullptr: DATA have it. Settings that
/// the data decide are filled in. By all processes. Throws DataError, UsageError.
Material load_material(TrainSettings& s, LogTraining* log, const KnownStart* known, Reporter& reporter,
                       Processes& processes);

}  // namespace unfold
