#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/forecast/es_rnn/es_rnn_training.h"
#include "model/selection/automatic.h"
#include "model/selection/es_rnn_member.h"
#include "tests/model/forecast/reference_series.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

using Values = std::vector<double>;

/// A multiplicative season of `period` values, a random walk of the level, and noise.
Values growing_season(std::size_t n, std::size_t period, std::uint64_t seed, double noise = 0.05) {
  Random random(seed, "es-rnn test");
  Values y, shape;
  for (std::size_t j = 0; j < period; ++j) shape.push_back(0.3 * random.normal());
  double level = 3 + random.normal();
  for (std::size_t t = 0; t < n; ++t) {
    level += 0.01 * random.normal();
    y.push_back(std::exp(level + shape[t % period] + noise * random.normal()));
  }
  return y;
}

/// The recursion of smoothing.h by recursive calls.
class RecursiveSmoothing {
 public:
  RecursiveSmoothing(Values values, SmoothingParameters parameters)
      : y_(std::move(values)), p_(std::move(parameters)), m_(static_cast<Index>(p_.log_seasons.size())) {}

  double level(Index t) const {
    if (t < 0) return y_[0] / season(0);
    if (std::isnan(y_[at(t)])) return level(t - 1);
    return p_.alpha * y_[at(t)] / season(t) + (1 - p_.alpha) * level(t - 1);
  }
  double season(Index t) const {
    if (m_ == 0) return 1;
    if (t < m_) return std::exp(p_.log_seasons[at(t)]);
    const double y = y_[at(t - m_)];
    if (std::isnan(y)) return season(t - m_);
    return p_.gamma * y / level(t - m_) + (1 - p_.gamma) * season(t - m_);
  }

 private:
  Values y_;
  SmoothingParameters p_;
  Index m_;
};

std::vector<SmoothingParameters> parameters_to_test() {
  return {{.alpha = 0.3, .gamma = 0.2, .log_seasons = {0.1, -0.2, 0.15}}, {.alpha = 0.6, .gamma = 0.9}};
}

Values with_gaps() {
  Values y = growing_season(11, 3, 1);
  y[4] = y[8] = kMissing;
  return y;
}

TEST(Smoothing, ComputesTheRecursion) {
  const Values y = with_gaps();
  for (const SmoothingParameters& p : parameters_to_test()) {
    const RecursiveSmoothing reference(y, p);
    const SmoothedSeries states = smooth(y, p);
    for (Index t = 0; t < 11; ++t) {
      EXPECT_NEAR(states.level[at(t)], reference.level(t), 1e-12 * reference.level(t));
      EXPECT_NEAR(states.log_level[at(t)], std::log(reference.level(t)), 1e-13);
    }
    ASSERT_EQ(states.log_season.size(), 11 + std::max<std::size_t>(1, p.log_seasons.size()));
    for (std::size_t t = 0; t < states.log_season.size(); ++t)
      EXPECT_NEAR(states.log_season[t], std::log(reference.season(static_cast<Index>(t))), 1e-13);
  }
}

TEST(Smoothing, GradientAgreesWithFiniteDifferences) {
  const Values y = with_gaps();
  for (const SmoothingParameters& p : parameters_to_test()) {
    Random random(2, "weights");
    Values level(11), season(11 + std::max<std::size_t>(1, p.log_seasons.size()));
    for (double& w : level) w = random.normal();
    for (double& w : season) w = random.normal();
    const auto value = [&](const SmoothingParameters& q) {
      const SmoothedSeries s = smooth(y, q);
      double sum = 0;
      for (std::size_t t = 0; t < level.size(); ++t) sum += level[t] * s.log_level[t];
      for (std::size_t t = 0; t < season.size(); ++t) sum += season[t] * s.log_season[t];
      return sum;
    };
    Values level_adjoint = level, season_adjoint = season;
    const SmoothingParameters gradient = smoothing_gradient(y, p, smooth(y, p), level_adjoint, season_adjoint);
    const auto expect_slope = [&](double derivative, auto&& member) {
      constexpr double kStep = 1e-5;
      SmoothingParameters more = p, less = p;
      member(more) += kStep, member(less) -= kStep;
      EXPECT_NEAR(derivative, (value(more) - value(less)) / (2 * kStep), 1e-7);
    };
    expect_slope(gradient.alpha, [](SmoothingParameters& q) -> double& { return q.alpha; });
    expect_slope(gradient.gamma, [](SmoothingParameters& q) -> double& { return q.gamma; });
    ASSERT_EQ(gradient.log_seasons.size(), p.log_seasons.size());
    for (std::size_t j = 0; j < p.log_seasons.size(); ++j)
      expect_slope(gradient.log_seasons[j], [&](SmoothingParameters& q) -> double& { return q.log_seasons[j]; });
  }
}

const SegmentShape kTiny{.segment = 3, .window = 6, .horizon = 5, .units = 3, .levels = {0.2, 0.5, 0.9}};

std::vector<EsRnnSeries> tiny_series() {
  Values gaps = growing_season(20, 3, 5);
  gaps[7] = gaps[17] = kMissing;
  std::vector<EsRnnSeries> series;
  series.emplace_back(UnivariateSeries{gaps, 3}, 15);
  series.emplace_back(UnivariateSeries{growing_season(16, 4, 6), 1}, 16);
  return series;
}
const std::vector<SegmentWindow> kTinyWindows = {{0, 6}, {0, 13}, {1, 9}, {1, 14}};

TEST(EsRnnNetwork, TargetsAreRelativeToLevelAndSeason) {
  const std::vector<EsRnnSeries> series = tiny_series();
  EsRnnNetwork<double> network(kTiny, series);
  const double bias[] = {-0.3, 0.1, 0.4};  // of each level; all other parameters of the network are 0
  const Matrix<double> biases = network.parameters().at("forecast/bias");
  for (Index k = 0; k < 9; ++k) biases(0, k) = bias[k / 3];
  network.parameters().at("smoothing/alpha")(0, 0) = 0.05;
  network.parameters().at("smoothing/season")(0, 1) = 0.2;
  Team team(2);
  EsRnnPass<double> pass(network, team);
  const std::vector<Index> ends = {16, 16};
  const double loss = pass.loss(kTinyWindows, ends);
  double sum = 0, rows = 0;
  for (Index i = 0; i < 4; ++i) {
    const SegmentWindow window = kTinyWindows[at(i)];
    const EsRnnSeries& one = series[at(window.series)];
    const RecursiveSmoothing reference(one.values, network.smoothing(window.series));
    bool segments[2] = {};
    for (Index h = 0; h < 5; ++h) {
      const double base = reference.level(window.origin - 1) * reference.season(window.origin + h % one.period());
      for (Index k = 0; k < 3; ++k)
        EXPECT_NEAR(pass.quantile(i, k, h), base * std::exp(one.scale * bias[k]), 1e-10 * base);
      if (window.origin + h >= 16 || std::isnan(one.values[at(window.origin + h)])) continue;
      segments[h / 3] = true;
      for (Index k = 0; k < 3; ++k) {
        const double error = std::log(one.values[at(window.origin + h)] / base) / one.scale - bias[k];
        sum += 2 * std::max(kTiny.levels[at(k)] * error, (kTiny.levels[at(k)] - 1) * error);
      }
    }
    rows += segments[0] + segments[1];
  }
  EXPECT_NEAR(loss, sum / rows, 1e-10);
}

TEST(EsRnnNetwork, GradientAgreesWithFiniteDifferences) {
  const std::vector<EsRnnSeries> series = tiny_series();
  EsRnnNetwork<double> network(kTiny, series);
  network.parameters().initialize(4);
  Random random(7, "parameters");
  for (double& x : network.parameters().flat()) x += 0.03 * random.normal();
  Team team(2);
  EsRnnPass<double> pass(network, team);
  const std::vector<Index> ends = {18, 16};
  Values gradient(at(network.parameters().size()), 1.0);
  const double loss = pass.gradient(kTinyWindows, ends, gradient);
  EXPECT_NEAR(loss, pass.loss(kTinyWindows, ends), 1e-14);
  for (const ParameterInfo& info : network.parameters().info())
    for (Index i = info.offset; i < info.offset + info.size(); ++i) {
      constexpr double kStep = 1e-6;
      double& x = network.parameters().flat()[at(i)];
      const double before = x;
      x = before + kStep;
      const double more = pass.loss(kTinyWindows, ends);
      x = before - kStep;
      const double less = pass.loss(kTinyWindows, ends);
      x = before;
      EXPECT_NEAR(gradient[at(i)], (more - less) / (2 * kStep), 2e-7) << info.name << " " << i - info.offset;
    }
}

TEST(EsRnnTraining, ForecastsManySeriesAndDoesNotDependOnThreads) {
  std::vector<UnivariateSeries> series;
  std::vector<Values> actual;
  for (std::uint64_t s = 0; s < 24; ++s) {
    const Values y = growing_season(140, 12, 20 + s);
    series.push_back({Values(y.begin(), y.end() - 12), 12});
    actual.emplace_back(y.end() - 12, y.end());
  }
  series.push_back({Values(140, 5), 12});  // constant
  Values zero = growing_season(140, 12, 3);
  for (std::size_t t = 0; t < zero.size(); t += 4) zero[t] = 0;
  series.push_back({zero, 12});
  const AutomaticOptions options{.horizon = 12, .members = {"seasonal-naive", "es-rnn"}};
  Team one(1), three(3);
  const auto forecasts = forecast_automatically(series, options, one);
  const auto same = forecast_automatically(series, options, three);
  double error = 0, naive = 0, inside = 0, best = 0;
  for (std::size_t s = 0; s < series.size(); ++s) {
    EXPECT_EQ(forecasts[s].mean, same[s].mean) << "threads change bits";
    EXPECT_EQ(forecasts[s].lower, same[s].lower);
    if (s >= actual.size()) continue;
    best += forecasts[s].members[0].name == "es-rnn";
    const Values& y = series[s].values;
    for (std::size_t h = 0; h < 12; ++h) {
      error += std::fabs(std::log(forecasts[s].mean[h] / actual[s][h]));
      naive += std::fabs(std::log(y[y.size() - 12 + h] / actual[s][h]));
      inside += forecasts[s].lower[0][h] <= actual[s][h] && actual[s][h] <= forecasts[s].upper[0][h];
    }
  }
  EXPECT_GT(best, 16);
  EXPECT_LT(error, 0.9 * naive);
  EXPECT_NEAR(inside / (24 * 12), 0.8, 0.12);
  EXPECT_EQ(forecasts[24].mean, Values(12, 5));
  ASSERT_EQ(forecasts[25].members.size(), 2U);
  EXPECT_NE(forecasts[25].members[1].note.find("positive"), std::string::npos) << forecasts[25].members[1].note;
}

TEST(EsRnnPlan, NeedsManyPositiveSeries) {
  const std::vector<UnivariateSeries> many(40, {growing_season(150, 12, 1), 12});
  const auto plan = plan_es_rnn(many, {.horizon = 12});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->shape.segment, 12);
  EXPECT_EQ(plan->shape.window, 24);
  EXPECT_LE(plan->operations, 4e10);
  EXPECT_FALSE(plan_es_rnn(std::span(many).first(19), {.horizon = 12}));
  EXPECT_TRUE(plan_es_rnn(std::span(many).first(5), {.horizon = 12, .required = true}));
  EXPECT_FALSE(plan_es_rnn(many, {.horizon = 12, .budget = 1e6})) << "beyond the budget";
  std::vector<UnivariateSeries> negative = many;
  for (UnivariateSeries& one : negative)
    for (std::size_t t = 0; t < one.values.size(); t += 3) one.values[t] *= -1;
  EXPECT_FALSE(plan_es_rnn(negative, {.horizon = 12, .required = true}));
  EXPECT_THROW(forecast_automatically(negative, {.horizon = 12, .members = {"es-rnn"}}, *std::make_unique<Team>(1)),
               DataError);
  EXPECT_TRUE(is_network("es-rnn"));
  EXPECT_FALSE(is_network("es-rnn:3"));
}

}  // namespace
}  // namespace unfold::forecasting
