#include "model/forecast/segments/segment_training.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/train/evaluate.h"

namespace unfold::forecasting {
namespace {

constexpr Index kForecastBatch = 256;  // number of windows in memory at the same time
constexpr Index kValidations = 20;

}  // namespace

TrainingResult train(SegmentNetwork<float>& network, const SegmentPool& pool, const SegmentSplit& split,
                     const SegmentTraining& options, Team& team, Observer* observer) {
  if (split.training.empty()) throw DataError("segments: no window has both values to read and values to predict");
  const SegmentShape& shape = network.shape();
  network.parameters().initialize(options.seed);
  TrainingSources<float> sources{.training = pool.batches(split.training, split.ends, options.batch, options.seed)};
  sources.step_symbols = std::min(options.batch, static_cast<Index>(split.training.size())) * shape.nodes();
  sources.configuration = nlohmann::json{{"segment", shape.segment},
                                         {"window", shape.window},
                                         {"horizon", shape.horizon},
                                         {"windows", split.training.size()},
                                         {"batch", options.batch}};
  if (!split.validation.empty()) {
    sources.validation = [&] { return pool.reader(split.validation, split.validation_ends, kForecastBatch); };
    sources.validation_symbols = static_cast<Index>(split.validation.size()) * shape.nodes();
  }
  TrainerOptions trainer_options{.optimizer = options.optimizer, .seed = options.seed, .steps = options.steps};
  trainer_options.validate_every =
      options.validate_every > 0 ? options.validate_every : std::max<Index>(1, options.steps / kValidations);
  trainer_options.patience = options.patience;
  Trainer<float> trainer(network.network(), network.parameters(), std::move(sources), trainer_options, team);
  trainer.set_observer(observer);
  TrainingResult result = trainer.run();
  const auto best = trainer.best().flat();
  if (best.data() != network.parameters().flat().data()) std::ranges::copy(best, network.parameters().flat().begin());
  return result;
}

void forecast(const SegmentNetwork<float>& network, const SegmentPool& pool, std::span<const SegmentWindow> windows,
              Team& team, const std::function<void(std::size_t, std::span<const double>)>& use) {
  const SegmentShape& shape = network.shape();
  const std::size_t levels = shape.levels.size(), horizon = at(shape.horizon);
  std::vector<double> quantiles(levels * horizon), column(levels);
  std::size_t first = 0;
  const auto read = [&](const Batch& batch, std::span<const Matrix<const float>> outputs) {
    for (Index i = 0; i < batch.structure.sequences(); ++i) {
      const SegmentWindow& window = windows[first + at(i)];
      for (std::size_t h = 0; h < horizon; ++h) {
        const Index k = static_cast<Index>(h) / shape.segment, j = static_cast<Index>(h) % shape.segment;
        const float* row = outputs.front().row(batch.structure.row(i, shape.read() + k));
        for (std::size_t l = 0; l < levels; ++l)
          column[l] = pool.value_of(window, static_cast<double>(row[static_cast<Index>(l) * shape.segment + j]));
        std::ranges::sort(column);
        for (std::size_t l = 0; l < levels; ++l) quantiles[l * horizon + h] = column[l];
      }
      use(first + at(i), quantiles);
    }
    first += at(batch.structure.sequences());
  };
  Evaluator<float> evaluator(network.network(), team);
  evaluator.run(network.parameters(), *pool.reader(windows, {}, kForecastBatch), {}, read);
}

}  // namespace unfold::forecasting
