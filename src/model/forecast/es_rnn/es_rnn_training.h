#pragma once
/// Trains an EsRnnNetwork on windows, and forecasts windows with it.
///
///     EsRnnNetwork<float> network(shape, series);
///     const Index best = train(network, {.training = windows, .validation = later, .ends = ends}, {}, team);
///     forecast(network, windows, team, [&](std::size_t i, std::span<const double> quantiles) { ... });
///
/// A step reads windows of up to kSeriesPerStep series, the same number of each. Results depend on the data, the
/// options and the seed only.

#include <functional>

#include "model/forecast/es_rnn/es_rnn_network.h"
#include "model/forecast/segments/segment_training.h"

namespace unfold::forecasting {

inline constexpr Index kSeriesPerStep = 32;

/// Initializes and trains the network. Windows of one series must be adjacent in `split`. With validation windows, the
/// network then has the parameters of the best validation, and the number of steps before it is returned; otherwise the
/// number of all steps. The options `patience` and `validate_every` are not used. Throws DataError without training
/// windows, and DivergedError if the loss is not finite.
Index train(EsRnnNetwork<float>& network, const SegmentSplit& split, const SegmentTraining& options, Team& team);

/// Like `forecast` of segment_training.h. Windows of one series must be adjacent.
void forecast(const EsRnnNetwork<float>& network, std::span<const SegmentWindow> windows, Team& team,
              const std::function<void(std::size_t, std::span<const double>)>& use);

}  // namespace unfold::forecasting
