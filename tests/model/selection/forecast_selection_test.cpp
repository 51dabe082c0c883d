/// Linear autoregressions, and the selection of the model of a series.
#include "model/selection/forecast_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/network/fitting/readout.h"
#include "unfold/base/error.h"
#include "unfold/model/network/network_model.h"
#include "unfold/numerics/random.h"
#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

/// A column of numbers; NaN is a missing value.
ExampleColumn column_of(std::vector<double> values) {
  ExampleColumn column{.name = "x", .width = 1};
  for (double& value : values) {
    column.missing.push_back(std::isnan(value) ? 1 : 0);
    if (std::isnan(value)) value = 0;
  }
  if (std::ranges::find(column.missing, 1) == column.missing.end()) column.missing.clear();
  column.numbers = std::move(values);
  return column;
}

/// One series, whose next value is predicted.
struct OneSeries {
  explicit OneSeries(const std::vector<double>& values, Index held_out = 0)
      : examples{.source = "made", .columns = {column_of(values)}, .ends = {static_cast<Index>(values.size())}},
        data(std::make_shared<const DataSpecification>(specify(examples, {.reads = {"x"}, .predicts = {"x"}}, "made"))),
        all(examples, data, std::vector<std::string>{"x"}),
        training(all.part(0, 0, static_cast<Index>(values.size()) - held_out, 0)),
        last(all.part(0, static_cast<Index>(values.size()) - held_out, static_cast<Index>(values.size()), 64)) {}

  /// The predictions of a fitted model at all positions of the series, in units of the data.
  std::vector<double> predictions(const std::string& spec) const {
    NetworkModel<double> model(spec, *data, layout);
    model.initialize(1);
    Team team(1);
    const ExampleBatchOptions batches{.reads = layout.reads, .predicts = {"x"}};
    fit_readout(model.network(), model.parameters(), *example_reader(all, batches), team, *readout_of(model.spec()));
    std::vector<double> result;
    Evaluator<double> evaluator(model.network(), team);
    evaluator.run(model.parameters(), *example_reader(all, batches), {},
                  [&](const Batch& batch, std::span<const Matrix<const double>> outputs) {
                    for (Index p = 0; p < batch.structure.size(0); ++p)
                      result.push_back(restored(data->field("x"), 0, outputs[0](batch.structure.row(0, p), 0)));
                  });
    return result;
  }

  ForecastSelection selected(const std::string& network = "gru:8") const {
    const ForecastSelectionOptions options{
        .budget = 1e10, .network = network, .optimizer = "adam:rate=0.003,clip=1", .epochs = 30, .window = 64};
    Team team(1);
    return select_forecast_model<float>(training, last, layout, forecast_candidates(training, layout, options), options,
                                        team, {});
  }

  NetworkLayout layout = {.reads = {"previous x"}, .heads = {{.field = "x", .loss = "normal"}}};
  Examples examples;
  std::shared_ptr<const DataSpecification> data;
  ExampleSet all, training, last;
};

/// x_t = 0.6 x_{t-1} + 0.3 x_{t-2} + noise, around a level.
std::vector<double> made_autoregression(Index count, double level = 20) {
  Random random(3, "series");
  std::vector<double> x = {0, 0};
  while (static_cast<Index>(x.size()) < count)
    x.push_back(0.6 * x[x.size() - 1] + 0.3 * x[x.size() - 2] + random.normal());
  for (double& value : x) value += level;
  return x;
}

/// Solves the normal equations of n unknowns by elimination; `sums` has n rows of n + 1 numbers.
std::vector<double> solved(std::vector<std::vector<double>> sums) {
  const std::size_t n = sums.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const double factor = sums[j][i] / sums[i][i];
      for (std::size_t k = 0; k <= n; ++k) sums[j][k] -= factor * sums[i][k];
    }
  std::vector<double> result;
  for (std::size_t i = 0; i < n; ++i) result.push_back(sums[i][n] / sums[i][i]);
  return result;
}

TEST(Autoregression, SmallLambdaGivesLeastSquares) {
  const std::vector<double> x = made_autoregression(200);
  const std::vector<double> found = OneSeries(x).predictions("ar:3,ridge=1e-12");
  // The series is continued into the past with its first value.
  const auto before = [&](std::size_t t, std::size_t back) { return x[t >= back ? t - back : 0]; };
  std::vector<std::vector<double>> sums(4, std::vector<double>(5));
  for (std::size_t t = 1; t < x.size(); ++t) {
    const double row[] = {1, before(t, 1), before(t, 2), before(t, 3), x[t]};
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = 0; k < 5; ++k) sums[i][k] += row[i] * row[k];
  }
  const std::vector<double> weights = solved(sums);
  for (std::size_t t = 1; t < x.size(); ++t)
    EXPECT_NEAR(found[t],
                weights[0] + weights[1] * before(t, 1) + weights[2] * before(t, 2) + weights[3] * before(t, 3), 1e-5)
        << t;
}

TEST(Autoregression, LargeLambdaGivesTheLastValueAndTheMeanDifference) {
  const std::vector<double> x = made_autoregression(100);
  const double drift = (x.back() - x.front()) / 99;
  const std::vector<double> found = OneSeries(x).predictions("ar:4,averages=2,ridge=1e9");
  for (std::size_t t = 1; t < x.size(); ++t) EXPECT_NEAR(found[t], x[t - 1] + drift, 1e-5) << t;
}

TEST(Autoregression, PredictionsMoveWithTheSeries) {
  std::vector<double> x = made_autoregression(150);
  const std::vector<double> found = OneSeries(x).predictions("ar:8,averages=4");
  for (double& value : x) value += 1000;
  const std::vector<double> moved = OneSeries(x).predictions("ar:8,averages=4");
  for (std::size_t t = 1; t < x.size(); ++t) EXPECT_NEAR(moved[t], found[t] + 1000, 1e-6) << t;
}

TEST(Autoregression, OptionsOfNetworksAreRejected) {
  for (const char* spec : {"ar:4,layers=2", "biar:4", "ar:4,averages=2,dropout=0.1", "ar:4,direct=3", "ar:2000"})
    EXPECT_THROW(parse_model_spec(spec), UsageError) << spec;
}

TEST(ForecastSelection, ChoosesAnAutoregressionForALinearSeries) {
  const OneSeries series(made_autoregression(400), 100);
  const ForecastSelection found = series.selected();
  EXPECT_EQ(found.chosen().kind, ForecastKind::linear);
  EXPECT_LT(found.chosen().error, found.persistence);
  const auto is_tried = [](const ForecastCandidate& candidate) { return candidate.tried; };
  EXPECT_TRUE(std::ranges::all_of(found.candidates, is_tried));
  EXPECT_EQ(found.candidates.back().kind, ForecastKind::network);
}

TEST(ForecastSelection, TriesAutoregressionsOnSeriesWithMissingValues) {
  std::vector<double> values = made_autoregression(400);
  for (std::size_t t = 7; t < values.size(); t += 23) values[t] = std::nan("");
  const ForecastSelection found = OneSeries(values, 100).selected();
  const auto is_linear = [](const ForecastCandidate& candidate) { return candidate.kind == ForecastKind::linear; };
  EXPECT_GE(std::ranges::count_if(found.candidates, is_linear), 4);
  for (const ForecastCandidate& candidate : found.candidates)
    EXPECT_TRUE(std::isfinite(candidate.error)) << candidate.model;
  EXPECT_LT(found.chosen().error, found.persistence);
}

TEST(ForecastSelection, PredictsAConstantSeriesExactly) {
  const ForecastSelection found = OneSeries(std::vector<double>(100, 5.25), 30).selected();
  EXPECT_EQ(found.chosen().kind, ForecastKind::linear);
  EXPECT_EQ(found.chosen().error, 0);
}

/// The logistic map is chaotic and has no linear correlation.
TEST(ForecastSelection, ChoosesAReservoirForChaos) {
  std::vector<double> x = {0.3};
  while (x.size() < 1600) x.push_back(3.9 * x.back() * (1 - x.back()));
  const ForecastSelection found = OneSeries(x, 400).selected("gru:512");
  EXPECT_EQ(found.chosen().kind, ForecastKind::reservoir);
  EXPECT_LT(found.chosen().error, 0.01);
  const auto large = std::ranges::find(found.candidates, "gru:512", &ForecastCandidate::model);
  ASSERT_NE(large, found.candidates.end());
  EXPECT_FALSE(large->tried);  // beyond the budget
}

TEST(ForecastSelection, DoesNotDependOnTheNumberOfThreads) {
  const OneSeries series(made_autoregression(300), 80);
  const ForecastSelectionOptions options{.network = "gru:4", .optimizer = "adam", .epochs = 20, .window = 64};
  std::vector<double> errors;
  for (const int threads : {1, 3}) {
    Team team(threads);
    const ForecastSelection found =
        select_forecast_model<float>(series.training, series.last, series.layout,
                                     forecast_candidates(series.training, series.layout, options), options, team, {});
    for (const ForecastCandidate& candidate : found.candidates) errors.push_back(candidate.error);
  }
  const auto half = static_cast<std::ptrdiff_t>(errors.size() / 2);
  EXPECT_TRUE(std::equal(errors.begin(), errors.begin() + half, errors.begin() + half));
}

}  // namespace
}  // namespace unfold
