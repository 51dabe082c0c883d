#pragma once
/// Training of a network on running text by gradients, with the selection among restarts.

#include "app/train/corpus_training.h"
#include "app/train/setup/initial_model.h"
#include "model/network/fitting/parallel_starts.h"
#include "unfold/model/network/language_model.h"

namespace unfold {

class NetworkTraining final : public CorpusTraining {
 public:
  /// `initial`: the model whose parameters are copied; nullptr: there is none. Keeps references to all arguments.
  NetworkTraining(TrainingContext& context, const Material& material, const LogTraining* log,
                  const InitialModel* initial)
      : CorpusTraining(context, material, log), initial_(initial) {}
  TrainOutcome run();

 private:
  template <class T>
  TrainOutcome train();
  template <class T>
  LanguageModel<T> make_model(Symbol after) const;
  template <class T>
  void check(const LanguageModel<T>& model) const;
  template <class T>
  TrainOutcome fit_readout(LanguageModel<T>& model, Symbol after) const;
  template <class T>
  void choose_sequences(const LanguageModel<T>& model);
  template <class T>
  Index best_restart(TrainerOptions options, const RestartOptions& restarts);
  template <class T>
  void compare(LanguageModel<T>& model, const Parameters<T>& initial, const TrainingResult& result, Team& team) const;

  const InitialModel* initial_;
};

}  // namespace unfold
