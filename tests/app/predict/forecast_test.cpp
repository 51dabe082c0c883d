/// Forecasts beyond the end of sequences, compared with slow references: the predictions for extended data, and the
/// normal distribution of a linear Gaussian model.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/fields/evaluation/field_score.h"
#include "app/predict/predict.h"
#include "loss/deviation.h"
#include "loss/distribution.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

using testing_support::message_of;
using testing_support::predicted;
using testing_support::ScratchFolder;
using Json = nlohmann::ordered_json;

constexpr double kMean = 2, kDeviation = 3;
/// The 0.9 quantile of the standard normal distribution.
constexpr double kQuantile = 1.2815515655446004;

class ForecastTest : public ::testing::Test {
 protected:
  /// An untrained model that reads one number, `back` positions earlier.
  template <class T>
  NetworkModel<T> model_of(const std::string& spec, Index back) const {
    const DataSpecification data{.source = "table",
                                 .fields = {{.name = "value",
                                             .type = FieldSpecification::Type::values,
                                             .size = 1,
                                             .mean = {kMean},
                                             .deviation = {kDeviation}}}};
    NetworkModel<T> model(
        spec, data, {.reads = {FieldRead{"value", back}.name()}, .heads = {{.field = "value", .loss = "normal"}}});
    model.initialize(7);
    return model;
  }
  template <class T>
  std::string saved(const NetworkModel<T>& model) const {
    model.save(folder_.path("model"));
    return folder_.path("model");
  }

  std::string table(const std::vector<double>& values) const {
    std::string text = "value\n";
    for (const double x : values) text += fmt::format("{}\n", x);
    return folder_.write("data.csv", text);
  }

  /// Returns the only object that a request outputs.
  Json object(PredictRequest request) const {
    request.format = TableFormat::jsonl;
    return Json::parse(predicted(std::move(request)));
  }

  ScratchFolder folder_;
  const std::vector<double> values_ = {1.5, 2.25, -0.5, 4, 3.125, 0.75, 2.5};
};

/// Events of three sessions at irregular times, ordered by time.
std::string events() {
  std::string text = "session_id,timestamp,page\n";
  Index second = 0;
  for (Index i = 0; i < 60; ++i) {
    second += 1 + (i * i * 7) % 23;
    text += fmt::format("s{},2024-05-01T06:{:02}:{:02}Z,{}\n", i % 3, second / 60, second % 60,
                        (i / 3) % 2 == 0 ? "home" : "cart");
  }
  return text;
}

class NotedReporter : public Reporter {
 public:
  void remark(std::string_view text) override { notes += std::string(text) + "\n"; }
  std::string notes;
};

TEST_F(ForecastTest, the_next_event_of_each_session_needs_no_regular_times) {
  const std::string data = folder_.write("events.csv", events());
  const std::string run =
      testing_support::train_small(folder_.path("run"), data, "gru:4", "adam", 5, [](TrainRequest&) {});
  std::string text;
  NotedReporter reporter;
  predict(
      {.model = run, .data = {data}, .ahead = 1, .threads = 1}, [&](std::string_view piece) { text += piece; },
      reporter);
  EXPECT_TRUE(text.starts_with("example\tsession_id\tahead\tpage.best\tpage.probability\n1\ts0\t1\t")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_NE(reporter.notes.find("each next date is assumed"), std::string::npos) << reporter.notes;
  const std::string lines = predicted({.model = run, .data = {data}, .format = TableFormat::jsonl, .ahead = 1});
  EXPECT_EQ(Json::parse(lines.substr(0, lines.find('\n')))["session_id"], "s0");

  std::string scores;
  score_fields({.model = run, .data = data, .threads = 1}, [&](std::string_view piece) { scores += piece; });
  EXPECT_TRUE(scores.starts_with("example\tsession_id\tposition\tpage\tpage.bits\n1\ts0\t1\t")) << scores;
  scores.clear();
  score_fields({.model = run, .data = data, .by_example = true, .json = true, .threads = 1},
               [&](std::string_view piece) { scores += piece; });
  EXPECT_EQ(Json::parse(scores)["scores"][2]["session_id"], "s2");
}

TEST_F(ForecastTest, out_of_range_settings_are_named_in_the_error) {
  const std::string model = saved(model_of<float>("gru:4", 0));
  const auto refusal = [&](PredictRequest request) {
    request.model = model;
    request.data = {table(values_)};
    return message_of<UsageError>([&] { (void)predicted(request); });
  };
  EXPECT_EQ(refusal({.model = {}, .data = {}, .ahead = 2, .samples = 0}),
            "samples must be between 1 and 1000000, not 0");
  EXPECT_EQ(refusal({.model = {}, .data = {}, .ahead = -1}), "ahead must be between 0 and 1000000, not -1");
  EXPECT_EQ(refusal({.model = {}, .data = {}, .beam = 0}), "beam must be between 1 and 10000, not 0");
  EXPECT_EQ(refusal({.model = {}, .data = {}, .best = 10'001}), "best must be between 1 and 10000, not 10001");
}

TEST_F(ForecastTest, loaded_model_equals_its_file) {
  const NetworkModel<float> model = model_of<float>("gru:4", 1);
  const PredictRequest request{.model = saved(model), .data = {table(values_)}, .ahead = 2};
  PredictRequest of_loaded = request;
  of_loaded.model = "nowhere";
  of_loaded.loaded = &model;
  EXPECT_EQ(object(of_loaded), object(request));
}

TEST_F(ForecastTest, forecast_with_known_inputs_equals_prediction_on_extended_data) {
  const std::string model = saved(model_of<float>("gru:4,layers=2", 3));
  const Json ahead = object({.model = model, .data = {table(values_)}, .ahead = 3});
  std::vector<double> longer = values_;
  longer.insert(longer.end(), 3, 0.0);  // these values are not read
  const Json there = object({.model = model, .data = {table(longer)}});
  for (const char* name : {"value.mean", "value.q10", "value.q90"}) {
    ASSERT_EQ(ahead[name].size(), 3U);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(ahead[name][k], there[name][values_.size() + k]) << name << k;
  }
}

TEST_F(ForecastTest, sampled_path_continues_from_its_own_samples) {
  const NetworkModel<double> model = model_of<double>("lstm:3", 1);
  const std::string file = saved(model);
  const auto& normal = model.network().heads[0].loss->need<ValueDistribution<double>>("test");
  constexpr std::uint64_t kSeed = 5;
  constexpr Index kAhead = 4;
  // One path, position by position: predict gives mean and band, a value is drawn from them and appended to the data.
  Random random(kSeed, stream_of("forecast/0/0"));
  std::vector<double> path = values_;
  for (Index k = 0; k < kAhead; ++k) {
    std::vector<double> longer = path;
    longer.push_back(0);
    const Json there = object({.model = file, .data = {table(longer)}});
    const auto last = path.size();
    const double mean = there["value.mean"][last], high = there["value.q90"][last];
    const std::vector<double> standard = {0, 0};
    std::vector<double> drawn(1);
    normal.sample(standard, random, std::span<double>(drawn));
    path.push_back(mean + (high - mean) / kQuantile * drawn[0]);
  }
  const Json ahead = object({.model = file, .data = {table(values_)}, .ahead = kAhead, .samples = 1, .seed = kSeed});
  for (std::size_t k = 1; k < at(kAhead); ++k) {  // the next position is not sampled
    EXPECT_NEAR(ahead["value.mean"][k], path[values_.size() + k], 1e-5) << k;
    EXPECT_EQ(ahead["value.mean"][k], ahead["value.q90"][k]);
  }
}

TEST_F(ForecastTest, linear_gaussian_forecasts_match_closed_form_means_and_bands) {
  NetworkModel<float> model = model_of<float>("bag:1", 1);  // z' = slope z + deviation noise
  constexpr double kSlope = 0.8, kSignal = -0.5;
  model.parameters().at("output/V").row(0)[0] = static_cast<float>(kSlope);
  model.parameters().at("output/V").row(0)[1] = 0;
  model.parameters().at("output/bias").row(0)[0] = 0;
  model.parameters().at("output/bias").row(0)[1] = static_cast<float>(kSignal);
  const std::string file = saved(model);
  constexpr Index kAhead = 8, kSamples = 4000;
  const Json ahead = object({.model = file, .data = {table(values_)}, .ahead = kAhead, .samples = kSamples, .seed = 3});
  double mean = (values_.back() - kMean) / kDeviation, variance = 0;
  for (std::size_t k = 0; k < at(kAhead); ++k) {
    mean *= kSlope;
    variance = kSlope * kSlope * variance + deviation(kSignal) * deviation(kSignal);
    const double spread = kDeviation * std::sqrt(variance), center = kMean + kDeviation * mean;
    // Five standard errors: d / sqrt(N) for a mean, sqrt(p (1 - p) / N) / density for a quantile.
    const double density = std::exp(-kQuantile * kQuantile / 2) / std::sqrt(2 * std::acos(-1.0)) / spread;
    const double of_mean = 5 * spread / std::sqrt(kSamples), of_quantile = 5 * std::sqrt(0.09 / kSamples) / density;
    EXPECT_NEAR(ahead["value.mean"][k], center, of_mean) << k;
    EXPECT_NEAR(ahead["value.q10"][k], center - kQuantile * spread, of_quantile) << k;
    EXPECT_NEAR(ahead["value.q90"][k], center + kQuantile * spread, of_quantile) << k;
  }
}

TEST_F(ForecastTest, samples_depend_only_on_seed_and_example) {
  const std::string model = saved(model_of<float>("gru:4", 1));
  const PredictRequest request{
      .model = model, .data = {table(values_)}, .ahead = 5, .samples = 20, .seed = 1, .threads = 1};
  PredictRequest two = request, other = request, many = request;
  two.threads = 2;
  other.seed = 2;
  EXPECT_EQ(predicted(request), predicted(request));
  EXPECT_EQ(predicted(request), predicted(two));
  EXPECT_NE(predicted(request), predicted(other));
  many.data.push_back(folder_.write("more.csv", "value\n3\n1\n2\n"));
  EXPECT_TRUE(predicted(many).starts_with(predicted(request)));  // later data change nothing
}

}  // namespace
}  // namespace unfold
