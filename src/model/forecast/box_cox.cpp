#include "model/forecast/box_cox.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/forecast/lanes.h"

namespace unfold::forecasting {

double BoxCox::operator()(double y) const {
  if (identity()) return y;
  const double z = log_of(y);
  return lambda == 0 ? z : (exp_of(lambda * z) - 1) / lambda;
}

double BoxCox::inverse(double z) const {
  if (identity()) return z;
  if (lambda == 0) return exp_of(z);
  const double power = lambda * z + 1;
  if (std::isnan(power)) return power;
  return power > 0 ? exp_of(log_of(power) / lambda) : 0;
}

double box_cox_lambda(std::span<const double> values, Index period) {
  std::vector<double> y;
  for (const double x : values) {
    if (std::isnan(x)) continue;
    if (!(x > 0)) return 1;
    y.push_back(x);
  }
  const std::size_t length = at(std::max<Index>(2, period)), blocks = y.size() / length;
  if (blocks < 4) return 1;
  std::vector<double> mean, deviation;
  for (std::size_t b = 0; b < blocks; ++b) {  // the most recent values are always used
    const double* block = y.data() + (y.size() - (blocks - b) * length);
    double sum = 0, squares = 0;
    for (std::size_t t = 0; t < length; ++t) sum += block[t];
    const double m = sum / static_cast<double>(length);
    for (std::size_t t = 0; t < length; ++t) squares += (block[t] - m) * (block[t] - m);
    mean.push_back(log_of(m));
    deviation.push_back(std::sqrt(squares / static_cast<double>(length - 1)));
  }
  const auto variation = [&](double lambda) {
    double sum = 0, squares = 0;
    std::vector<double> ratio;
    for (std::size_t b = 0; b < blocks; ++b) ratio.push_back(deviation[b] * exp_of((lambda - 1) * mean[b]));
    for (const double x : ratio) sum += x;
    const double m = sum / static_cast<double>(blocks);
    for (const double x : ratio) squares += (x - m) * (x - m);
    return m > 0 ? std::sqrt(squares / static_cast<double>(blocks - 1)) / m : 0;
  };
  const double none = variation(1);
  double best = 1, least = none;
  for (int k = 9; k >= 0; --k) {
    const double c = variation(k / 10.0);
    if (c < least) best = k / 10.0, least = c;
  }
  return least < 0.8 * none ? best : 1;
}

}  // namespace unfold::forecasting
