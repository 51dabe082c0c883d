#include "model/forecast/es_rnn/es_rnn_series.h"

#include <algorithm>
#include <cmath>

#include "model/forecast/decomposition.h"
#include "model/forecast/lanes.h"
#include "model/forecast/measures.h"

namespace unfold::forecasting {

EsRnnSeries::EsRnnSeries(const UnivariateSeries& series, Index known) : values(series.values) {
  constexpr Index kLeastPeriods = 2;
  logs.reserve(values.size());
  for (const double y : values) logs.push_back(std::isnan(y) ? y : log_of(y));
  const bool is_seasonal = series.period > 1 && known >= kLeastPeriods * series.period;
  filled = interpolate_missing(logs, is_seasonal ? series.period : 1);
  const std::span<const double> history = std::span<const double>(logs).first(at(known));
  for (const Index lag : {is_seasonal ? series.period : Index{1}, Index{1}}) {
    scale = seasonal_scale(history, lag);
    if (scale > 0 && std::isfinite(scale)) break;
    scale = 1;
  }
  if (is_seasonal)
    log_seasons = decompose(std::span<const double>(filled).first(at(known)), series.period, false).season;
}

bool is_positive(std::span<const double> values) {
  return std::ranges::any_of(values, [](double y) { return !std::isnan(y); }) &&
         std::ranges::none_of(values, [](double y) { return y <= 0; });
}

}  // namespace unfold::forecasting
