#pragma once
/// Exponential smoothing in state space form (Hyndman, Koehler, Ord and Snyder, "Forecasting with Exponential
/// Smoothing", 2008). With q_t = l_{t-1} + phi b_{t-1} and e_t = y_t - mu_t:
///
///   season none             mu = q            l = q + alpha e        b = phi b + beta e
///   season additive         mu = q + s_{t-m}  l = q + alpha e        b = phi b + beta e        s_t = s_{t-m} + gamma e
///   season multiplicative   mu = q s_{t-m}    l = q + alpha e / s    b = phi b + beta e / s    s_t = s_{t-m} + gamma e
///   / q
///
/// The error is e_t ~ N(0, sigma^2) (additive) or e_t / mu_t ~ N(0, sigma^2) (multiplicative). A missing value has e_t
/// = 0 and does not contribute to the likelihood.

#include <string>
#include <string_view>
#include <vector>

#include "model/forecast/forecaster.h"

namespace unfold::forecasting {

enum class EtsTrend { none, additive, damped };
enum class EtsSeason { none, additive, multiplicative };

struct EtsForm {
  bool multiplicative_error = false;
  EtsTrend trend = EtsTrend::none;
  EtsSeason season = EtsSeason::none;

  bool needs_positive_values() const { return multiplicative_error || season == EtsSeason::multiplicative; }
  /// Returns the number of estimated values: smoothing parameters, initial states, variance. The seasons have m - 1
  /// free initial values: their sum is 0 (additive) or their mean is 1 (multiplicative).
  Index parameters(Index period) const;
  std::string name() const;  ///< such as "A,Ad,N"
};

/// Reads a form such as "M,Ad,A"; throws UsageError.
EtsForm parse_ets_form(std::string_view text);

struct EtsParameters {
  double alpha = 0, beta = 0, gamma = 0, phi = 1;
  double level = 0, slope = 0;       ///< l_0, b_0
  std::vector<double> seasons = {};  ///< s_{1-m}, ..., s_0; empty without season
};

/// One pass over a series with given parameters.
struct EtsPass {
  double log_likelihood = 0;   ///< log likelihood at the maximizing variance; -infinity if a state leaves its domain
  double mean_square = 0;      ///< mean square of the errors (relative errors if multiplicative), the maximizing
                               ///< variance
  std::vector<double> fitted;  ///< mu_t
  EtsParameters end;           ///< the states after the last value; seasons[0] is the season of the next value
};
EtsPass run_ets(const EtsForm& form, const EtsParameters& parameters, std::span<const double> values);

/// Maximizes the likelihood over alpha, beta / alpha and gamma / (1 - alpha) in [1e-4, 1 - 1e-4] and phi in [0.8, 0.98]
/// within the region in which forecasts forget the initial states (forecastability), and over the initial
/// states. `sample` is scaled (forecaster.h).
EtsParameters fit_ets(const EtsForm& form, const Sample& sample);

}  // namespace unfold::forecasting
