#pragma once
/// Training a language model: the trainer with a model around it.

#include "unfold/models/language_model.h"
#include "unfold/models/sampling.h"
#include "unfold/training/trainer.h"

namespace unfold {

struct TrainOptions {
  TrainerOptions trainer = {};
  std::string model_file = {};    ///< the best model so far is written here whenever it changes; empty: nowhere
  SamplingOptions sampling = {};  ///< of the samples while training (trainer.sample_every)
};

/// Trains the model; afterwards it holds the best parameters, and its history one more entry: optimiser, steps, epochs,
/// symbols, best validation. With `trainer.resume` the given parameters do not matter. Throws as Trainer; then the
/// model holds the last parameters reached.
TrainingResult train(LanguageModel<float>& model, const TrainingData& data, const TrainOptions& options, Team& team,
                     Observer* observer = nullptr);

}  // namespace unfold
