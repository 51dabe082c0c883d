#pragma once
/// Training on text corpora: the code shared by networks and by models that are fitted as a whole.

#include <optional>

#include "app/logs/log_data.h"
#include "app/train/setup/training_data.h"
#include "app/train/training_context.h"

namespace unfold {

class CorpusTraining {
 public:
  /// `log`: the settings for logs; nullptr for other data. Keeps references to all arguments.
  CorpusTraining(TrainingContext& context, const Material& material, const LogTraining* log)
      : context_(context), material_(material), log_(log) {}

 protected:
  TrainingContext& context() const { return context_; }
  const Material& material() const { return material_; }
  const LogTraining* log() const { return log_; }
  TrainingData data() const;

  /// Only symbols after this one are predicted; kNoSymbol: all symbols.
  Symbol predicts_after(const Alphabet& alphabet) const;
  /// Returns the configuration that is stored with the model.
  nlohmann::json card_configuration() const;
  /// Reports the model, the data and the settings before training.
  void report_start(const SymbolModel& model) const;
  TrainOutcome outcome(const SymbolModel& model, const TrainingResult& result) const;

 private:
  void add_baselines(TrainOutcome& outcome) const;

  TrainingContext& context_;
  const Material& material_;
  const LogTraining* log_;
};

}  // namespace unfold
