#pragma once
/// Training a model of symbols: the trainer with a recurrent model around it; or fitting one as a whole.

#include "unfold/models/language_model.h"
#include "unfold/models/sampling.h"
#include "unfold/training/trainer.h"

namespace unfold {

struct TrainOptions {
  TrainerOptions trainer = {};
  Index sampled_softmax = 0;      ///< so many symbols at least that a window does not predict; 0: the whole softmax
  std::string model_file = {};    ///< the best model so far is written here whenever it changes; empty: nowhere
  SamplingOptions sampling = {};  ///< of the samples while training (trainer.sample_every)
};

/// Trains the model; afterwards it holds the best parameters, and its history one more entry: optimiser, steps, epochs,
/// symbols, best validation. With `trainer.resume` the given parameters do not matter. Throws as Trainer; then the
/// model holds the last parameters reached. T is float or double.
template <class T>
TrainingResult train(LanguageModel<T>& model, const TrainingData& data, const TrainOptions& options, Team& team,
                     Observer* observer = nullptr);

/// The same from batches of elsewhere, of the model's alphabet.
template <class T>
TrainingResult train(LanguageModel<T>& model, TrainingSources<T> sources, const TrainOptions& options, Team& team,
                     Observer* observer = nullptr);

/// Fits a model and measures it on the validation part, if there is one; its history gets one more entry. Writes it to
/// `model_file` (empty: nowhere). Of the result only what has a meaning here is set. Throws as FittedModel::fit.
TrainingResult train(FittedModel& model, const TrainingData& data, const FitOptions& options, Team& team,
                     const std::string& model_file, Observer* observer = nullptr, Symbol predict_after = kNoSymbol);

}  // namespace unfold
