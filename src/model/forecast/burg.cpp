#include <algorithm>
#include <cmath>

#include "model/forecast/arima.h"
#include "model/forecast/arma.h"
#include "model/forecast/decomposition.h"
#include "model/forecast/members.h"

namespace unfold::forecasting {
namespace {

constexpr double kAutoregressionLogTwoPi = 1.8378770664093453;

/// An autoregression of the differenced, interpolated values (differences as in arima.h) around their mean. The
/// coefficients of every order up to max(10 log10 n, m + 1), at most n / 3, follow from the recursion of Burg (1975);
/// the order minimizes AICc of the exact Gaussian likelihood. The mean is not estimated after a second difference.
class Autoregression final : public Forecaster {
 public:
  explicit Autoregression(const ForecasterOptions& options) : Forecaster("ar", options) {}

 protected:
  FitResult fit_sample(const Sample& sample) override {
    const Index m = sample.period;
    filled_ = sample.filled;
    process_ = LinearProcess{.period = m};
    process_.seasonal_d = seasonal_differences(filled_, m);
    process_.d = first_differences(process_.seasonal_d > 0 ? difference(filled_, m) : filled_);
    differenced_ = filled_;
    if (process_.seasonal_d > 0) differenced_ = difference(differenced_, m);
    for (Index k = 0; k < process_.d; ++k) differenced_ = difference(differenced_);
    const bool has_mean = process_.d + process_.seasonal_d <= 1;
    const double count = static_cast<double>(differenced_.size());
    if (has_mean)
      for (const double x : differenced_) process_.mean += x / count;
    std::vector<double> w = differenced_;
    for (double& x : w) x -= process_.mean;
    FitResult result = choose_order(w, m, has_mean ? 1 : 0);
    result.fitted = process_.fitted(filled_, differenced_);
    return result;
  }

  Prediction predict(Index horizon) const override {
    Prediction p;
    process_.forecast(filled_, differenced_, horizon, p.mean, p.deviation);
    return p;
  }

 private:
  FitResult choose_order(const std::vector<double>& w, Index m, Index means) {
    const std::size_t n = w.size();
    const double count = static_cast<double>(n);
    Index most = std::max<Index>(static_cast<Index>(10 * log_of(count) / log_of(10)), m > 1 ? m + 1 : 0);
    most = std::min(most, static_cast<Index>(n) / 3);
    double size = 0;
    for (const double x : w) size = std::max(size, std::fabs(x));
    if (size <= 1e-12) most = 0;  // only rounding errors remain

    std::vector<double> forward = w, backward = w, c, before, partials;
    double log_factors = 0;  // minus the sum of log F_t with sigma = 1: sum of k log(1 - partial_k^2)
    double least = std::numeric_limits<double>::infinity();
    FitResult best{.name = "ar"};
    for (Index order = 0; order <= most; ++order) {
      if (order > 0) {
        double product = 0, squares = 0;
        for (std::size_t t = at(order); t < n; ++t) {
          product += forward[t] * backward[t - 1];
          squares += forward[t] * forward[t] + backward[t - 1] * backward[t - 1];
        }
        if (!(squares > 0)) break;
        const double k = std::clamp(2 * product / squares, -1 + 1e-9, 1 - 1e-9);
        before = c;
        for (std::size_t i = 0; i < before.size(); ++i) c[i] = before[i] - k * before[before.size() - 1 - i];
        c.push_back(k);
        for (std::size_t t = n; t-- > at(order);) {
          const double f = forward[t], b = backward[t - 1];
          forward[t] = f - k * b;
          backward[t] = b - k * f;
        }
        partials.push_back(k);
        log_factors += static_cast<double>(order) * log_of(1 - k * k);
      }
      // forward[t] is the error of the best prediction from min(t, order) values; at t < order, its variance is the
      // variance for order t: 1 / ((1 - k_{t+1}^2) ... (1 - k_order^2)).
      double squares = 0, factor = 1;
      for (std::size_t t = n; t-- > at(order);) squares += forward[t] * forward[t];
      for (Index t = order - 1; t >= 0; --t) {
        factor *= 1 - partials[at(t)] * partials[at(t)];
        squares += forward[at(t)] * forward[at(t)] * factor;
      }
      const double variance = squares / count;
      const double log_likelihood =
          -0.5 * (count * (kAutoregressionLogTwoPi + 1 + log_of(std::max(variance, 1e-28))) - log_factors);
      const Index parameters = order + means + 1;
      const double criterion = forecasting::aicc(log_likelihood, parameters, static_cast<Index>(n));
      if (order > 0 && !(criterion < least)) continue;
      least = criterion;
      process_.a = c;
      process_.variance = squares / std::max(1.0, count - static_cast<double>(parameters - 1));
      best.name = "ar:" + std::to_string(order);
      best.log_likelihood = log_likelihood;
      best.parameters = parameters;
      best.observations = static_cast<Index>(n);
    }
    return best;
  }

  std::vector<double> filled_, differenced_;
  LinearProcess process_;
};

}  // namespace

std::unique_ptr<Forecaster> make_ar(const ForecasterOptions& options) {
  return std::make_unique<Autoregression>(options);
}

}  // namespace unfold::forecasting
