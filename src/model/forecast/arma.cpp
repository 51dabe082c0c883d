#include "model/forecast/arma.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace unfold::forecasting {
namespace {

constexpr double kNotStationary = std::numeric_limits<double>::infinity();
constexpr double kConvergedGain = 1e-15;

/// Returns the index of the last coefficient that is not 0 in some lane, plus 1.
std::size_t order_of(const std::vector<Lanes>& c) {
  std::size_t n = c.size();
  const auto is_zero = [](const Lanes& x) {
    for (int k = 0; k < kLanes; ++k)
      if (x[k] != 0) return false;
    return true;
  };
  while (n > 0 && is_zero(c[n - 1])) --n;
  return n;
}

/// Returns the autocovariances 0, ..., max_lag of kLanes processes: the autocovariances of the AR part, computed by the
/// recursion of Levinson and Durbin backward to the partial autocorrelations and forward to the covariances, combined
/// with the weights of the MA part. A lane that is not stationary gets NaN.
std::vector<Lanes> lane_autocovariances(const ArmaLanes& process, std::size_t max_lag) {
  const std::size_t p = order_of(process.a), q = order_of(process.b), last = max_lag + q;
  const Lanes one = lanes_of(1), zero = lanes_of(0);
  std::vector<Lanes> g(last + 1, zero);
  Lanes bad = zero;  // NaN where the process is not stationary
  // rows[k] holds the coefficients of order k + 1.
  std::vector<Lanes> rows(p * (p + 1) / 2);
  const auto row = [&](std::size_t order) { return rows.data() + order * (order - 1) / 2; };
  if (p > 0) std::copy(process.a.begin(), process.a.begin() + static_cast<std::ptrdiff_t>(p), row(p));
  Lanes variance = one;
  for (std::size_t order = p; order > 0; --order) {
    const Lanes* c = row(order);
    const Lanes k = c[order - 1], rest = one - k * k;
    for (int lane = 0; lane < kLanes; ++lane)
      if (!(rest[lane] > 0)) bad[lane] = std::numeric_limits<double>::quiet_NaN();
    variance = variance / rest;
    if (order == 1) break;
    Lanes* shorter = row(order - 1);
    for (std::size_t i = 0; i + 1 < order; ++i) shorter[i] = (c[i] + k * c[order - 2 - i]) / rest;
  }
  g[0] = variance + bad;
  for (std::size_t lag = 1; lag <= last; ++lag) {
    const std::size_t order = std::min(lag, p);
    const Lanes* c = order > 0 ? row(order) : nullptr;
    // For lag <= p, the prediction of order lag - 1, plus the partial autocorrelation times its error variance, equals
    // the sum over the coefficients of order `lag`.
    for (std::size_t i = 0; i < order; ++i) g[lag] = g[lag] + c[i] * g[lag - 1 - i];
  }
  if (q == 0) return g;
  std::vector<Lanes> weights(q + 1, zero), result(max_lag + 1, zero);
  const auto b = [&](std::size_t i) { return i == 0 ? one : process.b[i - 1]; };
  for (std::size_t l = 0; l <= q; ++l)
    for (std::size_t i = 0; i + l <= q; ++i) weights[l] = weights[l] + b(i) * b(i + l);
  for (std::size_t lag = 0; lag <= max_lag; ++lag) {
    result[lag] = weights[0] * g[lag];
    for (std::size_t l = 1; l <= q; ++l)
      result[lag] = result[lag] + weights[l] * (g[lag + l] + g[lag >= l ? lag - l : l - lag]);
  }
  return result;
}

/// First column of the stationary covariance of the state: Cov(state_i, w_t).
std::vector<Lanes> first_column(const ArmaLanes& process) {
  const std::size_t r = process.a.size(), q = order_of(process.b);
  const std::vector<Lanes> g = lane_autocovariances(process, r);
  const auto b = [&](std::size_t i) { return i == 0 ? lanes_of(1) : process.b[i - 1]; };
  std::vector<Lanes> psi(r, lanes_of(0)), column(r, lanes_of(0));
  for (std::size_t k = 0; k < r; ++k) {
    psi[k] = k <= q ? b(k) : lanes_of(0);
    for (std::size_t i = 0; i < k; ++i) psi[k] = psi[k] + process.a[i] * psi[k - 1 - i];
  }
  column[0] = g[0];
  for (std::size_t i = 1; i < r; ++i) {
    for (std::size_t j = i; j < r; ++j) column[i] = column[i] + process.a[j] * g[j + 1 - i];
    for (std::size_t j = i; j <= q; ++j) column[i] = column[i] + b(j) * psi[j - i];
  }
  return column;
}

ArmaLanes same_in_all_lanes(std::span<const double> a, std::span<const double> b) {
  const std::size_t r = std::max(a.size(), b.size() + 1);
  ArmaLanes process{std::vector<Lanes>(r, lanes_of(0)), std::vector<Lanes>(r, lanes_of(0))};
  for (std::size_t i = 0; i < a.size(); ++i) process.a[i] = lanes_of(a[i]);
  for (std::size_t i = 0; i < b.size(); ++i) process.b[i] = lanes_of(b[i]);
  return process;
}

}  // namespace

void arma_likelihood(std::span<const double> w, const ArmaLanes& process, Lanes means, Lanes& squares, Lanes& log_sum,
                     std::vector<double>* predicted, std::vector<double>* state) {
  const std::size_t r = process.a.size();
  const Lanes zero = lanes_of(0);
  const Lanes* a = process.a.data();
  // P_{t+1} - P_t = M L L'; F = P_00, gain = T P e_0.
  const std::vector<Lanes> column = first_column(process);
  std::vector<Lanes> memory(3 * (r + 1), zero);
  Lanes *x = memory.data(), *gain = x + r + 1, *l = gain + r + 1;
  for (std::size_t i = 0; i < r; ++i) {
    gain[i] = (i + 1 < r ? column[i + 1] : zero) + a[i] * column[0];
    l[i] = gain[i];
  }
  Lanes f = column[0], m = lanes_of(-1) / f, product = lanes_of(1);
  squares = zero, log_sum = zero;
  bool constant = false;
  int factors = 0;
  for (std::size_t t = 0; t < w.size(); ++t) {
    const Lanes v = lanes_of(w[t]) - means - x[0], ratio = v / f, first = x[0];
    if (predicted != nullptr) predicted->push_back(first[0]);
    squares = squares + v * ratio;
    product = product * f;
    if (++factors == 8) {
      log_sum = log_sum + log_of(product);
      product = lanes_of(1);
      factors = 0;
    }
    for (std::size_t i = 0; i < r; ++i) x[i] = x[i + 1] + a[i] * first + gain[i] * ratio;
    if (constant) continue;
    const Lanes z = l[0], mz = m * z, next_f = f + mz * z, share = z / f;
    for (std::size_t i = 0; i < r; ++i) {
      const Lanes moved = l[i + 1] + a[i] * z;  // T L
      l[i] = moved - gain[i] * share;
      gain[i] = gain[i] + moved * mz;
    }
    m = m - mz * mz / next_f;
    f = next_f;
    if (t % 8 != 7) continue;
    Lanes largest = zero;
    for (std::size_t i = 0; i < r; ++i) {
      const Lanes s = l[i] * l[i];
      largest = s > largest ? s : largest;
    }
    constant = true;
    for (int k = 0; k < kLanes; ++k)  // a lane that is not stationary is never used
      constant = constant && !(largest[k] * -m[k] > kConvergedGain * f[k]);
  }
  log_sum = log_sum + log_of(product);
  for (std::size_t i = 0; state != nullptr && i < r; ++i) state->push_back(x[i][0]);
  for (int k = 0; k < kLanes; ++k)
    if (!(squares[k] >= 0) || !(log_sum[k] > -kNotStationary)) squares[k] = kNotStationary;
}

Lanes arma_conditional_squares(std::span<const double> w, const ArmaLanes& process, std::span<const Index> lags_a,
                               std::span<const Index> lags_b, Lanes means) {
  const Index n = static_cast<Index>(w.size()), first = lags_a.empty() ? 0 : lags_a.back();
  const Index reach = lags_b.empty() ? 0 : lags_b.back();
  // A constant shifts the errors by (1 - sum a) mean, so the values need no centering.
  Lanes shift = means, sum = lanes_of(0);
  for (const Index k : lags_a) shift = shift - process.a[at(k - 1)] * means;
  std::vector<Lanes> memory(at(n + reach), lanes_of(0));
  Lanes* e = memory.data() + reach;
  for (Index t = first; t < n; ++t) {
    Lanes error = lanes_of(w[at(t)]) - shift;
    for (const Index k : lags_a) error = error - process.a[at(k - 1)] * lanes_of(w[at(t - k)]);
    for (const Index k : lags_b) error = error - process.b[at(k - 1)] * e[t - k];
    e[t] = error;
    sum = sum + error * error;
  }
  return sum;
}

ArmaFilter arma_filter(std::span<const double> w, std::span<const double> a_given, std::span<const double> b_given) {
  const ArmaLanes process = same_in_all_lanes(a_given, b_given);
  const std::size_t r = process.a.size();
  if (std::none_of(w.begin(), w.end(), [](double value) { return std::isnan(value); })) {
    ArmaFilter result;
    Lanes squares, log_sum;
    arma_likelihood(w, process, lanes_of(0), squares, log_sum, &result.predicted, &result.state);
    result.squares = squares[0], result.log_sum = log_sum[0], result.observed = static_cast<Index>(w.size());
    return result;
  }
  std::vector<double> a(r + 1), noise(r + 1), x(r + 1), column(r + 1);
  const std::vector<Lanes> lane_column = first_column(process);
  for (std::size_t i = 0; i < r; ++i) {
    a[i] = process.a[i][0];
    noise[i] = i == 0 ? 1 : process.b[i - 1][0];
    column[i] = lane_column[i][0];
  }
  ArmaFilter result;
  result.squares = kNotStationary;
  result.state.assign(x.begin(), x.end() - 1);
  result.predicted.assign(w.size(), 0);
  if (!(column[0] > 0)) return result;
  result.squares = 0;

  // P = T P T' + R R' from the last element backward: row and column 0 are known.
  const std::size_t width = r + 1;  // one more row and column of zeros
  std::vector<double> cov(width * width), next(width * width);
  for (std::size_t i = 0; i < r; ++i) cov[i * width] = cov[i] = column[i];
  for (std::size_t i = r; i-- > 1;)
    for (std::size_t j = r; j-- > 1;)
      cov[i * width + j] = a[i] * a[j] * column[0] + a[i] * column[j + 1] + a[j] * column[i + 1] +
                           cov[(i + 1) * width + j + 1] + noise[i] * noise[j];
  for (std::size_t t = 0; t < w.size(); ++t) {
    result.predicted[t] = x[0];
    if (!std::isnan(w[t])) {
      const double f = cov[0], v = w[t] - x[0];
      result.squares += v * v / f;
      result.log_sum += log_of(f);
      ++result.observed;
      for (std::size_t i = 0; i < r; ++i) column[i] = cov[i * width];
      for (std::size_t i = 0; i < r; ++i) x[i] += column[i] * v / f;
      for (std::size_t i = 0; i < r; ++i)
        for (std::size_t j = 0; j < r; ++j) cov[i * width + j] -= column[i] * column[j] / f;
    }
    const double first = x[0];
    for (std::size_t i = 0; i < r; ++i) x[i] = x[i + 1] + a[i] * first;
    for (std::size_t i = 0; i < r; ++i)
      for (std::size_t j = 0; j < r; ++j)
        next[i * width + j] = cov[(i + 1) * width + j + 1] + a[i] * cov[j + 1] + a[j] * cov[(i + 1) * width] +
                              a[i] * a[j] * cov[0] + noise[i] * noise[j];
    cov.swap(next);
  }
  result.state.assign(x.begin(), x.end() - 1);
  return result;
}

std::vector<double> arma_autocovariances(std::span<const double> a, std::span<const double> b, Index max_lag) {
  const std::vector<Lanes> g = lane_autocovariances(same_in_all_lanes(a, b), at(max_lag));
  std::vector<double> result;
  for (Index k = 0; k <= max_lag; ++k) result.push_back(g[at(k)][0]);
  if (std::isnan(result[0])) result.clear();
  return result;
}

bool is_stationary(std::span<const double> a, double modulus) {
  std::vector<double> c(a.begin(), a.end()), shorter;
  double factor = 1;
  for (double& x : c) x *= factor *= modulus;
  while (!c.empty()) {
    const double k = c.back();
    if (!(std::fabs(k) < 1)) return false;
    shorter.resize(c.size() - 1);
    for (std::size_t i = 0; i < shorter.size(); ++i) shorter[i] = (c[i] + k * c[c.size() - 2 - i]) / (1 - k * k);
    c.swap(shorter);
  }
  return true;
}

}  // namespace unfold::forecasting
