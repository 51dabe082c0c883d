#pragma once
/// Internal: forecasts of the positions after the end of each sequence. The network predicts fields from their past
/// values. Positions whose inputs are all known are predicted directly. Positions beyond them are estimated from
/// sampled paths, each of which feeds back its own samples, and summarized by means and quantiles.

#include <functional>
#include <string_view>

#include "app/predict/predict.h"
#include "unfold/data/examples/examples.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Writes TSV with one row per example and position ahead, or JSON lines with one object per example. Throws UsageError
/// for a model with inputs that are unknown in the future. The reporter receives assumptions about dates.
template <class T>
void forecast(const NetworkModel<T>& model, const Examples& examples, const PredictRequest& request,
              const std::function<void(std::string_view)>& write, Reporter& reporter);

}  // namespace unfold
