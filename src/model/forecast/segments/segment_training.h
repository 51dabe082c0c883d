#pragma once
/// Trains a SegmentNetwork on windows of a pool, and forecasts windows with it.
///
///     SegmentNetwork<float> network(shape);
///     train(network, pool, {.training = windows, .validation = later, .ends = ends}, {.steps = 1000}, team);
///     forecast(network, pool, windows, team, [&](std::size_t i, std::span<const double> quantiles) { ... });
///
/// Results depend on the data, the options and the seed only.

#include <functional>
#include <string>
#include <vector>

#include "model/forecast/segments/segment_windows.h"
#include "unfold/train/trainer.h"

namespace unfold::forecasting {

struct SegmentTraining {
  std::string optimizer = "adam:rate=0.001,clip=1,schedule=cosine";
  Index batch = 256;  ///< windows of a step
  Index steps = 1000;
  Index validate_every = 0;  ///< steps; 0: twenty times during training
  Index patience = 0;        ///< stop after this many validations without improvement; 0: never
  std::uint64_t seed = 1;
};

/// Windows to train on and to validate with. In training, the values of a series from `ends` on are not targets. The
/// same holds for validation; if its list is empty, all values are targets.
struct SegmentSplit {
  std::vector<SegmentWindow> training = {}, validation = {};
  std::vector<Index> ends = {}, validation_ends = {};
};

/// Initializes and trains the network; with validation windows, it then has the parameters of the best validation.
/// Throws the same exceptions as Trainer.
TrainingResult train(SegmentNetwork<float>& network, const SegmentPool& pool, const SegmentSplit& split,
                     const SegmentTraining& options, Team& team, Observer* observer = nullptr);

/// Calls `use` with the index of each window and its quantiles in the units of the series, level by level [levels x
/// horizon]; the quantiles of a level are at least as large as those of the level below.
void forecast(const SegmentNetwork<float>& network, const SegmentPool& pool, std::span<const SegmentWindow> windows,
              Team& team, const std::function<void(std::size_t, std::span<const double>)>& use);

}  // namespace unfold::forecasting
