#pragma once
/// Internal: what comes after the end of each sequence, by a network that predicts fields from what they were before.
/// Positions whose inputs are all known are predicted at once; those beyond are sampled: paths that go on from their
/// own samples, summed up by means and quantiles.

#include <functional>
#include <string_view>

#include "unfold/data/examples.h"
#include "unfold/fields/predict.h"
#include "unfold/models/network_model.h"

namespace unfold {

/// TSV: a row for each example and position ahead; JSON lines: an object an example. Throws UsageError for a model that
/// reads what nobody knows ahead.
template <class T>
void forecast(const NetworkModel<T>& model, const Examples& examples, const PredictRequest& request,
              const std::function<void(std::string_view)>& write);

}  // namespace unfold
