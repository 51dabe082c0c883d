#pragma once
/// Training on corpora of running text: what networks and models that are fitted as a whole share.

#include <optional>

#include "app/logs/log_data.h"
#include "app/train/stages/training_data.h"
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
  TrainingData data() const;

  /// The symbol after which symbols are predicted; kNoSymbol: all are.
  Symbol predicts_after(const Alphabet& alphabet) const;
  /// Returns the configuration that is stored with the model.
  nlohmann::json card_configuration() const;
  /// Reports what is about to be trained.
  void report_start(const SymbolModel& model) const;
  TrainOutcome outcome(const SymbolModel& model, const TrainingResult& result) const;

 private:
  void add_baselines(TrainOutcome& outcome) const;

  TrainingContext& context_;
  const Material& material_;
  const LogTraining* log_;
};

}  // namespace unfold
