#include "app/train/stages/streaming_training.h"

#include <fmt/format.h>

#include "app/train/setup/training_requirements.h"
#include "model/network/fitting/readout.h"
#include "train/sources/byte_stream_source.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"

namespace unfold {

template <class T>
LanguageModel<T> model_of_stream(const TrainSettings& settings, const RunSettings& run) {
  if (is_fitted_model(settings.model))
    throw UsageError(
        fmt::format("--follow requires a model trained by gradients; {} is fitted in one pass", settings.model));
  LanguageModel<T> model(settings.model, Alphabet::all_bytes());
  if (readout_of(model.spec()))
    throw UsageError("--follow requires a model trained by gradients; use esn:" + std::to_string(model.spec().units) +
                     ",readout=trained instead of a fitted readout");
  check_training_support(model.network(), model.spec(), settings, run);
  model.initialize(static_cast<std::uint64_t>(settings.seed));
  return model;
}

template <class T>
TrainingResult follow_stream(LanguageModel<T>& model, const TrainSettings& settings, TrainOptions options, int threads,
                             Reporter& reporter) {
  TrainerOptions& trainer = options.trainer;
  trainer.epochs = 1;  // a stream is read once
  trainer.stop = reporter.stop();
  Team team(threads);
  reporter.remark(fmt::format("{}: {} parameters; follows {}, with one update every {} bytes{}", settings.model,
                              model.parameter_count(), settings.data.front(), settings.window,
                              trainer.resume ? "; skips the data that the run has already read" : ""));
  // Keeps enough windows to return to the last good state, which may be one snapshot older if the newest snapshot is
  // bad.
  const Index kept = 4 * trainer.snapshot_every;
  return train(model, followed_sources<T>(settings.data.front(), settings.window, kept), options, team,
               reporter.observer(trainer.steps));
}

template LanguageModel<float> model_of_stream(const TrainSettings&, const RunSettings&);
template LanguageModel<double> model_of_stream(const TrainSettings&, const RunSettings&);
template TrainingResult follow_stream(LanguageModel<float>&, const TrainSettings&, TrainOptions, int, Reporter&);
template TrainingResult follow_stream(LanguageModel<double>&, const TrainSettings&, TrainOptions, int, Reporter&);

}  // namespace unfold
