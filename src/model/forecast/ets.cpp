#include "model/forecast/ets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/forecast/decomposition.h"
#include "model/forecast/lanes.h"
#include "model/forecast/members.h"
#include "model/forecast/minimize.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr double kLogOfTwoPi = 1.8378770664093453;
constexpr double kLeastSquare = 1e-28;  // lower limit of the mean square of a scaled series; keeps the likelihood of a
                                        // perfect fit finite
constexpr double kLeastShare = 1e-4, kMostShare = 1 - 1e-4, kLeastPhi = 0.8, kMostPhi = 0.98;
constexpr double kLeastState =
    1e-12;  // lower limit of a level or season used as a divisor, and of a mean that must be positive

/// Maps the real line to (low, high) with algebraic tails; the inverse follows.
double squash(double u, double low, double high) { return low + (high - low) * 0.5 * (1 + u / std::sqrt(1 + u * u)); }
double unsquash(double x, double low, double high) {
  const double r = std::clamp(2 * (x - low) / (high - low) - 1, -0.999, 0.999);
  return r / std::sqrt(1 - r * r);
}

/// Returns whether the roots of 1 + c_1 z + ... + c_n z^n, given by the reversed polynomial z^n + c_1 z^{n-1} + ... +
/// c_n, lie within the unit circle, up to 1e-6 (the recursion of Schur and Cohn).
bool roots_within_unit_circle(std::vector<double> c) {
  double factor = 1;
  for (double& x : c) x *= factor *= 1 - 1e-6;
  for (std::size_t n = c.size(); n > 0; --n) {
    const double k = c[n - 1];
    if (!(std::fabs(k) < 1)) return false;
    const double divisor = 1 - k * k;
    for (std::size_t i = 0, j = n - 2; n > 1 && i <= j; ++i, --j) {
      const double a = c[i], b = c[j];
      c[i] = (a - k * b) / divisor;
      c[j] = (b - k * a) / divisor;
      if (j == 0) break;
    }
  }
  return true;
}

/// Returns whether forecasts forget the initial states, that is, whether the roots of the characteristic polynomial of
/// the error recursion (Hyndman et al. 2008, chapter 10) are within the unit circle.
bool forecastable(const EtsForm& form, Index period, double alpha, double beta, double gamma, double phi) {
  if (form.season == EtsSeason::none) return true;  // implied by the limits of the parameters
  const std::size_t m = at(period);
  // z^{m+1} + (alpha + beta - phi) z^m + (alpha + beta - alpha phi) (z^{m-1} + ... + z^2)
  //         + (alpha + beta - alpha phi + gamma - 1) z + phi (1 - alpha - gamma)
  std::vector<double> c(m + 1, alpha + beta - alpha * phi);
  c[0] = alpha + beta - phi;
  c[m - 1] = (m == 1 ? c[0] : alpha + beta - alpha * phi) + gamma - 1;
  c[m] = phi * (1 - alpha - gamma);
  return roots_within_unit_circle(std::move(c));
}

struct LaneParameters {
  Lanes alpha, beta, gamma, phi, level, slope;
};

/// Sums of squares and of log mu (multiplicative errors), for kLanes parameter vectors. Without a trend, slope is 0 and
/// phi 1. `seasons` has m entries, beginning with the season of the first value, and is modified. Infeasible lanes get
/// an infinite sum of squares.
template <bool kMultiplicativeError, bool kTrend, EtsSeason kSeason>
void run_lanes(std::span<const double> y, LaneParameters& p, Lanes* seasons, Index m, Lanes& squares, Lanes& log_sum) {
  Lanes level = p.level, slope = p.slope, sum = lanes_of(0), product = lanes_of(1), least = lanes_of(1);
  log_sum = lanes_of(0);
  Index place = 0;
  int factors = 0;
  for (const double value : y) {
    Lanes q = level;
    if constexpr (kTrend) {
      slope = p.phi * slope;
      q = level + slope;
    }
    Lanes mu = q;
    if constexpr (kSeason == EtsSeason::additive) mu = q + seasons[place];
    if constexpr (kSeason == EtsSeason::multiplicative) mu = q * seasons[place];
    const bool observed = !std::isnan(value);
    if (observed) {
      const Lanes e = lanes_of(value) - mu;
      if constexpr (kSeason == EtsSeason::multiplicative) {
        const Lanes s = seasons[place];
        least = q < least ? q : least;
        least = s < least ? s : least;
        const Lanes seasonal_error = e / s;
        level = q + p.alpha * seasonal_error;
        if constexpr (kTrend) slope = slope + p.beta * seasonal_error;
        seasons[place] = s + p.gamma * e / q;
      } else {
        level = q + p.alpha * e;
        if constexpr (kTrend) slope = slope + p.beta * e;
        if constexpr (kSeason == EtsSeason::additive) seasons[place] = seasons[place] + p.gamma * e;
      }
      if constexpr (kMultiplicativeError) {
        least = mu < least ? mu : least;
        const Lanes relative = e / mu;
        sum = sum + relative * relative;
        product = product * mu;
        if (++factors == 8) {
          log_sum = log_sum + log_of(product);
          product = lanes_of(1);
          factors = 0;
        }
      } else {
        sum = sum + e * e;
      }
    } else {
      level = q;
    }
    if constexpr (kSeason != EtsSeason::none) place = place + 1 == m ? 0 : place + 1;
  }
  if constexpr (kMultiplicativeError) log_sum = log_sum + log_of(product);
  squares = least > kLeastState ? sum : lanes_of(kImpossible);
}

using LaneKernel = void (*)(std::span<const double>, LaneParameters&, Lanes*, Index, Lanes&, Lanes&);
template <bool kMultiplicativeError, bool kTrend>
LaneKernel kernel_of(EtsSeason season) {
  if (season == EtsSeason::none) return run_lanes<kMultiplicativeError, kTrend, EtsSeason::none>;
  if (season == EtsSeason::additive) return run_lanes<kMultiplicativeError, kTrend, EtsSeason::additive>;
  return run_lanes<kMultiplicativeError, kTrend, EtsSeason::multiplicative>;
}

LaneKernel kernel_of(const EtsForm& form) {
  const bool trend = form.trend != EtsTrend::none;
  if (form.multiplicative_error)
    return trend ? kernel_of<true, true>(form.season) : kernel_of<true, false>(form.season);
  return trend ? kernel_of<false, true>(form.season) : kernel_of<false, false>(form.season);
}

/// Initial states: the seasons from a decomposition of at most the first three periods, and the linear trend of the
/// first max(10, 2 m) deseasonalized values (Hyndman et al. 2008, section 2.6.1).
EtsParameters initial_states(const EtsForm& form, const std::vector<double>& y, Index m) {
  EtsParameters p;
  std::vector<double> adjusted(y);
  if (form.season != EtsSeason::none) {
    const bool multiplicative = form.season == EtsSeason::multiplicative;
    const std::size_t length = std::min(y.size(), at(std::max<Index>(3 * m, 2 * m + 1)));
    p.seasons = decompose(std::span(y).first(length), m, multiplicative).season;
    for (std::size_t t = 0; t < adjusted.size(); ++t) {
      double& s = p.seasons[t % at(m)];
      if (multiplicative) s = std::max(s, 0.01);
      adjusted[t] = multiplicative ? y[t] / s : y[t] - s;
    }
  }
  const std::size_t count = std::min(y.size(), at(std::max<Index>(10, form.season == EtsSeason::none ? 0 : 2 * m)));
  double mean = 0, slope = 0, spread = 0;
  for (std::size_t t = 0; t < count; ++t) mean += adjusted[t] / static_cast<double>(count);
  for (std::size_t t = 0; t < count; ++t) {
    const double c = static_cast<double>(t) - static_cast<double>(count - 1) / 2;
    slope += c * (adjusted[t] - mean);
    spread += c * c;
  }
  p.level = mean;
  if (form.trend != EtsTrend::none) {
    p.slope = spread > 0 ? slope / spread : 0;
    p.level = mean - p.slope * static_cast<double>(count + 1) / 2;
    if (form.needs_positive_values() && p.level + p.slope <= kLeastState) p.level = mean, p.slope = 0;
  }
  return p;
}

/// The negative log likelihood (without constants) of kLanes parameter vectors, as `minimize` reads it. The vectors
/// contain the parameters of the form among alpha, beta, gamma and phi (mapped by `squash`), then changes of the
/// initial states in units of `unit`.
class EtsObjective {
 public:
  EtsObjective(const EtsForm& form, const Sample& sample)
      : form_(form),
        sample_(sample),
        initial_(initial_states(form, sample.filled, sample.period)),
        m_(form.season == EtsSeason::none ? 1 : sample.period),
        seasons_(at(m_)),
        kernel_(kernel_of(form)) {
    double changes = 0;
    const std::vector<double>& y = sample.filled;
    for (std::size_t t = 1; t < y.size(); ++t) changes += std::fabs(y[t] - y[t - 1]);
    unit_ = std::max(changes / static_cast<double>(y.size() - 1), 1e-12);
    season_unit_ =
        form.season == EtsSeason::multiplicative ? unit_ / std::max(std::fabs(initial_.level), unit_) : unit_;
  }

  std::size_t smoothing() const {
    return 1 + (form_.trend != EtsTrend::none) + (form_.season != EtsSeason::none) + (form_.trend == EtsTrend::damped);
  }
  std::size_t dimension() const { return smoothing() + 1 + (form_.trend != EtsTrend::none) + at(m_ - 1); }

  std::vector<double> start(double alpha, double beta_share, double gamma_share) const {
    std::vector<double> u{unsquash(alpha, kLeastShare, kMostShare)};
    if (form_.trend != EtsTrend::none) u.push_back(unsquash(beta_share, kLeastShare, kMostShare));
    if (form_.season != EtsSeason::none) u.push_back(unsquash(gamma_share, kLeastShare, kMostShare));
    if (form_.trend == EtsTrend::damped) u.push_back(unsquash(0.95, kLeastPhi, kMostPhi));
    u.resize(dimension());
    return u;
  }

  EtsParameters parameters(const double* u) const {
    EtsParameters p;
    std::size_t i = 0;
    p.alpha = squash(u[i++], kLeastShare, kMostShare);
    if (form_.trend != EtsTrend::none) p.beta = p.alpha * squash(u[i++], kLeastShare, kMostShare);
    if (form_.season != EtsSeason::none) p.gamma = (1 - p.alpha) * squash(u[i++], kLeastShare, kMostShare);
    if (form_.trend == EtsTrend::damped) p.phi = squash(u[i++], kLeastPhi, kMostPhi);
    p.level = initial_.level + unit_ * u[i++];
    if (form_.trend != EtsTrend::none) p.slope = initial_.slope + 0.1 * unit_ * u[i++];
    if (form_.season == EtsSeason::none) return p;
    p.seasons = initial_.seasons;
    double last = 0;
    for (std::size_t j = 0; j + 1 < at(m_); ++j) {
      p.seasons[j] += season_unit_ * u[i];
      last -= season_unit_ * u[i++];
    }
    p.seasons.back() += last;
    return p;
  }

  void operator()(const double* points, double* values) {
    LaneParameters p{};
    bool feasible[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      const EtsParameters one = parameters(points + at(k) * dimension());
      p.alpha[k] = one.alpha, p.beta[k] = one.beta, p.gamma[k] = one.gamma, p.phi[k] = one.phi;
      p.level[k] = one.level, p.slope[k] = one.slope;
      for (std::size_t j = 0; j < one.seasons.size(); ++j) seasons_[j][k] = one.seasons[j];
      const std::array<double, 4> smoothing{one.alpha, one.beta, one.gamma, one.phi};
      if (smoothing != checked_) {
        checked_ = smoothing;
        checked_feasible_ = forecastable(form_, m_, one.alpha, one.beta, one.gamma, one.phi);
      }
      feasible[k] = checked_feasible_;
    }
    Lanes squares, log_sum;
    kernel_(sample_.values, p, seasons_.data(), m_, squares, log_sum);
    const double n = static_cast<double>(sample_.observed);
    const Lanes mean_square = squares / lanes_of(n);
    const Lanes logs = log_of(mean_square > kLeastSquare ? mean_square : lanes_of(kLeastSquare));
    for (int k = 0; k < kLanes; ++k)
      values[k] = feasible[k] && squares[k] < kImpossible ? 0.5 * n * logs[k] + log_sum[k] : kImpossible;
  }

 private:
  EtsForm form_;
  const Sample& sample_;
  EtsParameters initial_;
  Index m_;
  std::vector<Lanes> seasons_;
  LaneKernel kernel_;
  double unit_ = 1, season_unit_ = 1;
  std::array<double, 4> checked_{-1, 0, 0, 0};
  bool checked_feasible_ = false;
};

/// Returns the forecasts of a form from its final states.
std::vector<double> point_forecasts(const EtsForm& form, const EtsParameters& p, Index horizon) {
  std::vector<double> mean;
  double level = p.level, slope = p.slope;
  for (Index h = 0; h < horizon; ++h) {
    slope *= p.phi;
    level += slope;
    double mu = level;
    if (form.season != EtsSeason::none) {
      const double s = p.seasons[at(h) % p.seasons.size()];
      mu = form.season == EtsSeason::additive ? level + s : level * s;
    }
    mean.push_back(mu);
  }
  return mean;
}

/// Simulates one future with random errors of standard deviation sigma.
void simulate(const EtsForm& form, EtsParameters p, double sigma, Random& random, std::vector<double>& path) {
  for (std::size_t h = 0; h < path.size(); ++h) {
    p.slope *= p.phi;
    const double q = p.level + p.slope;
    double none = 1;
    double& s = p.seasons.empty() ? none : p.seasons[h % p.seasons.size()];
    const double mu = form.season == EtsSeason::none ? q : form.season == EtsSeason::additive ? q + s : q * s;
    // A relative error of -1 or less would change the sign of the values.
    const double e =
        form.multiplicative_error ? mu * std::max(sigma * random.normal(), -1 + 1e-6) : sigma * random.normal();
    path[h] = mu + e;
    const double seasonal_error = form.season == EtsSeason::multiplicative ? e / s : e;
    p.level = q + p.alpha * seasonal_error;
    p.slope += p.beta * seasonal_error;
    s += p.gamma * (form.season == EtsSeason::multiplicative ? e / q : e);
  }
}

/// Number of steps of the short search, and the difference in AICc beyond which a form is dropped.
constexpr Index kScreenSteps = 15;
constexpr double kScreenMargin = 10;

/// Runs the short search, with one initial point and few steps.
EtsParameters screen(const EtsForm& form, const Sample& sample) {
  EtsObjective objective(form, sample);
  std::vector<std::vector<double>> starts;
  for (const double alpha : {0.05, 0.2, 0.5, 0.9})
    for (const double share : {0.05, 0.3}) starts.push_back(objective.start(alpha, share, share));
  const Minimum found = minimize([&](const double* points, double* values) { objective(points, values); }, starts,
                                 {.iterations = kScreenSteps});
  return objective.parameters(found.x.data());
}

class Ets final : public Forecaster {
 public:
  Ets(std::vector<EtsForm> forms, std::string name, const ForecasterOptions& options)
      : Forecaster(std::move(name), options), forms_(std::move(forms)) {}

 protected:
  Index longest_sample(Index period) const override { return most_fitted_values(period); }
  FitResult fit_sample(const Sample& sample) override {
    // A short search screens the forms. Forms that are far worse than the best form are not searched in full.
    std::vector<double> screened;
    double least = kImpossible;
    for (const EtsForm& form : forms_) {
      double criterion = kImpossible;
      if (is_applicable(form, sample))
        criterion = forms_.size() == 1 ? 0 : criterion_of(form, screen(form, sample), sample).first;
      screened.push_back(criterion);
      least = std::min(least, criterion);
    }
    const double limit = least + kScreenMargin;
    least = kImpossible;
    bool found = false;
    EtsPass best;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      if (!(screened[i] <= limit) || screened[i] == kImpossible) continue;
      auto [criterion, pass] = criterion_of(forms_[i], fit_ets(forms_[i], sample), sample);
      if (!(criterion < least)) continue;
      least = criterion, found = true;
      form_ = forms_[i], best = std::move(pass);
    }
    if (!found) {  // no form has fewer parameters than the series has values
      form_ = EtsForm{};
      best = run_ets(form_, fit_ets(form_, sample), sample.values);
    }
    end_ = std::move(best.end);
    const Index k = form_.parameters(sample.period);
    const double n = static_cast<double>(sample.observed);
    sigma_ = std::sqrt(best.mean_square * n / std::max(1.0, n - static_cast<double>(k - 1)));
    FitResult result{.name = requested_name() == "ets" ? "ets:" + form_.name() : requested_name()};
    if (!found && requested_name().starts_with("ets")) result.name = "ets:" + form_.name();
    result.fitted = std::move(best.fitted);
    result.log_likelihood = best.log_likelihood;
    result.observations = sample.observed;
    result.parameters = k;
    return result;
  }

  Prediction predict(Index horizon) const override {
    Prediction p;
    p.mean = point_forecasts(form_, end_, horizon);
    if (form_.multiplicative_error || form_.season == EtsSeason::multiplicative) {
      simulate_paths(p);
      return p;
    }
    // c_j = alpha + beta (phi + ... + phi^j) + gamma [m divides j] (Hyndman et al. 2008, table 6.1)
    double variance = 1, power = 1, slope = 0;
    for (Index j = 1; j <= horizon; ++j) {
      p.deviation.push_back(sigma_ * std::sqrt(variance));
      slope += power *= end_.phi;
      double c = end_.alpha + end_.beta * slope;
      if (!end_.seasons.empty() && at(j) % end_.seasons.size() == 0) c += end_.gamma;
      variance += c * c;
    }
    return p;
  }

 private:
  /// Returns fewer paths for horizons above two thousand steps, so time and memory do not grow further.
  std::size_t number_of_paths(std::size_t horizon) const {
    constexpr std::size_t kFullHorizon = 2000, kLeastPaths = 50;
    const std::size_t paths = at(options().paths);
    if (horizon <= kFullHorizon) return paths;
    return std::min(paths, std::max(kLeastPaths, paths * kFullHorizon / horizon));
  }

  void simulate_paths(Prediction& p) const {
    const std::size_t horizon = p.mean.size(), paths = number_of_paths(horizon);
    p.samples.assign(horizon, std::vector<double>(paths));
    p.deviation.assign(horizon, 0);
    std::vector<double> path(horizon);
    for (std::size_t k = 0; k < paths; ++k) {
      Random random(options().seed, stream_of("forecast/ets") + k);
      simulate(form_, end_, sigma_, random, path);
      for (std::size_t h = 0; h < horizon; ++h) p.samples[h][k] = path[h];
    }
    for (std::size_t h = 0; h < horizon; ++h) {
      double mean = 0;
      for (const double x : p.samples[h]) mean += x / static_cast<double>(paths);
      for (const double x : p.samples[h]) p.deviation[h] += (x - mean) * (x - mean);
      p.deviation[h] = std::sqrt(p.deviation[h] / static_cast<double>(paths - 1));
    }
  }

  static bool is_applicable(const EtsForm& form, const Sample& sample) {
    const Index m = sample.period, n = static_cast<Index>(sample.values.size());
    if (form.needs_positive_values() && !sample.positive) return false;
    if (form.season != EtsSeason::none && (m < 2 || n < 2 * m)) return false;
    return sample.observed > form.parameters(m) + 1;
  }

  static std::pair<double, EtsPass> criterion_of(const EtsForm& form, const EtsParameters& p, const Sample& sample) {
    EtsPass pass = run_ets(form, p, sample.values);
    const double criterion = forecasting::aicc(pass.log_likelihood, form.parameters(sample.period), sample.observed);
    return {criterion, std::move(pass)};
  }

  std::vector<EtsForm> forms_;
  EtsForm form_;
  EtsParameters end_;
  double sigma_ = 0;
};

/// Returns all forms except those with additive errors and a multiplicative season, whose forecasts have no finite
/// variance; these can be fitted by name.
std::vector<EtsForm> selected_forms() {
  std::vector<EtsForm> forms;
  for (const EtsSeason season : {EtsSeason::none, EtsSeason::additive, EtsSeason::multiplicative})
    for (const EtsTrend trend : {EtsTrend::none, EtsTrend::additive, EtsTrend::damped})
      for (const bool multiplicative : {false, true})
        if (multiplicative || season != EtsSeason::multiplicative) forms.push_back({multiplicative, trend, season});
  return forms;
}

}  // namespace

Index EtsForm::parameters(Index period) const {
  Index k = 3;  // alpha, l_0, sigma
  if (trend != EtsTrend::none) k += 2;
  if (trend == EtsTrend::damped) ++k;
  if (season != EtsSeason::none) k += period;  // gamma and m - 1 seasons
  return k;
}

std::string EtsForm::name() const {
  constexpr const char* kTrends[] = {"N", "A", "Ad"};
  constexpr const char* kSeasons[] = {"N", "A", "M"};
  return std::string(multiplicative_error ? "M," : "A,") + kTrends[static_cast<int>(trend)] + "," +
         kSeasons[static_cast<int>(season)];
}

EtsForm parse_ets_form(std::string_view text) {
  for (const bool multiplicative : {false, true})
    for (const EtsTrend trend : {EtsTrend::none, EtsTrend::additive, EtsTrend::damped})
      for (const EtsSeason season : {EtsSeason::none, EtsSeason::additive, EtsSeason::multiplicative}) {
        const EtsForm form{multiplicative, trend, season};
        if (form.name() == text) return form;
      }
  throw UsageError("ets: \"" + std::string(text.substr(0, 20)) +
                   "\" is not a form; specify error (A, M), trend (N, A, Ad) and season (N, A, M), such as ets:A,Ad,N");
}

EtsPass run_ets(const EtsForm& form, const EtsParameters& parameters, std::span<const double> values) {
  EtsPass pass;
  EtsParameters p = parameters;
  double squares = 0, log_sum = 0, count = 0;
  std::size_t place = 0;
  bool feasible = true;
  for (const double y : values) {
    p.slope *= p.phi;
    const double q = p.level + p.slope;
    double none = 1;
    double& s = p.seasons.empty() ? none : p.seasons[place];
    const bool multiplicative = form.season == EtsSeason::multiplicative;
    const double mu = form.season == EtsSeason::none ? q : multiplicative ? q * s : q + s;
    pass.fitted.push_back(mu);
    p.level = q;
    if (!std::isnan(y)) {
      const double e = y - mu, relative = form.multiplicative_error ? e / mu : e;
      feasible = feasible && !(form.multiplicative_error && mu <= kLeastState) &&
                 !(multiplicative && (q <= kLeastState || s <= kLeastState));
      squares += relative * relative;
      if (form.multiplicative_error && mu > 0) log_sum += log_of(mu);
      const double seasonal_error = multiplicative ? e / s : e;
      p.level = q + p.alpha * seasonal_error;
      p.slope += p.beta * seasonal_error;
      if (!p.seasons.empty()) s += p.gamma * (multiplicative ? e / q : e);
      ++count;
    }
    if (!p.seasons.empty()) place = (place + 1) % p.seasons.size();
  }
  std::rotate(p.seasons.begin(), p.seasons.begin() + static_cast<std::ptrdiff_t>(place), p.seasons.end());
  pass.end = std::move(p);
  pass.mean_square = squares / count;
  pass.log_likelihood =
      feasible ? -0.5 * count * (kLogOfTwoPi + 1 + log_of(std::max(pass.mean_square, kLeastSquare))) - log_sum
               : -kImpossible;
  return pass;
}

EtsParameters fit_ets(const EtsForm& form, const Sample& sample) {
  EtsObjective objective(form, sample);
  Minimum best{.value = kImpossible};
  // The likelihood of seasonal and trended forms often has two maxima, one with small and one with large beta or gamma.
  for (const double share : {0.05, 0.3}) {
    if (share > 0.05 && objective.smoothing() == 1) break;
    std::vector<std::vector<double>> starts;
    for (const double alpha : {0.05, 0.2, 0.5, 0.9}) starts.push_back(objective.start(alpha, share, share));
    Minimum found = minimize([&](const double* points, double* values) { objective(points, values); }, starts);
    if (best.x.empty() || found.value < best.value) best = std::move(found);
  }
  return objective.parameters(best.x.data());
}

std::unique_ptr<Forecaster> make_ets(std::string_view name, const ForecasterOptions& options) {
  if (name == "ses") return std::make_unique<Ets>(std::vector<EtsForm>{{}}, "ses", options);
  if (name == "ets") return std::make_unique<Ets>(selected_forms(), "ets", options);
  if (!name.starts_with("ets:")) return nullptr;
  return std::make_unique<Ets>(std::vector<EtsForm>{parse_ets_form(name.substr(4))}, std::string(name), options);
}

}  // namespace unfold::forecasting
