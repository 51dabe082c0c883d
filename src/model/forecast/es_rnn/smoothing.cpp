#include "model/forecast/es_rnn/smoothing.h"

#include <algorithm>
#include <cmath>

#include "model/forecast/lanes.h"

namespace unfold::forecasting {

SmoothedSeries smooth(std::span<const double> values, const SmoothingParameters& parameters) {
  const std::vector<double>& initial = parameters.log_seasons;
  const bool is_seasonal = !initial.empty();
  const std::size_t n = values.size(), m = std::max<std::size_t>(1, initial.size());
  const double alpha = parameters.alpha, gamma = parameters.gamma;
  SmoothedSeries states{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n + m, 1),
                        std::vector<double>(n + m)};
  vector_exp(initial.data(), states.season.data(), static_cast<Index>(initial.size()));
  double level = values[0] / states.season[0];
  for (std::size_t t = 0; t < n; ++t) {
    const double y = values[t], season = states.season[t];
    if (std::isnan(y)) {
      states.season[t + m] = season;
    } else {
      level = alpha * (y / season) + (1 - alpha) * level;
      if (is_seasonal) states.season[t + m] = gamma * (y / level) + (1 - gamma) * season;
    }
    states.level[t] = level;
  }
  vector_log(states.level.data(), states.log_level.data(), static_cast<Index>(n));
  vector_log(states.season.data(), states.log_season.data(), static_cast<Index>(n + m));
  return states;
}

// With a = alpha y_t / (s_t l_t), the share of the value in the level, and g = gamma y_t / (l_t s_{t+m}):
//   d log l_t     = a (d log y_t - d log s_t) + (1 - a) d log l_{t-1} + (y_t / s_t - l_{t-1}) / l_t d alpha
//   d log s_{t+m} = g (d log y_t - d log l_t) + (1 - g) d log s_t     + (y_t / l_t - s_t) / s_{t+m} d gamma
SmoothingParameters smoothing_gradient(std::span<const double> values, const SmoothingParameters& parameters,
                                       const SmoothedSeries& states, std::span<double> level_adjoint,
                                       std::span<double> season_adjoint) {
  const bool is_seasonal = !parameters.log_seasons.empty();
  const std::size_t n = values.size(), m = std::max<std::size_t>(1, parameters.log_seasons.size());
  SmoothingParameters gradient;
  double level = 0;  // adjoint of log l_t from later values
  for (std::size_t t = n; t-- > 0;) {
    level += level_adjoint[t];
    const double y = values[t], season = states.season[t], now = states.level[t];
    if (std::isnan(y)) {
      season_adjoint[t] += season_adjoint[t + m];
      continue;
    }
    if (is_seasonal) {
      const double next = states.season[t + m], share = parameters.gamma * y / (now * next);
      level -= share * season_adjoint[t + m];
      season_adjoint[t] += (1 - share) * season_adjoint[t + m];
      gradient.gamma += season_adjoint[t + m] * (y / now - season) / next;
    }
    const double before = t > 0 ? states.level[t - 1] : y / season;
    const double share = parameters.alpha * y / (season * now);
    gradient.alpha += level * (y / season - before) / now;
    season_adjoint[t] -= share * level;
    level *= 1 - share;
    if (t == 0) season_adjoint[0] -= level;
  }
  gradient.log_seasons.assign(season_adjoint.begin(),
                              season_adjoint.begin() + static_cast<std::ptrdiff_t>(parameters.log_seasons.size()));
  return gradient;
}

}  // namespace unfold::forecasting
