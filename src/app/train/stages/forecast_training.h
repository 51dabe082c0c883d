#pragma once
/// Selection of the default model for numeric series (model/selection/forecast_selection.h).

#include <nlohmann/json_fwd.hpp>

#include "app/common/reporter.h"
#include "app/fields/field_plan.h"
#include "app/settings/train_settings.h"
#include "model/selection/forecast_selection.h"

namespace unfold {

/// Returns whether neither the model nor options of gradient training were given.
bool trains_by_default(const Given& given, const TrainSettings& settings);
/// Returns whether a model for numeric series is to be selected: the following numbers are predicted, and neither the
/// model nor options of gradient training were given.
bool selects_forecast_model(const FieldPlan& plan, const Examples& examples, const Given& given,
                            const TrainSettings& settings);

/// Selects the model and reports the candidates. They are fitted to the first part of the training and validation data
/// and compared on the rest, which contains at least a quarter of the data. Returns an empty selection if there are too
/// few values for a comparison. `settings` determine how the default network is trained.
template <class T>
ForecastSelection select_forecast(const Examples& examples, const FieldPlan& plan, const TrainSettings& settings,
                                  Team& team, Reporter& reporter);

/// [{"model", "reads", "tried", "error", "persistence"}], for the card of the model and for --json.
nlohmann::ordered_json to_json(const ForecastSelection& selection);

}  // namespace unfold
