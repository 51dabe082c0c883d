#pragma once
/// Constructors of the forecasters, one for each source file (`make_forecaster`).

#include <memory>
#include <string_view>

#include "model/forecast/forecaster.h"

namespace unfold::forecasting {

/// Creates naive, seasonal-naive, drift or mean; returns null for any other name.
std::unique_ptr<Forecaster> make_naive(std::string_view name, const ForecasterOptions& options);
/// Creates ses, ets or ets:FORM; returns null for any other name.
std::unique_ptr<Forecaster> make_ets(std::string_view name, const ForecasterOptions& options);
/// Creates sba or tsb; returns null for any other name.
std::unique_ptr<Forecaster> make_croston(std::string_view name, const ForecasterOptions& options);
std::unique_ptr<Forecaster> make_theta(const ForecasterOptions& options);
std::unique_ptr<Forecaster> make_ar(const ForecasterOptions& options);
std::unique_ptr<Forecaster> make_seasonal_ar(const ForecasterOptions& options);

}  // namespace unfold::forecasting
