#include "model/forecast/arima.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "model/forecast/arma.h"
#include "model/forecast/decomposition.h"
#include "model/forecast/minimize.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

constexpr double kNoModel = std::numeric_limits<double>::infinity();
constexpr double kLogTwoPiAndOne = 2.8378770664093453;
constexpr double kLeastVariance = 1e-28;  // lower limit of the variance of scaled values; keeps the likelihood of a
                                          // perfect fit finite
constexpr double kLeastModulus = 1.01;    // minimum modulus of the roots of a selected model

/// Coefficients of a polynomial from partial autocorrelations u / sqrt(1 + u^2) (Durbin 1960; Monahan 1984).
void coefficients_of(const Lanes* u, Index count, Lanes* c) {
  Lanes shorter[16];
  for (Index n = 0; n < count; ++n) {
    const Lanes k = u[n] / sqrt_of(lanes_of(1) + u[n] * u[n]);
    std::copy(c, c + n, shorter);
    for (Index i = 0; i < n; ++i) c[i] = shorter[i] - k * shorter[n - 1 - i];
    c[n] = k;
  }
}

/// a = c + s - c s at the lags i, m j and i + m j: the product of 1 - c(B) and 1 - s(B^m) or, if `sign` is -1, of 1 +
/// c(B) and 1 + s(B^m).
void expand(const Lanes* c, Index count, const Lanes* s, Index seasonal, Index m, double sign, std::vector<Lanes>& a) {
  for (Index i = 0; i < count; ++i) a[at(i)] = a[at(i)] + c[i];
  for (Index j = 0; j < seasonal; ++j) {
    const Index lag = m * (j + 1);
    a[at(lag - 1)] = a[at(lag - 1)] + s[j];
    for (Index i = 0; i < count; ++i) a[at(lag + i)] = a[at(lag + i)] - lanes_of(sign) * c[i] * s[j];
  }
}

/// Returns the lags with coefficients, ascending.
std::vector<Index> lags_of(Index count, Index seasonal, Index m) {
  std::vector<Index> lags;
  for (Index j = 0; j <= seasonal; ++j)
    for (Index i = 0; i <= count; ++i)
      if (i + j > 0) lags.push_back(i + m * j);
  std::ranges::sort(lags);
  lags.erase(std::unique(lags.begin(), lags.end()), lags.end());
  return lags;
}

struct WMoments {
  double mean = 0, deviation = 0, largest = 0;
  Index observed = 0;
};

WMoments moments_of(std::span<const double> w) {
  WMoments m;
  for (const double x : w)
    if (!std::isnan(x)) m.mean += x, ++m.observed, m.largest = std::max(m.largest, std::fabs(x));
  m.mean /= static_cast<double>(std::max<Index>(1, m.observed));
  for (const double x : w)
    if (!std::isnan(x)) m.deviation += (x - m.mean) * (x - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(std::max<Index>(1, m.observed)));
  return m;
}

/// The objective of one order as a function of the unbounded parameters: the parameters of phi, theta, Phi and Theta,
/// then the mean in units of the deviation. Values are n / 2 log(sigma^2) + 1/2 sum log F.
class ArimaObjective {
 public:
  ArimaObjective(const ArimaOrder& order, Index period, std::span<const double> w, bool exact)
      : order_(order), m_(period), w_(w), moments_(moments_of(w)), exact_(exact) {
    const Index p = order.p + m_ * order.seasonal_p, q = order.q + m_ * order.seasonal_q;
    process_.a.resize(at(std::max(p, q + 1)));
    process_.b.resize(process_.a.size());
    lags_a_ = lags_of(order.p, order.seasonal_p, m_);
    lags_b_ = lags_of(order.q, order.seasonal_q, m_);
    complete_ = moments_.observed == static_cast<Index>(w.size());
  }

  std::size_t dimension() const { return at(order_.parameters() - 1); }
  /// Returns the number of values in a conditional sum of squares.
  Index conditional_count() const { return static_cast<Index>(w_.size()) - (lags_a_.empty() ? 0 : lags_a_.back()); }

  void operator()(const double* points, double* values) {
    std::vector<Lanes> u(dimension() + 1);
    for (std::size_t i = 0; i < dimension(); ++i)
      for (int k = 0; k < kLanes; ++k) u[i][k] = points[at(k) * dimension() + i];
    const Lanes means = set_process(u);
    Lanes squares, log_sum = lanes_of(0);
    double n = static_cast<double>(moments_.observed), count = n;
    if (!exact_) {
      squares = arma_conditional_squares(w_, process_, lags_a_, lags_b_, means);
      count = static_cast<double>(conditional_count());
    } else if (complete_) {
      arma_likelihood(w_, process_, means, squares, log_sum);
    } else {
      filter_each(means, squares, log_sum);
    }
    const Lanes variance = squares / lanes_of(count);
    const Lanes logs = log_of(variance > kLeastVariance ? variance : lanes_of(kLeastVariance));
    for (int k = 0; k < kLanes; ++k) values[k] = squares[k] < kNoModel ? 0.5 * (n * logs[k] + log_sum[k]) : kNoModel;
  }

  ArimaCoefficients coefficients(const std::vector<double>& x) {
    std::vector<Lanes> u(dimension() + 1);
    for (std::size_t i = 0; i < dimension(); ++i) u[i] = lanes_of(x[i]);
    const Lanes means = set_process(u);
    ArimaCoefficients c;
    const auto first_lane = [](const Lanes* values, Index count) {
      std::vector<double> result;
      for (Index i = 0; i < count; ++i) result.push_back(values[i][0]);
      return result;
    };
    c.ar = first_lane(ar_, order_.p), c.ma = first_lane(ma_, order_.q);
    c.seasonal_ar = first_lane(seasonal_ar_, order_.seasonal_p);
    c.seasonal_ma = first_lane(seasonal_ma_, order_.seasonal_q);
    c.mean = means[0];
    return c;
  }

 private:
  /// Sets the process of each lane; returns the means.
  Lanes set_process(const std::vector<Lanes>& u) {
    const Lanes* next = u.data();
    coefficients_of(next, order_.p, ar_), next += order_.p;
    coefficients_of(next, order_.q, ma_), next += order_.q;
    coefficients_of(next, order_.seasonal_p, seasonal_ar_), next += order_.seasonal_p;
    coefficients_of(next, order_.seasonal_q, seasonal_ma_), next += order_.seasonal_q;
    std::ranges::fill(process_.a, lanes_of(0));
    std::ranges::fill(process_.b, lanes_of(0));
    expand(ar_, order_.p, seasonal_ar_, order_.seasonal_p, m_, 1, process_.a);
    expand(ma_, order_.q, seasonal_ma_, order_.seasonal_q, m_, -1, process_.b);
    if (!order_.constant) return lanes_of(0);
    return lanes_of(moments_.mean) + lanes_of(std::max(moments_.deviation, 1e-14)) * *next;
  }

  void filter_each(Lanes means, Lanes& squares, Lanes& log_sum) const {
    std::vector<double> a(process_.a.size()), b(process_.a.size() - 1), w(w_.size());
    for (int k = 0; k < kLanes; ++k) {
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = process_.a[i][k];
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = process_.b[i][k];
      for (std::size_t t = 0; t < w.size(); ++t) w[t] = w_[t] - means[k];
      const ArmaFilter filter = arma_filter(w, a, b);
      squares[k] = filter.squares, log_sum[k] = filter.log_sum;
    }
  }

  ArimaOrder order_;
  Index m_;
  std::span<const double> w_;
  WMoments moments_;
  bool exact_, complete_ = true;
  ArmaLanes process_;
  std::vector<Index> lags_a_, lags_b_;
  Lanes ar_[16], ma_[16], seasonal_ar_[16], seasonal_ma_[16];
};

/// Derives the parameters of `order` from the parameters of a different order; `added` counts the new parameters.
std::vector<double> carry_over(const ArimaOrder& from, const std::vector<double>& x, const ArimaOrder& order,
                               std::vector<std::size_t>& added) {
  std::vector<double> result;
  std::size_t next = 0;
  const auto copy = [&](Index had, Index has) {
    for (Index i = 0; i < has; ++i) {
      if (i >= had) added.push_back(result.size());
      result.push_back(i < had ? x[next + at(i)] : 0);
    }
    next += at(had);
  };
  copy(from.p, order.p), copy(from.q, order.q);
  copy(from.seasonal_p, order.seasonal_p), copy(from.seasonal_q, order.seasonal_q);
  if (order.constant) result.push_back(from.constant ? x[next] : 0);
  return result;
}

/// One fit of the search.
struct Candidate {
  ArimaOrder order;
  std::vector<double> x;  ///< parameters in the layout of ArimaObjective
  double criterion = kNoModel;
};

class ArimaSearch {
 public:
  ArimaSearch(const ArimaSearchOptions& options, Index period, std::span<const double> w, bool exact)
      : options_(options), m_(period), w_(w), exact_(exact) {
    const Index n = static_cast<Index>(w.size()), third = n / 3;
    options_.max_p = std::min(options.max_p, third), options_.max_q = std::min(options.max_q, third);
    if (period < 2 || n < 2 * period) options_.max_seasonal_p = options_.max_seasonal_q = 0;
  }

  /// Returns all fitted models, the best first.
  std::vector<Candidate> run(Index d, Index seasonal_d) {
    const bool may_have_constant = d + seasonal_d <= 1;
    const auto order = [&](Index p, Index q, Index sp, Index sq, bool constant) {
      return ArimaOrder{std::min(p, options_.max_p),
                        d,
                        std::min(q, options_.max_q),
                        std::min(sp, options_.max_seasonal_p),
                        seasonal_d,
                        std::min(sq, options_.max_seasonal_q),
                        constant};
    };
    for (const ArimaOrder& first :
         {order(0, 0, 0, 0, may_have_constant), order(2, 2, 1, 1, may_have_constant),
          order(1, 0, 1, 0, may_have_constant), order(0, 1, 0, 1, may_have_constant), order(0, 0, 0, 0, false)})
      attempt(first, {});
    for (bool improved = true; improved;) {
      improved = false;
      const Candidate from = fitted_[best_];
      for (const std::array<Index, 4>& step : kSteps) {
        ArimaOrder next = from.order;
        next.p += step[0], next.q += step[1], next.seasonal_p += step[2], next.seasonal_q += step[3];
        if (attempt(next, from)) {
          improved = true;
          break;
        }
      }
      if (improved || !may_have_constant) continue;
      ArimaOrder next = from.order;
      next.constant = !next.constant;
      improved = attempt(next, from);
    }
    std::ranges::stable_sort(fitted_, [](const Candidate& a, const Candidate& b) { return a.criterion < b.criterion; });
    return fitted_;
  }

 private:
  static constexpr std::array<Index, 4> kSteps[] = {{0, 0, -1, 0},  {0, 0, 0, -1}, {0, 0, 1, 0},  {0, 0, 0, 1},
                                                    {0, 0, -1, -1}, {0, 0, -1, 1}, {0, 0, 1, -1}, {0, 0, 1, 1},
                                                    {-1, 0, 0, 0},  {0, -1, 0, 0}, {1, 0, 0, 0},  {0, 1, 0, 0},
                                                    {-1, -1, 0, 0}, {-1, 1, 0, 0}, {1, -1, 0, 0}, {1, 1, 0, 0}};

  /// Fits a model that has not been fitted yet; returns whether it is the best so far.
  bool attempt(const ArimaOrder& order, const Candidate& from) {
    if (order.p < 0 || order.q < 0 || order.seasonal_p < 0 || order.seasonal_q < 0) return false;
    if (order.p > options_.max_p || order.q > options_.max_q || order.seasonal_p > options_.max_seasonal_p ||
        order.seasonal_q > options_.max_seasonal_q)
      return false;
    const Index total = order.p + order.q + order.seasonal_p + order.seasonal_q;
    if (total > options_.max_order && !from.x.empty()) return false;
    if (static_cast<Index>(fitted_.size()) >= options_.max_models) return false;
    for (const Candidate& known : fitted_)
      if (known.order == order) return false;
    fitted_.push_back(fit_from(order, from));
    if (fitted_.size() > 1 && !(fitted_.back().criterion < fitted_[best_].criterion)) return false;
    best_ = fitted_.size() - 1;
    return true;
  }

  Candidate fit_from(const ArimaOrder& order, const Candidate& from);

  ArimaSearchOptions options_;
  Index m_;
  std::span<const double> w_;
  bool exact_;
  std::vector<Candidate> fitted_;
  std::size_t best_ = 0;
};

/// Initial values: the parameters of the related model, with the new parameters at 0 or at patterns of +-0.3 and +-0.9.
std::vector<std::vector<double>> starts_for(const ArimaOrder& order, const Candidate& from) {
  std::vector<std::size_t> added;
  const std::vector<double> base = carry_over(from.order, from.x, order, added);
  std::vector<std::vector<double>> starts{base};
  for (std::size_t k = 1; k < kLanes && !added.empty(); ++k) {
    std::vector<double> x = base;
    for (std::size_t i = 0; i < added.size(); ++i) x[added[i]] = ((k >> (i % 2)) & 1 ? 0.3 : -0.3) * (k < 5 ? 1 : 3);
    starts.push_back(std::move(x));
  }
  return starts;
}

bool has_small_roots(const ArimaCoefficients& c) {
  const auto unstable = [](std::vector<double> x, double sign) {
    for (double& v : x) v *= sign;
    return !is_stationary(x, kLeastModulus);
  };
  return unstable(c.ar, 1) || unstable(c.ma, -1) || unstable(c.seasonal_ar, 1) || unstable(c.seasonal_ma, -1);
}

Candidate ArimaSearch::fit_from(const ArimaOrder& order, const Candidate& from) {
  Candidate candidate{order, {}, kNoModel};
  ArimaObjective objective(order, m_, w_, exact_);
  const Index n = moments_of(w_).observed, k = order.parameters();
  if (n <= k + 1 || (!exact_ && objective.conditional_count() <= k + 1)) return candidate;
  const Minimum minimum = minimize([&](const double* points, double* values) { objective(points, values); },
                                   starts_for(order, from), {.iterations = 50, .tolerance = 1e-6});
  candidate.x = minimum.x;
  if (!(minimum.value < kNoModel) || has_small_roots(objective.coefficients(minimum.x))) return candidate;
  const double log_likelihood = -minimum.value - 0.5 * static_cast<double>(n) * kLogTwoPiAndOne;
  candidate.criterion = aicc(log_likelihood, k, n);
  return candidate;
}

ArimaFit exact_fit(const ArimaOrder& order, Index period, std::span<const double> w, const Candidate& from) {
  ArimaObjective objective(order, period, w, true);
  const Minimum minimum =
      minimize([&](const double* points, double* values) { objective(points, values); }, starts_for(order, from));
  return evaluate_arima(order, objective.coefficients(minimum.x), period, w);
}

class Arima final : public Forecaster {
 public:
  Arima(const ArimaSearchOptions& search, std::optional<ArimaOrder> order, const ForecasterOptions& options)
      : Forecaster("arima", options), search_(search), order_(order) {}

 protected:
  Index longest_sample(Index period) const override { return most_fitted_values(period); }
  FitResult fit_sample(const Sample& sample) override {
    filled_ = sample.filled;
    process_ = LinearProcess{.period = sample.period};
    ArimaFit fit = order_ ? fit_order(sample) : select(sample);
    process_.d = fit.order.d, process_.seasonal_d = fit.order.seasonal_d;
    process_.a = expand_ar(fit.coefficients, sample.period);
    process_.b = expand_ma(fit.coefficients, sample.period);
    process_.mean = fit.coefficients.mean;
    const double n = static_cast<double>(fit.observed), k = static_cast<double>(fit.order.parameters() - 1);
    process_.variance = fit.variance * n / std::max(1.0, n - k);
    FitResult result{.name = "arima:" + fit.order.name(sample.period)};
    result.fitted = process_.fitted(filled_, differenced_);
    result.log_likelihood = fit.log_likelihood;
    result.observations = fit.observed;
    result.parameters = fit.order.parameters();
    return result;
  }

  Prediction predict(Index horizon) const override {
    Prediction p;
    process_.forecast(filled_, differenced_, horizon, p.mean, p.deviation);
    return p;
  }

 private:
  ArimaFit fit_order(const Sample& sample) {
    const Index n = static_cast<Index>(sample.values.size()), m = sample.period;
    const Index lost = order_->d + m * order_->seasonal_d;
    if (n - lost < 1 || sample.observed < order_->parameters())
      throw DataError("arima: " + order_->name(m) + " needs more than " +
                      std::to_string(std::max(lost, order_->parameters() - 1)) + " observed values; the series has " +
                      std::to_string(sample.observed));
    differenced_ = difference_for(sample, order_->d, order_->seasonal_d);
    return exact_fit(*order_, m, differenced_, {});
  }

  ArimaFit select(const Sample& sample) {
    const Index m = sample.period, seasonal_d = seasonal_differences(sample.filled, m);
    const Index d = first_differences(seasonal_d > 0 ? difference(sample.filled, m) : sample.filled);
    differenced_ = difference_for(sample, d, seasonal_d);
    const WMoments moments = moments_of(differenced_);
    ArimaOrder trivial{.d = d, .seasonal_d = seasonal_d};
    if (moments.deviation <= 1e-12 * std::max(1.0, moments.largest)) {  // only rounding errors remain
      trivial.constant = std::fabs(moments.mean) > 1e-12;
      return evaluate_arima(trivial, {.mean = trivial.constant ? moments.mean : 0}, m, differenced_);
    }
    const bool complete = moments.observed == static_cast<Index>(differenced_.size());
    const bool large = static_cast<Index>(sample.values.size()) > 150 || m > 12 || !complete;
    using Likelihood = ArimaSearchOptions::Likelihood;
    const bool exact =
        search_.likelihood == Likelihood::exact || (search_.likelihood == Likelihood::automatic && !large);
    // The conditional sum of squares does not support missing values.
    const std::vector<double> read =
        complete || exact
            ? differenced_
            : difference_for(Sample{.values = sample.filled, .filled = sample.filled, .period = m}, d, seasonal_d);
    const std::vector<Candidate> found = ArimaSearch(search_, m, read, exact).run(d, seasonal_d);

    ArimaFit best;
    double least = kNoModel;
    Index fits = 0;
    for (const Candidate& candidate : found) {
      if (!(candidate.criterion < kNoModel) || fits == (exact ? 1 : search_.refitted)) break;
      ArimaFit fit = exact_fit(candidate.order, m, differenced_, candidate);
      const double criterion = forecasting::aicc(fit.log_likelihood, fit.order.parameters(), fit.observed);
      if (!exact && has_small_roots(fit.coefficients)) continue;
      ++fits;
      if (criterion < least) least = criterion, best = std::move(fit);
    }
    return least < kNoModel ? best : evaluate_arima(trivial, {}, m, differenced_);
  }

  ArimaSearchOptions search_;
  std::optional<ArimaOrder> order_;
  std::vector<double> filled_, differenced_;
  LinearProcess process_;
};

std::vector<double> expanded(const std::vector<double>& c, const std::vector<double>& s, Index m, double sign) {
  std::vector<Lanes> lanes(c.size() + at(m) * s.size() + 1, lanes_of(0)), x, y;
  for (const double v : c) x.push_back(lanes_of(v));
  for (const double v : s) y.push_back(lanes_of(v));
  expand(x.data(), static_cast<Index>(c.size()), y.data(), static_cast<Index>(s.size()), m, sign, lanes);
  std::vector<double> result;
  for (std::size_t i = 0; i + 1 < lanes.size(); ++i) result.push_back(lanes[i][0]);
  return result;
}

}  // namespace

std::string ArimaOrder::name(Index period) const {
  const auto triple = [](Index a, Index b, Index c) {
    return "(" + std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(c) + ")";
  };
  std::string text = triple(p, d, q);
  if (seasonal_p + seasonal_d + seasonal_q > 0)
    text += triple(seasonal_p, seasonal_d, seasonal_q) + "[" + std::to_string(period) + "]";
  return constant ? text + " with constant" : text;
}

std::vector<double> expand_ar(const ArimaCoefficients& c, Index period) {
  return expanded(c.ar, c.seasonal_ar, period, 1);
}

std::vector<double> expand_ma(const ArimaCoefficients& c, Index period) {
  return expanded(c.ma, c.seasonal_ma, period, -1);
}

ArimaFit evaluate_arima(const ArimaOrder& order, const ArimaCoefficients& c, Index period,
                        std::span<const double> differenced) {
  std::vector<double> w(differenced.begin(), differenced.end());
  for (double& x : w) x -= c.mean;
  const ArmaFilter filter = arma_filter(w, expand_ar(c, period), expand_ma(c, period));
  ArimaFit fit{.order = order, .coefficients = c};
  fit.observed = filter.observed;
  const double n = static_cast<double>(filter.observed);
  fit.variance = filter.squares / n;
  fit.log_likelihood = -0.5 * (n * (kLogTwoPiAndOne + log_of(std::max(fit.variance, kLeastVariance))) + filter.log_sum);
  return fit;
}

std::unique_ptr<Forecaster> make_arima(const ArimaSearchOptions& search, const ForecasterOptions& options) {
  for (const Index most : {search.max_p, search.max_q, search.max_seasonal_p, search.max_seasonal_q})
    if (most < 0 || most > 15)
      throw UsageError("arima: the maximum orders must be between 0 and 15, not " + std::to_string(most));
  if (search.refitted < 1)
    throw UsageError("arima: refitted must be at least 1, not " + std::to_string(search.refitted));
  return std::make_unique<Arima>(search, std::nullopt, options);
}

std::unique_ptr<Forecaster> make_arima(const ArimaOrder& order, const ForecasterOptions& options) {
  for (const Index n : {order.p, order.q, order.seasonal_p, order.seasonal_q, order.d, order.seasonal_d})
    if (n < 0 || n > 15) throw UsageError("arima: orders must be between 0 and 15, not " + std::to_string(n));
  return std::make_unique<Arima>(ArimaSearchOptions{}, order, options);
}

}  // namespace unfold::forecasting
