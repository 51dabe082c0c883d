#include <algorithm>
#include <cmath>

#include "model/forecast/decomposition.h"
#include "model/forecast/lanes.h"
#include "model/forecast/members.h"
#include "numerics/moments.h"

namespace unfold::forecasting {
namespace {

constexpr double kSeasonalLogTwoPi = 1.8378770664093453;
constexpr Index kShortLags = 4;     // lags 1, ..., kShortLags
constexpr Index kSeasonsBack = 7;   // lags k m - 1, k m, k m + 1 for k = 1, ..., kSeasonsBack
constexpr Index kValuesPerLag = 3;  // minimum number of equations per coefficient
constexpr Index kLongestShare = 3;  // the longest lag is at most the length divided by this
constexpr double kPenalties[] = {1e-4, 1e-3, 1e-2, 1e-1, 1};

/// The least-squares problem of the standardized values z: z_t = sum over lags of a_k z_{t-k} + e_t.
struct LagEquations {
  std::vector<Index> lags;
  std::vector<double> products;  ///< products of the lagged values, divided by the number of equations [lags x lags]
  std::vector<double> targets;   ///< products of the lagged values and the value, divided by the number of equations
  double square = 0;             ///< mean square of the values
  double count = 0;              ///< number of equations

  LagEquations(const std::vector<double>& z, std::vector<Index> chosen)
      : lags(std::move(chosen)), products(lags.size() * lags.size()), targets(lags.size()) {
    const std::size_t n = lags.size(), first = at(lags.back());
    count = static_cast<double>(z.size() - first);
    for (std::size_t t = first; t < z.size(); ++t) {
      square += z[t] * z[t] / count;
      for (std::size_t i = 0; i < n; ++i) {
        const double x = z[t - at(lags[i])] / count;
        targets[i] += x * z[t];
        for (std::size_t j = 0; j <= i; ++j) products[i * n + j] += x * z[t - at(lags[j])];
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) products[i * n + j] = products[j * n + i];
  }
};

struct RidgeFit {
  std::vector<double> coefficients;
  double mean_square = 0;  ///< mean square of the errors
  double freedom = 0;      ///< effective number of coefficients, the trace of (P + c I)^-1 P
};

RidgeFit ridge(const LagEquations& equations, double penalty) {
  const std::size_t n = equations.lags.size();
  const Index size = static_cast<Index>(n);
  std::vector<double> factor = equations.products;
  for (std::size_t i = 0; i < n; ++i) factor[i * n + i] += penalty;
  RidgeFit fit;
  if (!cholesky(factor.data(), size, size)) return fit;
  const auto solve = [&](std::vector<double> b) {
    solve_lower(factor.data(), size, size, b.data());
    solve_upper(factor.data(), size, size, b.data());
    return b;
  };
  fit.coefficients = solve(equations.targets);
  fit.mean_square = equations.square;
  for (std::size_t i = 0; i < n; ++i) {
    double product = 0;
    for (std::size_t j = 0; j < n; ++j) product += equations.products[i * n + j] * fit.coefficients[j];
    fit.mean_square += fit.coefficients[i] * (product - 2 * equations.targets[i]);
    std::vector<double> unit(n);
    unit[i] = 1;
    fit.freedom += 1 - penalty * solve(std::move(unit))[i];
  }
  fit.mean_square = std::max(fit.mean_square, 1e-28);
  return fit;
}

/// An autoregression on the last values and on the values near the same phase in up to seven earlier seasons, by ridge
/// regression; the penalty minimizes generalized cross-validation (Golub, Heath and Wahba 1979). If the seasonal
/// strength calls for a seasonal difference (decomposition.h), differences are predicted, so the penalty shrinks the
/// forecast toward seasonal-naive. A season within a longer season (the hours of a day and of a week) is captured
/// because the lags cover seven seasons.
class SeasonalAutoregression final : public Forecaster {
 public:
  explicit SeasonalAutoregression(const ForecasterOptions& options) : Forecaster("seasonal-ar", options) {}

 protected:
  FitResult fit_sample(const Sample& sample) override {
    filled_ = sample.filled;
    const Index m = sample.period;
    lag_ = seasonal_differences(filled_, m) > 0 ? m : 0;
    z_ = lag_ > 0 ? difference(filled_, lag_) : filled_;
    standardize();
    FitResult result{.name = "seasonal-ar", .fitted = std::vector<double>(filled_.size(), kNoForecast)};
    lags_ = lags_for(static_cast<Index>(z_.size()), m);
    coefficients_.assign(lags_.size(), 0);
    double mean_square = 1, freedom = 0, count = static_cast<double>(z_.size());
    if (!lags_.empty() && scale_ > 0) {
      const LagEquations equations(z_, lags_);
      count = equations.count;
      double least = std::numeric_limits<double>::infinity();
      for (const double penalty : kPenalties) {
        RidgeFit fit = ridge(equations, penalty);
        const double share = 1 - fit.freedom / count, criterion = fit.mean_square / (share * share);
        if (fit.coefficients.empty() || !(share > 0) || !(criterion < least)) continue;
        least = criterion;
        coefficients_ = std::move(fit.coefficients);
        mean_square = fit.mean_square, freedom = fit.freedom;
      }
    }
    sigma_ = scale_ * std::sqrt(mean_square * count / std::max(1.0, count - freedom - 1));
    const Index parameters = 2 + static_cast<Index>(std::lround(freedom));
    for (std::size_t t = lags_.empty() ? 0 : at(lags_.back()); t < z_.size(); ++t)
      result.fitted[t + at(lag_)] = value_of(next(z_, t), t + at(lag_), filled_);
    result.log_likelihood =
        -0.5 * count * (kSeasonalLogTwoPi + 1 + log_of(std::max(mean_square * scale_ * scale_, 1e-28)));
    result.observations = static_cast<Index>(count);
    result.parameters = parameters;
    return result;
  }

  Prediction predict(Index horizon) const override {
    Prediction p;
    std::vector<double> z = z_, y = filled_, psi{1};
    double variance = 1;
    for (std::size_t h = 0; h < at(horizon); ++h) {
      const double forecast = next(z, z.size());
      y.push_back(value_of(forecast, y.size(), y));
      z.push_back(forecast);
      p.mean.push_back(y.back());
      p.deviation.push_back(sigma_ * std::sqrt(variance));
      psi.push_back(response(psi));
      variance += psi.back() * psi.back();
    }
    return p;
  }

 private:
  static constexpr double kNoForecast = std::numeric_limits<double>::quiet_NaN();

  static std::vector<Index> lags_for(Index n, Index m) {
    std::vector<Index> lags;
    const auto add = [&](Index lag) {
      if (lag < 1 || lag > n / kLongestShare || std::ranges::find(lags, lag) != lags.end()) return;
      if (kValuesPerLag * (static_cast<Index>(lags.size()) + 1) <= n - std::max(lag, lags.empty() ? 0 : lags.back()))
        lags.push_back(lag);
    };
    for (Index k = 1; k <= kShortLags; ++k) add(k);
    for (Index k = 1; k <= kSeasonsBack && m > 1; ++k)
      for (const Index shift : {-1, 0, 1}) add(k * m + shift);
    std::ranges::sort(lags);
    return lags;
  }

  void standardize() {
    mean_ = scale_ = 0;
    const double n = static_cast<double>(z_.size());
    for (const double x : z_) mean_ += x / n;
    for (const double x : z_) scale_ += (x - mean_) * (x - mean_) / n;
    scale_ = scale_ > 1e-24 ? std::sqrt(scale_) : 0;  // otherwise only rounding errors remain
    for (double& x : z_) x = scale_ > 0 ? (x - mean_) / scale_ : 0;
  }

  double next(const std::vector<double>& z, std::size_t t) const {
    double sum = 0;
    for (std::size_t i = 0; i < lags_.size(); ++i) sum += coefficients_[i] * z[t - at(lags_[i])];
    return sum;
  }
  /// Returns the value of the series at t, given a standardized value or difference.
  double value_of(double z, std::size_t t, const std::vector<double>& y) const {
    return mean_ + scale_ * z + (lag_ > 0 ? y[t - at(lag_)] : 0);
  }
  /// Returns the next weight of (1 - a(B))^-1 (1 - B^m)^-1.
  double response(const std::vector<double>& psi) const {
    const std::size_t h = psi.size();
    const auto before = [&](std::size_t lag) { return lag <= h ? psi[h - lag] : 0; };
    double sum = lag_ > 0 ? before(at(lag_)) : 0;
    for (std::size_t i = 0; i < lags_.size(); ++i) {
      const std::size_t lag = at(lags_[i]);
      sum += coefficients_[i] * (before(lag) - (lag_ > 0 ? before(lag + at(lag_)) : 0));
    }
    return sum;
  }

  std::vector<double> filled_, z_, coefficients_;
  std::vector<Index> lags_;
  Index lag_ = 0;  ///< lag of the difference; 0: none
  double mean_ = 0, scale_ = 0, sigma_ = 0;
};

}  // namespace

std::unique_ptr<Forecaster> make_seasonal_ar(const ForecasterOptions& options) {
  return std::make_unique<SeasonalAutoregression>(options);
}

}  // namespace unfold::forecasting
