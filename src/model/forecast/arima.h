#pragma once
/// Seasonal ARIMA models and their automatic selection.
///
/// With w_t = (1 - B)^d (1 - B^m)^D y_t - c:   phi(B) Phi(B^m) w_t = theta(B) Theta(B^m) e_t,   e_t ~ N(0, sigma^2).
///
/// phi, Phi, theta and Theta are parameterized by partial autocorrelations in (-1, 1), so every model is stationary and
/// invertible. The likelihood is the exact likelihood of the differenced values (arma.h). A difference with a missing
/// value is missing; if fewer than half of the differences could be computed, the interpolated values are differenced
/// instead. Missing values among the last values, from which forecasts start, are interpolated.

#include <memory>
#include <string>
#include <vector>

#include "model/forecast/forecaster.h"

namespace unfold::forecasting {

struct ArimaOrder {
  Index p = 0, d = 0, q = 0, seasonal_p = 0, seasonal_d = 0, seasonal_q = 0;
  bool constant = false;  ///< c is estimated; a drift if d + D = 1

  bool operator==(const ArimaOrder&) const = default;
  /// Returns the number of estimated values, including the variance.
  Index parameters() const { return p + q + seasonal_p + seasonal_q + (constant ? 1 : 0) + 1; }
  std::string name(Index period) const;  ///< such as "(2,1,1)(0,1,1)[12] with constant"
};

struct ArimaCoefficients {
  std::vector<double> ar = {}, ma = {}, seasonal_ar = {},
                      seasonal_ma = {};  ///< phi_k, theta_k (plus sign), Phi_k, Theta_k
  double mean = 0;                       ///< c
};

/// Coefficients of phi(B) Phi(B^m) = 1 - a_1 B - ... and theta(B) Theta(B^m) = 1 + b_1 B + ....
std::vector<double> expand_ar(const ArimaCoefficients& c, Index period);
std::vector<double> expand_ma(const ArimaCoefficients& c, Index period);

struct ArimaFit {
  ArimaOrder order = {};
  ArimaCoefficients coefficients = {};
  double log_likelihood = 0;  ///< exact; of the observed differenced values
  double variance = 0;        ///< maximum likelihood estimate of sigma^2
  Index observed = 0;
};

/// Returns the exact log likelihood of differenced values at given coefficients and the maximizing variance.
ArimaFit evaluate_arima(const ArimaOrder& order, const ArimaCoefficients& coefficients, Index period,
                        std::span<const double> differenced);

struct ArimaSearchOptions {
  Index max_p = 5, max_q = 5, max_seasonal_p = 2, max_seasonal_q = 2;
  Index max_order = 5;    ///< maximum of p + q + P + Q in the stepwise search
  Index max_models = 94;  ///< maximum number of fitted models
  Index refitted = 3;     ///< number of models that are fitted exactly, the best ones according to the approximation
  /// Whether the search fits every model exactly. By default (Hyndman and Khandakar 2008), series of more than 150
  /// values, periods of more than 12, and missing values use the conditional sum of squares.
  enum class Likelihood { automatic, exact, conditional } likelihood = Likelihood::automatic;
};

/// Selects a model automatically. The number of seasonal differences depends on the seasonal strength, and the number
/// of first differences on KPSS tests (decomposition.h). The stepwise search of Hyndman and Khandakar (Journal of
/// Statistical Software 27, 2008) then selects p, q, P, Q and the constant by AICc.
std::unique_ptr<Forecaster> make_arima(const ArimaSearchOptions& search, const ForecasterOptions& options = {});

/// Creates a model with the fixed order `order`.
std::unique_ptr<Forecaster> make_arima(const ArimaOrder& order, const ForecasterOptions& options);

/// Mean and standard deviation of the next values of a differenced linear process, used by `arima` and `ar`.
struct LinearProcess {
  std::vector<double> a = {}, b = {};  ///< coefficients of the process of the differenced values
  double mean = 0, variance = 0;       ///< mean of the differenced values; variance of the errors
  Index d = 0, seasonal_d = 0, period = 1;

  /// `filled`: the whole series without missing values; `differenced`: its differences (NaN: missing), aligned at the
  /// end.
  void forecast(const std::vector<double>& filled, std::span<const double> differenced, Index horizon,
                std::vector<double>& means, std::vector<double>& deviations) const;
  /// Returns one-step forecasts of the undifferenced values; NaN for the first d + m D values.
  std::vector<double> fitted(const std::vector<double>& filled, std::span<const double> differenced) const;
};

/// Differences `values` D times at the period, then d times at lag 1; uses `filled` if fewer than half of the results
/// are observed.
std::vector<double> difference_for(const Sample& sample, Index d, Index seasonal_d);

}  // namespace unfold::forecasting
