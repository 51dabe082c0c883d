#pragma once
/// Constructors of the forecasters, one for each source file (`make_forecaster`).

#include <memory>
#include <string_view>

#include "model/forecast/forecaster.h"

namespace unfold::forecasting {

/// naive, seasonal-naive, drift, mean; null for another name.
std::unique_ptr<Forecaster> make_simple(std::string_view name, const ForecasterOptions& options);
/// ses, ets, ets:FORM; null for another name.
std::unique_ptr<Forecaster> make_ets(std::string_view name, const ForecasterOptions& options);
std::unique_ptr<Forecaster> make_theta(const ForecasterOptions& options);
std::unique_ptr<Forecaster> make_ar(const ForecasterOptions& options);
std::unique_ptr<Forecaster> make_seasonal_ar(const ForecasterOptions& options);

}  // namespace unfold::forecasting
