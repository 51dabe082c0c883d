#include "model/forecast/forecaster.h"

#include <algorithm>
#include <cmath>

#include "model/forecast/arima.h"
#include "model/forecast/lanes.h"
#include "model/forecast/members.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Returns the power of two p with 0.5 <= mean |x| / p < 1, or 1 if all values are 0.
double power_of_two_scale(const std::vector<double>& values) {
  double largest = 0, sum = 0, count = 0;
  for (const double x : values) largest = std::isnan(x) ? largest : std::max(largest, std::fabs(x));
  if (largest == 0) return 1;
  for (const double x : values)
    if (!std::isnan(x)) sum += std::fabs(x) / largest, ++count;
  int exponent = 0;
  std::frexp(sum / count * largest, &exponent);
  return std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

/// Returns the growth per step of the logarithms of positive values, between the medians of the first and the last
/// third.
double growth_of(std::span<const double> values) {
  const std::size_t third = values.size() / 3;
  std::vector<double> first, last;
  for (std::size_t t = 0; t < third; ++t) {
    if (!std::isnan(values[t])) first.push_back(values[t]);
    if (const double x = values[values.size() - 1 - t]; !std::isnan(x)) last.push_back(x);
  }
  if (first.empty() || last.empty()) return 0;
  for (std::vector<double>* part : {&first, &last})
    std::ranges::nth_element(*part, part->begin() + static_cast<std::ptrdiff_t>(part->size() / 2));
  const double ratio = last[last.size() / 2] / first[first.size() / 2];
  return log_of(ratio) / static_cast<double>(values.size() - third);
}

}  // namespace

double aicc(double log_likelihood, Index parameters, Index observations) {
  const double k = static_cast<double>(parameters), n = static_cast<double>(observations);
  if (n - k - 1 <= 0) return kUnbounded;
  return -2 * log_likelihood + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

double Forecaster::aicc() const {
  if (constant_) return -kUnbounded;
  return forecasting::aicc(result_.log_likelihood, result_.parameters, result_.observations);
}

double Forecast::quantile(Index h, double probability) const {
  if (!(probability > 0 && probability < 1))
    throw UsageError("forecast quantile: the probability " + std::to_string(probability) +
                     " is not between 0 and 1 (both excluded)");
  double z = center[at(h)];
  if (!samples.empty()) {
    const std::vector<double>& x = samples[at(h)];
    const double place = probability * static_cast<double>(x.size() - 1), below = std::floor(place);
    const std::size_t k = static_cast<std::size_t>(below), next = std::min(k + 1, x.size() - 1);
    z = x[k] + (place - below) * (x[next] - x[k]);
  } else if (deviation[at(h)] > 0) {
    z += deviation[at(h)] * normal_quantile(probability);
  }
  return std::min(std::max(transform.inverse(z), lower_limit), std::numeric_limits<double>::max());
}

namespace {

/// Keeps the last `most` values, from the first observed one on. Returns the number of dropped values.
Index drop_first_values(Sample& sample, Index most) {
  Index dropped = std::max<Index>(0, static_cast<Index>(sample.values.size()) - most);
  if (dropped == 0) return 0;
  while (std::isnan(sample.values[at(dropped)])) ++dropped;
  sample.values.erase(sample.values.begin(), sample.values.begin() + static_cast<std::ptrdiff_t>(dropped));
  sample.observed = std::ranges::count_if(sample.values, [](double x) { return !std::isnan(x); });
  return dropped;
}

}  // namespace

void Forecaster::fit(const UnivariateSeries& series) {
  if (series.period < 1)
    throw UsageError("forecast: the seasonal period is " + std::to_string(series.period) + "; it must be at least 1");
  fitted_ = false;
  const std::vector<double>& y = series.values;
  const Index n = static_cast<Index>(y.size());
  interpolate_missing(y);  // checks the values
  Index first = 0, end = n;
  while (std::isnan(y[at(first)])) ++first;
  while (std::isnan(y[at(end - 1)])) --end;
  trailing_ = n - end;

  lowest_ = kUnbounded, highest_ = -kUnbounded, largest_step_ = 0;
  Sample sample{.period = series.period};
  Index last = -1;
  for (Index t = first; t < end; ++t) {
    const double x = y[at(t)];
    sample.values.push_back(x);
    if (std::isnan(x)) continue;
    lowest_ = std::min(lowest_, x), highest_ = std::max(highest_, x);
    if (last >= 0) largest_step_ = std::max(largest_step_, std::fabs(x - y[at(last)]) / static_cast<double>(t - last));
    last = t;
    ++sample.observed;
  }
  const std::span<const double> observed = sample.values;
  growth_ = lowest_ > 0 ? std::max({0.0, growth_of(observed), growth_of(observed.subspan(observed.size() / 2))}) : 0;
  transform_.lambda = options_.auto_lambda ? box_cox_lambda(sample.values, series.period) : options_.lambda;
  if (!transform_.identity() && !(lowest_ > 0))
    throw DataError("forecast: the value " + std::to_string(lowest_) +
                    " is not positive, so a Box-Cox transformation is not defined; use lambda 1 or add a constant");

  residuals_.assign(at(n), kUnknown);
  constant_ = lowest_ == highest_;
  constant_value_ = lowest_;
  if (constant_) {
    result_ = {.name = requested_name_,
               .fitted = {},
               .log_likelihood = kUnbounded,
               .observations = sample.observed,
               .parameters = 1};
    for (Index t = first; t < end; ++t)
      if (!std::isnan(y[at(t)])) residuals_[at(t)] = 0;
    fitted_ = true;
    return;
  }

  for (double& x : sample.values) x = transform_(x);
  scale_ = power_of_two_scale(sample.values);
  double smallest = kUnbounded;
  for (double& x : sample.values) {
    x /= scale_;
    if (x < smallest) smallest = x;
  }
  sample.positive = smallest > 0;
  first += drop_first_values(sample, longest_sample(series.period));
  sample.filled = interpolate_missing(sample.values, sample.period);
  result_ = fit_sample(sample);
  result_.log_likelihood -= static_cast<double>(result_.observations) * log_of(scale_);
  for (std::size_t t = 0; t < result_.fitted.size(); ++t) {
    const std::size_t place = at(first) + t;
    residuals_[place] = y[place] - transform_.inverse(result_.fitted[t] * scale_);
    // The density of the value itself is the density of the transformed value times the derivative y^(lambda - 1).
    if (!transform_.identity() && !std::isnan(residuals_[place]))
      result_.log_likelihood += (transform_.lambda - 1) * log_of(y[place]);
  }
  fitted_ = true;
}

Forecast Forecaster::forecast(Index horizon) const {
  if (!fitted_) throw UsageError("forecast: the model " + requested_name_ + " has not been fitted to a series");
  if (horizon < 1) throw UsageError("forecast: the horizon is " + std::to_string(horizon) + "; it must be at least 1");
  Forecast f;
  f.transform = transform_;
  if (lowest_ >= 0) f.lower_limit = 0;
  if (constant_) {
    f.transform = BoxCox{};
    f.mean.assign(at(horizon), constant_value_);
    f.deviation.assign(at(horizon), 0);
    f.center = f.mean;
    return f;
  }
  Prediction p = predict(horizon + trailing_);
  const auto skipped = static_cast<std::ptrdiff_t>(trailing_);
  f.center.assign(p.mean.begin() + skipped, p.mean.end());
  f.deviation.assign(p.deviation.begin() + skipped, p.deviation.end());
  if (!p.samples.empty())
    f.samples.assign(std::make_move_iterator(p.samples.begin() + skipped), std::make_move_iterator(p.samples.end()));
  f.mean.resize(at(horizon));
  for (std::size_t h = 0; h < f.center.size(); ++h) {
    const double reach = largest_step_ * static_cast<double>(trailing_ + static_cast<Index>(h) + 1);
    const double grown = highest_ * exp_of(1.25 * growth_ * static_cast<double>(trailing_ + static_cast<Index>(h) + 1));
    const double lower = lowest_ - reach;
    const double upper = growth_ > 0 ? std::max(highest_ + reach, std::min(grown, std::numeric_limits<double>::max()))
                                     : highest_ + reach;
    f.center[h] *= scale_;
    f.deviation[h] *= scale_;
    double& mean = f.mean[h] = f.transform.inverse(f.center[h]);
    f.out_of_range = f.out_of_range || !(mean >= lower && mean <= upper);
    // A report must not contain values that are not finite; the flag indicates that the value was replaced with the
    // limit.
    if (std::isnan(mean)) mean = highest_;
    if (std::isinf(mean)) mean = mean > 0 ? upper : lower;
    if (!std::isfinite(f.center[h])) f.center[h] = transform_.identity() ? mean : transform_(std::max(mean, lowest_));
    if (!std::isfinite(f.deviation[h])) f.deviation[h] = std::numeric_limits<double>::max();
    mean = std::max(mean, f.lower_limit);
    if (f.samples.empty()) continue;
    for (double& x : f.samples[h]) {
      x *= scale_;
      if (!std::isfinite(x)) x = std::isnan(x) || x > 0 ? std::numeric_limits<double>::max() : f.lower_limit;
    }
    std::ranges::sort(f.samples[h]);
  }
  return f;
}

std::unique_ptr<Forecaster> make_forecaster(std::string_view name, const ForecasterOptions& options) {
  if (options.paths < 2)
    throw UsageError("forecaster: the number of paths must be at least 2, not " + std::to_string(options.paths));
  if (auto naive = make_naive(name, options)) return naive;
  if (auto ets = make_ets(name, options)) return ets;
  if (auto croston = make_croston(name, options)) return croston;
  if (name == "theta") return make_theta(options);
  if (name == "arima") return make_arima(ArimaSearchOptions{}, options);
  if (name == "ar") return make_ar(options);
  if (name == "seasonal-ar") return make_seasonal_ar(options);
  throw UsageError(
      "forecaster \"" + std::string(name.substr(0, 40)) +
      "\" does not exist; use naive, seasonal-naive, drift, mean, ses, ets, ets:FORM (such as ets:A,Ad,N), "
      "theta, arima, ar, seasonal-ar, sba or tsb");
}

}  // namespace unfold::forecasting
