#include "unfold/train/sources/example_sources.h"

#include <nlohmann/json.hpp>

namespace unfold {

template <class T>
TrainingSources<T> example_sources(const ExampleSet& training, const ExampleSet& validation,
                                   const ExampleBatchOptions& options, std::uint64_t seed) {
  TrainingSources<T> sources{.training = example_batches(training, options, seed)};
  if (validation.count() > 0) {
    constexpr Index kSideBySide = 64;
    ExampleBatchOptions reading = options;
    reading.batch = kSideBySide;
    sources.validation = [&validation, reading] { return example_reader(validation, reading); };
    sources.validation_symbols = validation.positions();
  }
  const Index examples = std::min(options.batch, training.count());
  const Index length = training.positions() / training.count();
  sources.step_symbols = examples * (options.window > 0 ? std::min(options.window, length) : length);
  sources.configuration =
      nlohmann::json{{"reads", options.reads},   {"predicts", options.predicts}, {"batch", options.batch},
                     {"window", options.window}, {"examples", training.count()}, {"positions", training.positions()}};
  if (options.curriculum.on())
    (*sources.configuration)["curriculum"] = {options.curriculum.step, options.curriculum.each_epoch};
  return sources;
}

template TrainingSources<float> example_sources(const ExampleSet&, const ExampleSet&, const ExampleBatchOptions&,
                                                std::uint64_t);
template TrainingSources<double> example_sources(const ExampleSet&, const ExampleSet&, const ExampleBatchOptions&,
                                                 std::uint64_t);

}  // namespace unfold
