#pragma once
/// Training of symbol models: recurrent models are trained by gradient descent, other models are fitted as a whole.

#include "unfold/model/decoding/sampling.h"
#include "unfold/model/network/language_model.h"
#include "unfold/train/trainer.h"

namespace unfold {

struct TrainOptions {
  TrainerOptions trainer = {};
  Index sampled_softmax = 0;      ///< minimum number of sampled symbols that a window does not predict; 0: full softmax
  std::string model_file = {};    ///< file to which the best model so far is written whenever it changes; empty: none
  SamplingOptions sampling = {};  ///< options for samples during training (trainer.sample_every)
};

/// Trains the model. Afterwards it has the best parameters and a new entry in its history: optimizer, steps, epochs,
/// symbols, best validation. The model also records whether the corpus was read with CorpusOptions::lines. With
/// `trainer.resume` the given parameters are ignored. Throws the same exceptions as Trainer; the model then has the
/// last parameters reached. T is float or double.
template <class T>
TrainingResult train(LanguageModel<T>& model, const TrainingData& data, const TrainOptions& options, Team& team,
                     Observer* observer = nullptr);

/// Like the function above, with batches from another source, over the alphabet of the model.
template <class T>
TrainingResult train(LanguageModel<T>& model, TrainingSources<T> sources, const TrainOptions& options, Team& team,
                     Observer* observer = nullptr);

/// Fits a model, evaluates it on the validation part, if there is one, and adds an entry to its history. Writes it to
/// `model_file` (empty: none). Sets only the members of the result that apply. Throws the same exceptions as
/// FittedModel::fit.
TrainingResult train(FittedModel& model, const TrainingData& data, const FitOptions& options, Team& team,
                     const std::string& model_file, Observer* observer = nullptr, Symbol predict_after = kNoSymbol);

}  // namespace unfold
