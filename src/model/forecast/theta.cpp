#include <cmath>

#include "model/forecast/decomposition.h"
#include "model/forecast/ets.h"
#include "model/forecast/members.h"

namespace unfold::forecasting {
namespace {

/// The theta method in its equivalent form: simple exponential smoothing with a drift of half the slope of the linear
/// trend (Assimakopoulos and Nikolopoulos 2000; Hyndman and Billah 2003). A series whose autocorrelation at lag m is
/// significant at 90 % is deseasonalized first, with multiplicative factors if all values are positive and with
/// additive terms otherwise. With n values, level l and slope b of the trend:
///   y_{n+h} = l + b / 2 (h - 1 + (1 - (1 - alpha)^n) / alpha),   deviation sigma sqrt(1 + (h - 1) alpha^2),
/// and both are seasonalized.
class Theta final : public Forecaster {
 public:
  explicit Theta(const ForecasterOptions& options) : Forecaster("theta", options) {}

 protected:
  FitResult fit_sample(const Sample& sample) override {
    const Index n = static_cast<Index>(sample.values.size()), m = sample.period;
    season_.clear();
    multiplicative_ = sample.positive;
    if (m > 1 && n >= 3 * m) {
      const std::vector<double> r = autocorrelations(sample.filled, m);
      if (significant_autocorrelation(r, m, n)) season_ = decompose(sample.filled, m, multiplicative_).season;
    }
    Sample adjusted = sample;
    adjusted.period = 1;
    for (std::size_t t = 0; t < at(n); ++t) {
      adjusted.values[t] = adjust(adjusted.values[t], t);
      adjusted.filled[t] = adjust(adjusted.filled[t], t);
    }
    double mean = 0, spread = 0;
    slope_ = 0;
    for (const double x : adjusted.filled) mean += x / static_cast<double>(n);
    for (std::size_t t = 0; t < at(n); ++t) {
      const double c = static_cast<double>(t) - static_cast<double>(n - 1) / 2;
      slope_ += c * (adjusted.filled[t] - mean);
      spread += c * c;
    }
    slope_ /= spread;

    const EtsForm form;
    const EtsPass pass = run_ets(form, fit_ets(form, adjusted), adjusted.values);
    level_ = pass.end.level, alpha_ = pass.end.alpha, next_ = n;
    FitResult result{.name = "theta"};
    // The one-step forecasts are those from every earlier origin, but with the final slope.
    double power = 1, squares = 0;
    for (std::size_t t = 0; t < at(n); ++t) {
      const double drift = slope_ / 2 * (1 - power) / alpha_;
      const double fitted = pass.fitted[t] + drift;
      if (!std::isnan(adjusted.values[t])) squares += (adjusted.values[t] - fitted) * (adjusted.values[t] - fitted);
      result.fitted.push_back(seasonal(fitted, t));
      power *= 1 - alpha_;
    }
    power_ = power;
    const double observed = static_cast<double>(sample.observed);
    sigma_ = std::sqrt(squares / std::max(1.0, observed - 3));
    result.log_likelihood = pass.log_likelihood;  // the likelihood of the exponential smoothing
    result.observations = sample.observed;
    result.parameters = 4 + (season_.empty() ? 0 : m - 1);  // alpha, l_0, slope, sigma, seasons
    return result;
  }

  Prediction predict(Index horizon) const override {
    Prediction p;
    for (Index h = 1; h <= horizon; ++h) {
      const std::size_t t = at(next_ + h - 1);
      const double steps = static_cast<double>(h - 1);
      const double mean = level_ + slope_ / 2 * (steps + (1 - power_) / alpha_);
      const double width = sigma_ * std::sqrt(1 + steps * alpha_ * alpha_);
      p.mean.push_back(seasonal(mean, t));
      p.deviation.push_back(multiplicative_ && !season_.empty() ? width * season_[t % season_.size()] : width);
    }
    return p;
  }

 private:
  double adjust(double x, std::size_t t) const {
    if (season_.empty()) return x;
    return multiplicative_ ? x / season_[t % season_.size()] : x - season_[t % season_.size()];
  }
  double seasonal(double x, std::size_t t) const {
    if (season_.empty()) return x;
    return multiplicative_ ? x * season_[t % season_.size()] : x + season_[t % season_.size()];
  }

  std::vector<double> season_;  ///< empty: not seasonal
  bool multiplicative_ = false;
  double level_ = 0, slope_ = 0, alpha_ = 1, sigma_ = 0, power_ = 0;
  Index next_ = 0;  ///< index of the first forecast
};

}  // namespace

std::unique_ptr<Forecaster> make_theta(const ForecasterOptions& options) { return std::make_unique<Theta>(options); }

}  // namespace unfold::forecasting
