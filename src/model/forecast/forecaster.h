#pragma once
/// The classical forecasters of one univariate series: a model is fitted to the values and returns the mean and the
/// distribution of the next H values.
///
///     const std::unique_ptr<Forecaster> model = make_forecaster("ets");
///     model->fit({.values = values, .period = 12});
///     const Forecast next = model->forecast(24);
///     next.mean[0], next.quantile(0, 0.975)
///
/// Rules for every forecaster:
///   * A series needs at least one observed value (DataError). Missing values before the first observed value are
///     ignored. Missing values after the last observed value are forecast as well; horizon h counts from the end of the
///     series.
///   * If all observed values are equal, the forecast is that value, and its intervals have width 0.
///   * If no observed value is negative, means and quantiles below 0 are replaced with 0.
///   * A forecast is marked `out_of_range` if a mean is not finite or leaves [min - h D, max + h D], where min, max are
///     the extremes of the observed values, D is the largest difference between consecutive observed values per step,
///     and h is the horizon: no path with steps of observed size can reach it. If all values are positive, the range
///     includes max exp(1.25 g h), where g is the growth of the logarithms per step from the median of the first third
///     to the median of the last third, of the whole series or its second half. Values that are not finite are replaced
///     by the nearer limit.
///   * Values are divided by a power of two before they are fitted, so the forecasts of a series and of its multiple by
///     a power of two are bit-identical up to this factor.
///   * Results depend on the series, the options and the seed only.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/forecast/box_cox.h"
#include "model/forecast/series.h"

namespace unfold::forecasting {

/// The forecast of H values. Index 0 is the first value after the series.
struct Forecast {
  std::vector<double> mean;       ///< point forecasts; with a transformation of the values, the medians
  std::vector<double> deviation;  ///< standard deviations (of the transformed values if there is a transformation)
  bool out_of_range = false;

  /// Returns the quantile of horizon `h` (from 0) at `probability` in (0, 1).
  double quantile(Index h, double probability) const;

  // How quantiles are computed.
  std::vector<std::vector<double>> samples;  ///< samples of each horizon, ascending; empty: normal distributions
  std::vector<double> center;                ///< means of the normal distributions, before `transform.inverse`
  BoxCox transform;
  double lower_limit = -std::numeric_limits<double>::infinity();
};

struct ForecasterOptions {
  double lambda = 1;         ///< exponent of a Box-Cox transformation of the values; 1: none, 0: logarithm
  bool auto_lambda = false;  ///< `lambda` is chosen for each series by `box_cox_lambda`
  std::uint64_t seed = 0;    ///< seed of simulated distributions
  Index paths = 1000;        ///< number of simulated paths
};

/// The input of a model: the values from the first to the last observed value, transformed and scaled. `ets` and
/// `arima` read only the last 2000 values, or ten periods if these are more (`most_fitted_values`).
struct Sample {
  std::vector<double> values = {};  ///< NaN: missing
  std::vector<double> filled = {};  ///< `values`, interpolated
  Index period = 1;
  bool positive = false;  ///< all observed values are greater than 0
  Index observed = 0;     ///< number of observed values
  bool complete() const { return observed == static_cast<Index>(values.size()); }
};

/// Returns the number of values at the end of a series that the members with an iterative fit read at most.
inline Index most_fitted_values(Index period) { return std::max<Index>(2000, 10 * period); }

/// Result of a fit.
struct FitResult {
  std::string name = {};            ///< the form that was chosen, such as "ets:A,Ad,N"
  std::vector<double> fitted = {};  ///< one-step forecasts of the values; NaN where there is no forecast
  double log_likelihood = 0;        ///< log likelihood of `observations` values
  Index observations = 0;           ///< number of values with a likelihood
  Index parameters = 0;             ///< number of estimated values, including the variance
};

/// Returns the corrected Akaike information criterion, -2 l + 2 k + 2 k (k + 1) / (n - k - 1); +infinity if n <= k + 1.
double aicc(double log_likelihood, Index parameters, Index observations);

class Forecaster {
 public:
  virtual ~Forecaster() = default;

  /// Fits the series; a second call replaces the first. Throws DataError if no value is observed, if a value is
  /// infinite, or if a value is not positive although a transformation is given, and UsageError if the period is less
  /// than 1.
  void fit(const UnivariateSeries& series);
  /// Returns the next `horizon` values. Throws UsageError before the first fit.
  Forecast forecast(Index horizon) const;

  const std::string& name() const { return result_.name; }
  /// Returns the residuals, values minus one-step forecasts, for every value of the series; NaN where the value or the
  /// forecast is missing.
  const std::vector<double>& residuals() const { return residuals_; }
  Index parameters() const { return result_.parameters; }
  Index observations() const { return result_.observations; }
  /// Returns the log likelihood of the values in their original units.
  double log_likelihood() const { return result_.log_likelihood; }
  double aicc() const;
  double lambda() const { return transform_.lambda; }

 protected:
  explicit Forecaster(std::string name, const ForecasterOptions& options)
      : options_(options), requested_name_(std::move(name)) {}

  /// Mean and distribution of the next values of a sample; `samples` are not sorted.
  struct Prediction {
    std::vector<double> mean, deviation;
    std::vector<std::vector<double>> samples;
  };
  virtual FitResult fit_sample(const Sample& sample) = 0;
  /// Returns the number of last values that the sample contains at most.
  virtual Index longest_sample(Index /*period*/) const { return std::numeric_limits<Index>::max(); }
  virtual Prediction predict(Index horizon) const = 0;

  const ForecasterOptions& options() const { return options_; }
  const std::string& requested_name() const { return requested_name_; }

 private:
  ForecasterOptions options_;
  std::string requested_name_;
  BoxCox transform_;
  double scale_ = 1;
  bool fitted_ = false, constant_ = false;
  double constant_value_ = 0, lowest_ = 0, highest_ = 0, largest_step_ = 0, growth_ = 0;
  Index trailing_ = 0;
  FitResult result_;
  std::vector<double> residuals_;
};

/// Returns a forecaster by name: naive, seasonal-naive, drift, mean, ses, ets, ets:FORM (error A or M; trend N, A or
/// Ad; season N, A or M; for example ets:M,Ad,A), theta, arima, ar, seasonal-ar, and sba and tsb for
/// intermittent demand. Throws UsageError for any other name.
std::unique_ptr<Forecaster> make_forecaster(std::string_view name, const ForecasterOptions& options = {});

}  // namespace unfold::forecasting
