#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loss/quantiles.h"
#include "model/forecast/segments/segment_model.h"
#include "model/forecast/segments/segment_training.h"
#include "model/selection/automatic.h"
#include "model/selection/segment_member.h"
#include "tests/base/scratch.h"
#include "tests/model/forecast/reference_series.h"
#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/model/registry/registry.h"
#include "unfold/train/evaluate.h"

namespace unfold::forecasting {
namespace {

using Values = std::vector<double>;

const SegmentShape kSmall{.segment = 3, .window = 9, .horizon = 5, .units = 4, .series = 2, .levels = {0.2, 0.5, 0.9}};

/// A daily season and noise, whose scales differ between series.
Values seasonal_series(std::size_t n, std::uint64_t seed) {
  Random random(seed, "segments test");
  Values y;
  const double size = 1 + 9 * random.uniform(), level = 100 * random.normal();
  for (std::size_t t = 0; t < n; ++t)
    y.push_back(level + size * (4 * (t % 12 < 5) + (t % 12 == 8 ? 6 : 0) + 0.5 * random.normal()));
  return y;
}

TEST(QuantileLoss, IsThePinballLossOfObservedValues) {
  const auto loss = quantile_loss<double>({0.25, 0.5});
  const double signal[] = {1, 2, 3, 0, 0, 0}, target[] = {3, kMissing, 1};
  const double pinball = 0.25 * 2 + 0.75 * 2, absolute = 0.5 * 3 + 0.5 * 1;
  double nats = 0, adjoint[6];
  const Structure one = Structure::chains(1, 1);
  const Observed<double> observed{one, {signal, 1, 6, 6}, {.values = {target, 1, 3, 3}}, {}};
  Team team(1);
  loss->gradient(observed, 10, team, &nats, {adjoint, 1, 6, 6}, {});
  EXPECT_DOUBLE_EQ(nats, 2 * (pinball + absolute));
  EXPECT_EQ(Values(adjoint, adjoint + 6), (Values{-5, 0, 15, -10, 0, -10}));
  EXPECT_EQ(loss->target_size(6), 3);
  EXPECT_THROW(loss->target_size(5), UsageError);
  EXPECT_THROW(quantile_loss<double>({}), UsageError);
  EXPECT_THROW(quantile_loss<double>({1.0}), UsageError);
}

TEST(SegmentNetwork, DerivativesAgreeWithTheScalarGraph) {
  for (const Index series : {0, 2}) {
    SegmentShape shape = kSmall;
    shape.series = series;
    const SegmentNetwork<double> network(shape);
    const CheckReport report =
        check_derivatives(network.network(), Structure::trees(std::vector<Tree>(3, shape.tree())));
    EXPECT_TRUE(report.passed()) << report.text();
  }
}

/// The equations of segment_network.h, one window at a time.
class Reference {
 public:
  explicit Reference(const SegmentNetwork<double>& network) : shape_(network.shape()), p_(network.parameters()) {}

  /// Returns the outputs [levels x horizon, padded to whole segments] of a window.
  std::vector<Values> outputs(const Values& window, Index series) {
    Values h(at(shape_.units), 0);
    for (Index i = 0; i < shape_.read(); ++i) {
      Values z = affine(Values(window.begin() + i * shape_.segment, window.begin() + (i + 1) * shape_.segment),
                        "read/W", "read/bias");
      for (double& x : z) x = std::max(x, 0.0);
      h = step(z, h);
    }
    std::vector<Values> result;
    for (Index k = 0; k < shape_.predicted(); ++k) {
      const auto place = p_.at("query/P"), own = p_.at("query/C"), bias = p_.at("read/bias");
      Values q;
      for (Index j = 0; j < shape_.units; ++j) q.push_back(std::max(bias(0, j), 0.0) + place(k, j) + own(series, j));
      result.push_back(affine(step(q, h), "forecast/V", "forecast/bias"));
    }
    return result;
  }

 private:
  Values affine(const Values& x, const char* weights, const char* bias) {
    const auto w = p_.at(weights), b = p_.at(bias);
    Values y(b.data, b.data + b.cols);
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = 0; j < w.cols; ++j) y[at(j)] += x[at(i)] * w(i, j);
    return y;
  }
  Values step(const Values& z, const Values& h) {
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    const std::size_t d = h.size();
    const Values w = affine(z, "w/W", "w/bias"), u = affine(h, "u/U", "u/bias");
    Values next(d);
    for (std::size_t j = 0; j < d; ++j) {
      const double update = sigmoid(w[j] + u[j]), reset = sigmoid(w[d + j] + u[d + j]);
      next[j] = h[j] + update * (std::tanh(w[2 * d + j] + reset * u[2 * d + j]) - h[j]);
    }
    return next;
  }

  SegmentShape shape_;
  Parameters<double> p_;
};

TEST(SegmentNetwork, ComputesTheEquationsForWindowsOfSeveralSeries) {
  SegmentNetwork<double> network(kSmall);
  network.parameters().initialize(3);
  for (double& x : network.parameters().flat()) x += 0.05;  // biases that are not 0
  const std::vector<Values> series = {simulated_series(20, 1), simulated_series(15, 2)};
  const std::vector<Index> ends = {20, 15};
  const SegmentPool pool(kSmall, series, ends);
  const std::vector<SegmentWindow> windows = {{0, 9}, {1, 12}, {0, 20}};
  Reference reference(network);
  Team team(1);
  Evaluator<double> evaluator(network.network(), team);
  Index batches = 0;
  evaluator.run(
      network.parameters(), *pool.reader(windows, {}, 3), {},
      [&](const Batch& batch, std::span<const Matrix<const double>> outputs) {
        ++batches;
        for (Index i = 0; i < 3; ++i) {
          const SegmentWindow window = windows[at(i)];
          Values read;
          for (Index t = window.origin - 9; t < window.origin; ++t)
            read.push_back((series[at(window.series)][at(t)] - series[at(window.series)][at(window.origin) - 1]) /
                           pool.scale(window.series));
          const std::vector<Values> expected = reference.outputs(read, window.series);
          for (Index k = 0; k < 2; ++k)
            for (Index j = 0; j < 9; ++j)
              EXPECT_NEAR(outputs[0](batch.structure.row(i, 3 + k), j), expected[at(k)][at(j)], 1e-5);
        }
      });
  EXPECT_EQ(batches, 1);
}

TEST(SegmentPool, BatchesHoldValuesRelativeToTheLastOne) {
  Values y(14);
  std::iota(y.begin(), y.end(), 0.0);
  y[10] = kMissing;
  const std::vector<Index> ends = {14}, known = {12};
  const SegmentPool pool(kSmall, {&y, 1}, ends);
  Batch batch;
  const std::vector<SegmentWindow> windows = {{0, 9}};
  pool.fill(windows, known, 0, batch);
  const double scale = pool.scale(0);
  const auto& values = std::get<ValueRows>(batch.field(kSegmentValues));
  const auto& targets = std::get<ValueRows>(batch.field(kSegmentTarget));
  EXPECT_NEAR(values.values<double>(batch.structure.row(0, 0), 1)(0, 0) * scale, -8, 1e-5);
  EXPECT_EQ(values.values<double>(batch.structure.row(0, 2), 1)(0, 2), 0);
  const auto first = targets.values<double>(batch.structure.row(0, 3), 1);
  EXPECT_NEAR(first(0, 0) * scale, 1, 1e-5);
  EXPECT_TRUE(std::isnan(first(0, 1))) << "missing";
  EXPECT_NEAR(first(0, 2) * scale, 3, 1e-5);
  EXPECT_FALSE(is_present(batch.field(kSegmentTarget), batch.structure.row(0, 4))) << "at or after the end";
  EXPECT_EQ(batch.predicted, 1);
  EXPECT_NEAR(pool.value_of({0, 9}, 1 / scale), 9, 1e-5);
}

TEST(SegmentTraining, ForecastsASeasonAndItsNoise) {
  const SegmentShape shape{.segment = 12, .window = 24, .horizon = 18, .units = 32, .series = 0};
  std::vector<Values> series;
  for (std::uint64_t s = 0; s < 4; ++s) series.push_back(seasonal_series(300, s));
  const std::vector<Index> ends(4, 250);
  const SegmentPool pool(shape, series, ends);
  SegmentSplit split{.ends = ends};
  std::vector<SegmentWindow> tested;
  for (Index s = 0; s < 4; ++s) {
    pool.add_windows(s, 0, 250 - 17, split.training);
    tested.push_back({s, 250 + s}), tested.push_back({s, 280 - s});
  }
  Team one(1), three(3);
  SegmentNetwork<float> network(shape), same(shape);
  const SegmentTraining training{.optimizer = "adam:rate=0.004,clip=1,schedule=cosine", .batch = 64, .steps = 400};
  train(network, pool, split, training, one);
  train(same, pool, split, training, three);
  EXPECT_TRUE(std::ranges::equal(network.parameters().flat(), same.parameters().flat())) << "threads change bits";
  double error = 0, naive = 0, inside = 0, count = 0;
  forecast(network, pool, tested, one, [&](std::size_t i, std::span<const double> quantiles) {
    const Values& y = series[at(tested[i].series)];
    for (std::size_t h = 0; h < 18; ++h) {
      const std::size_t t = at(tested[i].origin) + h;
      error += std::fabs(y[t] - quantiles[18 + h]) / pool.scale(tested[i].series);
      naive += std::fabs(y[t] - y[t - 12 * (1 + h / 12)]) / pool.scale(tested[i].series);
      inside += quantiles[h] <= y[t] && y[t] <= quantiles[36 + h];
      ++count;
      EXPECT_LE(quantiles[h], quantiles[18 + h]);
      EXPECT_LE(quantiles[18 + h], quantiles[36 + h]);
    }
  });
  EXPECT_LT(error, 0.9 * naive);
  EXPECT_NEAR(inside / count, 0.8, 0.15);
}

TEST(SegmentModel, FileHoldsTheNetworkAndTheNames) {
  auto network = std::make_shared<SegmentNetwork<float>>(kSmall);
  network->parameters().initialize(5);
  const SegmentModel model(network, {"north", "south"});
  const testing_support::ScratchFolder folder;
  const std::string path = folder.path("model.safetensors");
  model.save(path);
  const std::unique_ptr<Model> loaded = load_model_file(path);
  const auto* same = loaded->as<SegmentModel>();
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->bytes(), model.bytes());
  EXPECT_EQ(same->spec_text(), "segments:3,window=9,horizon=5,units=4");
  EXPECT_EQ(same->embedding("south"), 1);
  EXPECT_EQ(same->embedding("west"), -1);
  EXPECT_TRUE(std::ranges::equal(same->network().parameters().flat(), network->parameters().flat()));
  EXPECT_THROW(SegmentModel(network, {"north"}), UsageError);
}

TEST(SegmentPlan, SizesFollowTheData) {
  const UnivariateSeries hourly{.values = Values(2000, 1.0), .period = 24};
  const auto plan = plan_segments("segments", {&hourly, 1}, {.horizon = 48});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->shape.segment, 24);
  EXPECT_EQ(plan->shape.window, 168);
  EXPECT_EQ(plan->shape.series, 0);
  EXPECT_LE(plan->operations, 4e10);
  EXPECT_EQ(plan_segments("segments:16", {&hourly, 1}, {.horizon = 48})->shape.segment, 16);
  EXPECT_FALSE(plan_segments("segments", {&hourly, 1}, {.horizon = 48, .budget = 1e6})) << "beyond the budget";
  const UnivariateSeries monthly{.values = Values(200, 1.0), .period = 12};
  EXPECT_FALSE(plan_segments("segments", {&monthly, 1}, {.horizon = 12})) << "too few windows";
  const std::vector<UnivariateSeries> short_ones(1000, {Values(100, 1.0), 12});
  EXPECT_FALSE(plan_segments("segments", short_ones, {.horizon = 12})) << "too short for the window";
  EXPECT_TRUE(plan_segments("segments", short_ones, {.horizon = 12, .required = true}));
  const std::vector<UnivariateSeries> many(60, {Values(300, 1.0), 12});
  EXPECT_EQ(plan_segments("segments", many, {.horizon = 12})->shape.series, 60);
  EXPECT_THROW(is_segments("segments:0"), UsageError);
  EXPECT_FALSE(is_segments("segmented"));
}

TEST(AutomaticForecast, NetworkOverAllSeriesIsAMember) {
  std::vector<UnivariateSeries> series;
  std::vector<Values> actual;
  for (std::uint64_t s = 0; s < 5; ++s) {
    const Values y = seasonal_series(260, 10 + s);
    series.push_back({Values(y.begin(), y.end() - 12), 12});
    actual.emplace_back(y.end() - 12, y.end());
  }
  series.push_back({Values(30, 5), 12});           // constant
  series.push_back({seasonal_series(40, 3), 12});  // too short
  AutomaticOptions options{.horizon = 12, .members = {"seasonal-naive", "segments"}, .network_budget = 4e9};
  std::shared_ptr<const SegmentNetwork<float>> network;
  options.on_network = [&](const SegmentMember& member) { network = member.network(); };
  Team one(1), two(2);
  const auto forecasts = forecast_automatically(series, options, one);
  const auto same = forecast_automatically(series, options, two);
  double error = 0, naive = 0;
  for (std::size_t s = 0; s < series.size(); ++s) {
    EXPECT_EQ(forecasts[s].mean, same[s].mean) << "threads change bits";
    EXPECT_EQ(forecasts[s].lower, same[s].lower);
    if (s >= actual.size()) continue;
    const Values& y = series[s].values;
    const double scale = std::fabs(y[0]) + 1;
    for (std::size_t h = 0; h < 12; ++h) {
      error += std::fabs(forecasts[s].mean[h] - actual[s][h]) / scale;
      naive += std::fabs(y[y.size() - 12 + h] - actual[s][h]) / scale;
    }
  }
  EXPECT_LT(error, 0.9 * naive);
  EXPECT_EQ(forecasts[5].mean, Values(12, 5));
  ASSERT_EQ(forecasts[6].members.size(), 2U);
  EXPECT_EQ(forecasts[6].members[1].name, "segments");
  EXPECT_NE(forecasts[6].members[1].note, "");

  // The saved network forecasts other series of the same kind, and shorter horizons.
  ASSERT_NE(network, nullptr);
  const Values other = seasonal_series(260, 77);
  const UnivariateSeries shorter{Values(other.begin(), other.end() - 6), 12};
  AutomaticOptions reuse{.horizon = 6, .members = {"segments"}};
  reuse.trained = std::make_shared<TrainedSegments>(TrainedSegments{network, {-1}});
  const AutomaticForecast f = forecast_automatically({&shorter, 1}, reuse, one)[0];
  EXPECT_LT(f.error, 1);
  reuse.horizon = 13;
  EXPECT_THROW(forecast_automatically({&shorter, 1}, reuse, one), UsageError);
}

}  // namespace
}  // namespace unfold::forecasting
