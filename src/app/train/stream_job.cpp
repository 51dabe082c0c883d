#include "app/train/stream_job.h"

#include <cmath>

#include "app/train/stages/divergence.h"
#include "app/train/stages/streaming_training.h"
#include "unfold/base/error.h"

namespace unfold {

TrainOutcome StreamJob::run() {
  return *context_.settings().precision == "double" ? follow<double>() : follow<float>();
}

template <class T>
TrainOutcome StreamJob::follow() {
  const TrainSettings& s = context_.settings();
  Reporter& reporter = context_.reporter();
  LanguageModel<T> model = model_of_stream<T>(s, context_.run());
  context_.device().require(model.network());
  const TrainOptions options = context_.train_options();
  model.configuration() = context_.card_configuration();
  TrainOutcome outcome = context_.outcome(model.parameter_count());
  try {
    outcome.result = follow_stream(model, s, options, context_.threads(), reporter);
    // A stream cannot be read again, so the last step is compared with the uniform distribution.
    const double uniform = std::log(static_cast<double>(model.alphabet().size()));
    if (outcome.result.steps > 0)
      check_divergence(
          {{.name = "nats per byte", .result = outcome.result.last_loss, .constant = uniform}},
          [&] { return std::vector{uniform}; }, s, context_.folder().path(), reporter);
    context_.keep(model);
    return outcome;
  } catch (const InterruptedError&) {
    context_.interrupted_with_checkpoint();
  }
}

}  // namespace unfold
