#include <cmath>
#include <limits>

#include "model/forecast/arima.h"
#include "model/forecast/arma.h"

namespace unfold::forecasting {
namespace {

/// Returns the coefficients c_1, c_2, ... of 1 - c_1 B - c_2 B^2 ... = (1 - B)^d (1 - B^m)^D (1 - a_1 B - ...).
std::vector<double> with_differences(const std::vector<double>& a, Index d, Index seasonal_d, Index m) {
  std::vector<double> c{1};
  for (const double x : a) c.push_back(-x);
  const auto multiply = [&](Index lag) {
    std::vector<double> product(c.size() + at(lag));
    for (std::size_t i = 0; i < c.size(); ++i) {
      product[i] += c[i];
      product[i + at(lag)] -= c[i];
    }
    c.swap(product);
  };
  for (Index k = 0; k < d; ++k) multiply(1);
  for (Index k = 0; k < seasonal_d; ++k) multiply(m);
  c.erase(c.begin());
  for (double& x : c) x = -x;
  return c;
}

std::vector<double> centered(std::span<const double> w, double mean) {
  std::vector<double> x(w.begin(), w.end());
  for (double& v : x) v -= mean;
  return x;
}

}  // namespace

void LinearProcess::forecast(const std::vector<double>& filled, std::span<const double> differenced, Index horizon,
                             std::vector<double>& means, std::vector<double>& deviations) const {
  const ArmaFilter filter = arma_filter(centered(differenced, mean), a, b);
  const std::vector<double> sums = with_differences({}, d, seasonal_d, period);
  const std::vector<double> c = with_differences(a, d, seasonal_d, period);
  std::vector<double> state = filter.state, path = filled, psi{1};
  const std::size_t r = state.size();
  double total = 1;
  for (std::size_t h = 0; h < at(horizon); ++h) {
    double y = mean + state[0];
    for (std::size_t k = 0; k < sums.size(); ++k) y += sums[k] * path[path.size() - 1 - k];
    path.push_back(y);
    means.push_back(y);
    deviations.push_back(std::sqrt(variance * total));
    const double first = state[0];
    for (std::size_t i = 0; i < r; ++i) state[i] = (i + 1 < r ? state[i + 1] : 0) + (i < a.size() ? a[i] * first : 0);
    double next = h < b.size() ? b[h] : 0;
    for (std::size_t k = 0; k < c.size() && k <= h; ++k) next += c[k] * psi[h - k];
    psi.push_back(next);
    total += next * next;
  }
}

std::vector<double> LinearProcess::fitted(const std::vector<double>& filled,
                                          std::span<const double> differenced) const {
  const ArmaFilter filter = arma_filter(centered(differenced, mean), a, b);
  const std::vector<double> sums = with_differences({}, d, seasonal_d, period);
  std::vector<double> result(filled.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t t = sums.size(); t < filled.size(); ++t) {
    double y = mean + filter.predicted[t - sums.size()];
    for (std::size_t k = 0; k < sums.size(); ++k) y += sums[k] * filled[t - 1 - k];
    result[t] = y;
  }
  return result;
}

std::vector<double> difference_for(const Sample& sample, Index d, Index seasonal_d) {
  const auto differences = [&](const std::vector<double>& y) {
    std::vector<double> w = y;
    for (Index k = 0; k < seasonal_d; ++k) w = difference(w, sample.period);
    for (Index k = 0; k < d; ++k) w = difference(w);
    return w;
  };
  std::vector<double> w = differences(sample.values);
  std::size_t observed = 0;
  for (const double x : w) observed += !std::isnan(x);
  return 2 * observed < w.size() ? differences(sample.filled) : w;
}

}  // namespace unfold::forecasting
