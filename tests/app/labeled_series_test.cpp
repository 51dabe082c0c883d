/// Runs all commands on tiny files of labeled series.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/explain/explain.h"
#include "app/fields/evaluation/field_evaluation.h"
#include "app/predict/predict.h"
#include "app/train/train.h"
#include "tests/base/scratch.h"
#include "unfold/model/model.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

/// JSON lines of noisy waves. Both the label and the number are the frequency.
std::string wave_lines(Index count, std::uint64_t seed) {
  Random random(seed, "labeled waves");
  std::string text;
  for (Index e = 0; e < count; ++e) {
    const double frequency = e % 2 == 0 ? 0.4 : 0.9, phase = 6 * random.uniform();
    nlohmann::json values = nlohmann::json::array();
    for (Index t = 0; t < 25 + e % 7; ++t)
      values.push_back(std::sin(frequency * static_cast<double>(t) + phase) + 0.2 * random.normal());
    const nlohmann::json line = {{"value", values}, {"label", e % 2 == 0 ? "slow" : "fast"}, {"frequency", frequency}};
    text += line.dump() + "\n";
  }
  return text;
}

class LabeledSeries : public testing::Test {
 protected:
  TrainOutcome trained(const std::string& out, const std::function<void(TrainRequest&)>& more = {}) {
    TrainRequest request{.out = folder_.path(out)};
    request.settings.data = {train_};
    request.settings.read = "value";
    request.settings.predict = "label";
    request.run.threads = 1;
    request.given = {"read", "predict"};
    if (more) more(request);
    return train(request);
  }
  double accuracy(const FieldFigures& figures) {
    for (const auto& [name, value] : figures.heads.at(0).measures)
      if (name == "accuracy") return value;
    return -1;
  }
  ScratchFolder folder_;
  std::string train_ = folder_.write("train.jsonl", wave_lines(40, 1));
  std::string test_ = folder_.write("test.jsonl", wave_lines(60, 2));
};

TEST_F(LabeledSeries, AreClassifiedByDefaultWithoutHoldingAnyOut) {
  const TrainOutcome outcome = trained("run");
  EXPECT_TRUE(outcome.settings.model.starts_with("kernels:") || outcome.settings.model.starts_with("esn:"))
      << outcome.settings.model;
  EXPECT_EQ(outcome.settings.split, "100/0/0");
  ASSERT_TRUE(outcome.field_valid.has_value());
  EXPECT_EQ(outcome.field_valid->heads[0].predicted, 40);
  EXPECT_GE(accuracy(*outcome.field_valid), 0.9);
  const FieldFigures tested = evaluate_on_fields({.model = outcome.run, .data = {test_}, .threads = 1});
  EXPECT_GE(accuracy(tested), 0.9);
  EXPECT_LT(tested.heads[0].nats_each(), 0.5);
}

TEST_F(LabeledSeries, ArePredictedOneRowEach) {
  const TrainOutcome outcome = trained("run", [](TrainRequest& request) {
    request.settings.model = "kernels:700";
    request.given.insert("model");
  });
  std::string text;
  Reporter silent;
  predict(
      {.model = outcome.run, .data = {test_}, .probabilities = true, .threads = 1},
      [&](std::string_view piece) { text += piece; }, silent);
  EXPECT_EQ(std::ranges::count(text, '\n'), 61);
  EXPECT_TRUE(contains(text, "label.best\tlabel.probability\tlabel.fast\tlabel.slow")) << text.substr(0, 200);
}

TEST_F(LabeledSeries, AreHeldOutOnRequest) {
  const TrainOutcome outcome = trained("run", [](TrainRequest& request) {
    request.settings.split = "80/20/0";
    request.given.insert("split");
  });
  ASSERT_TRUE(outcome.field_valid.has_value());
  EXPECT_EQ(outcome.field_valid->heads[0].predicted, 8);
}

TEST_F(LabeledSeries, CanPredictNumbers) {
  const TrainOutcome outcome =
      trained("run", [](TrainRequest& request) { request.settings.predict = "frequency=normal"; });
  ASSERT_TRUE(outcome.field_valid.has_value());
  for (const auto& [name, value] : outcome.field_valid->heads[0].measures)
    if (name == "mean_squared_error") {
      EXPECT_LT(value, 0.02);  // the variance is 0.0625
    }
}

TEST_F(LabeledSeries, AreTrainedByGradientsWithABudget) {
  const TrainOutcome outcome = trained("run", [](TrainRequest& request) {
    request.settings.steps = 2;
    request.given.insert("steps");
  });
  EXPECT_TRUE(outcome.settings.model.starts_with("bilstm:")) << outcome.settings.model;
}

TEST_F(LabeledSeries, GiveTheSameModelWithAnyNumberOfThreads) {
  const TrainOutcome one = trained("one"), two = trained("two", [](TrainRequest&request) { request.run.threads = 2; });
  EXPECT_EQ(one.settings.model, two.settings.model);
  EXPECT_EQ(one.field_valid->heads[0].nats, two.field_valid->heads[0].nats);
}

TEST_F(LabeledSeries, CannotBeExplainedByModelsWithoutDerivatives) {
  const TrainOutcome outcome = trained("run", [](TrainRequest& request) {
    request.settings.model = "kernels:700";
    request.given.insert("model");
  });
  EXPECT_TRUE(contains(message_of<UsageError>([&] { explain_fields({.model = outcome.run, .data = {test_}}); }),
                       "random kernels do not have"));
}

}  // namespace
}  // namespace unfold
