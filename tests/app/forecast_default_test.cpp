/// The default model of tables whose following numbers are predicted.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/train/train.h"
#include "tests/base/scratch.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::ScratchFolder;

/// A random walk whose steps depend on the one three rows before, and a column of noise.
std::string walk_table(Index rows) {
  Random random(5, "walk");
  std::string text = "noise,load\n";
  std::vector<double> steps = {0, 0, 0};
  double load = 50;
  for (Index r = 0; r < rows; ++r) {
    steps.push_back(0.8 * steps[at(r)] + random.normal());
    load += steps.back();
    text += std::to_string(random.normal()) + "," + std::to_string(load) + "\n";
  }
  return text;
}

class ForecastDefault : public testing::Test {
 protected:
  TrainOutcome trained(const std::function<void(TrainRequest&)>& more = {}) {
    TrainRequest request{.out = folder_.path("run")};
    request.settings.data = {folder_.write("walk.csv", walk_table(400))};
    request.settings.predict = "load";
    request.settings.split = "70/10/20";
    request.run.threads = 1;
    request.given = {"predict", "split"};
    if (more) more(request);
    return train(request);
  }
  ScratchFolder folder_;
};

TEST_F(ForecastDefault, IsAnAutoregressionOfThePredictedColumn) {
  const TrainOutcome outcome = trained();
  EXPECT_TRUE(outcome.settings.model.starts_with("ar:")) << outcome.settings.model;
  EXPECT_EQ(outcome.settings.read, "load");
  ASSERT_TRUE(outcome.field_test.has_value());
  const auto persistence = std::ranges::find_if(
      outcome.baselines, [](const ComparedBaseline& each) { return each.baseline.name == "persistence"; });
  ASSERT_NE(persistence, outcome.baselines.end());
  EXPECT_LT(persistence->result, persistence->baseline.value);
}

TEST_F(ForecastDefault, IsStoredWithTheErrorsOfAllCandidates) {
  const TrainOutcome outcome = trained();
  nlohmann::json candidates;
  const std::unique_ptr<Model> model = load_model_file(outcome.model_file);
  for (const nlohmann::json& entry : model->history())
    if (entry.contains("selection")) candidates = entry.at("selection");
  EXPECT_GE(candidates.size(), 5U);
  EXPECT_EQ(candidates.front().at("model"), "ar:1");
  for (const nlohmann::json& candidate : candidates) EXPECT_TRUE(candidate.at("squared_error").is_number());
}

TEST_F(ForecastDefault, IsANetworkIfABudgetIsGiven) {
  const TrainOutcome outcome = trained([](TrainRequest& request) {
    request.settings.steps = 3;
    request.given.insert("steps");
  });
  EXPECT_EQ(outcome.settings.model, "lstm:128,embedding=32");
  EXPECT_EQ(outcome.settings.read, "noise,load");
}

}  // namespace
}  // namespace unfold
