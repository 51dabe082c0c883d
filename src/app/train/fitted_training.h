#pragma once
/// Training of a text model that is fitted as a whole, such as an n-gram model.

#include "app/train/corpus_training.h"

namespace unfold {

class FittedTraining final : public CorpusTraining {
 public:
  using CorpusTraining::CorpusTraining;
  TrainOutcome run();

 private:
  void keep_counts(const SymbolModel& model) const;
};

}  // namespace unfold
