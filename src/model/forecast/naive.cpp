#include <algorithm>
#include <cmath>

#include "model/forecast/lanes.h"
#include "model/forecast/members.h"

namespace unfold::forecasting {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr double kLogTwoPi = 1.8378770664093453;

/// The four benchmarks, from Hyndman and Athanasopoulos (2021), section 5.5. e_t are the one-step errors and sigma^2 is
/// their mean square (divided by their number minus the number of coefficients):
///   naive           y_T                                  sigma sqrt(h)
///   seasonal-naive  y_{T+h-m (k+1)}, k = (h-1) / m       sigma sqrt(k + 1)
///   drift           y_T + h (y_T - y_1) / (T - 1)        sigma sqrt(h (1 + h / (T - 1)))
///   mean            mean of y                            sigma sqrt(1 + 1 / T)
/// Missing values are interpolated; only errors of observed values count. For a series that is not longer than a
/// period, the seasonal-naive forecast equals the naive forecast.
enum class Benchmark { naive, seasonal_naive, drift, mean };

class NaiveForecaster final : public Forecaster {
 public:
  NaiveForecaster(Benchmark kind, std::string name, const ForecasterOptions& options)
      : Forecaster(std::move(name), options), kind_(kind) {}

 protected:
  FitResult fit_sample(const Sample& sample) override {
    const std::vector<double>& y = sample.filled;
    const Index n = static_cast<Index>(y.size());
    lag_ = kind_ == Benchmark::seasonal_naive && n > sample.period ? sample.period : 1;
    count_ = static_cast<double>(n);
    recent_.assign(y.end() - static_cast<std::ptrdiff_t>(lag_), y.end());
    slope_ = kind_ == Benchmark::drift ? (y.back() - y.front()) / (count_ - 1) : 0;
    if (kind_ == Benchmark::mean) {
      double sum = 0;
      for (const double x : sample.values)
        if (!std::isnan(x)) sum += x;
      count_ = static_cast<double>(sample.observed);
      recent_ = {sum / count_};
    }

    FitResult result{.name = requested_name()};
    result.fitted.assign(y.size(), kAbsent);
    double squares = 0;
    for (Index t = kind_ == Benchmark::mean ? 0 : lag_; t < n; ++t) {
      result.fitted[at(t)] = kind_ == Benchmark::mean ? recent_[0] : y[at(t - lag_)] + slope_;
      if (std::isnan(sample.values[at(t)])) continue;
      const double e = y[at(t)] - result.fitted[at(t)];
      squares += e * e;
      ++result.observations;
    }
    const bool has_coefficient = kind_ == Benchmark::drift || kind_ == Benchmark::mean;
    result.parameters = has_coefficient ? 2 : 1;
    const double errors = static_cast<double>(result.observations);
    sigma_ = std::sqrt(squares / std::max(1.0, errors - (has_coefficient ? 1 : 0)));
    result.log_likelihood = -0.5 * errors * (kLogTwoPi + 1 + log_of(std::max(squares / errors, 1e-30)));
    return result;
  }

  Prediction predict(Index horizon) const override {
    Prediction p;
    for (Index i = 0; i < horizon; ++i) {
      const double h = static_cast<double>(i + 1);
      const Index steps = i / lag_ + 1;  // horizon in periods, counted from the last repeated observation
      double width = kind_ == Benchmark::mean ? 1 + 1 / count_ : static_cast<double>(steps);
      if (kind_ == Benchmark::drift) width = h * (1 + h / (count_ - 1));
      p.mean.push_back(recent_[at(i % lag_)] + h * slope_);
      p.deviation.push_back(sigma_ * std::sqrt(width));
    }
    return p;
  }

 private:
  Benchmark kind_;
  Index lag_ = 1;
  double count_ = 0, slope_ = 0, sigma_ = 0;
  std::vector<double> recent_;  ///< the last period; for `mean`, the mean
};

}  // namespace

std::unique_ptr<Forecaster> make_naive(std::string_view name, const ForecasterOptions& options) {
  constexpr std::pair<std::string_view, Benchmark> kNames[] = {{"naive", Benchmark::naive},
                                                               {"seasonal-naive", Benchmark::seasonal_naive},
                                                               {"drift", Benchmark::drift},
                                                               {"mean", Benchmark::mean}};
  for (const auto& [text, kind] : kNames)
    if (name == text) return std::make_unique<NaiveForecaster>(kind, std::string(name), options);
  return nullptr;
}

}  // namespace unfold::forecasting
