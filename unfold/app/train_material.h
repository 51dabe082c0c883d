#pragma once
/// Internal: running text as `train` reads it: data and validation data of any kind of text, in parts.

#include <optional>

#include "unfold/app/log_data.h"
#include "unfold/data/corpus.h"
#include "unfold/data/split.h"
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

/// `log`: how logs are read; nullptr for other data. Settings that the data decide are filled in. Throws DataError,
/// UsageError.
Material load_material(TrainSettings& s, LogTraining* log, Reporter& reporter);

}  // namespace unfold
