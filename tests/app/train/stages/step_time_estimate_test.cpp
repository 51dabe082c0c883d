#include "app/train/stages/step_time_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/train/train.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

StepEstimate cost_of(const char* model, const char* optimizer, Index positions = 10'000) {
  const LanguageModel<double> made(model, Alphabet::all_bytes());
  return estimate_step(made, canonical_optimizer(optimizer), positions, 1);
}

TEST(StepEstimate, dense_units_have_large_matrices) {
  const StepEstimate full = cost_of("gru:64", "ruop"), reduced = cost_of("gru:64", "ruop:reduction=quasi-diagonal");
  EXPECT_EQ(full.units, 3 * 64);
  EXPECT_EQ(full.weights, 1 + 1 + 64);  // one symbol, the bias, the state
  EXPECT_GT(full.metric_seconds, 2 * reduced.metric_seconds);
  EXPECT_GT(full.metric_bytes, reduced.metric_bytes);
  EXPECT_EQ(cost_of("gru:64", "adam").units, 0);
  EXPECT_LT(cost_of("glnn:64,edges=3", "ruop").weights, 10);
}

TEST(StepEstimate, step_cost_grows_with_inputs_and_passes) {
  EXPECT_GT(cost_of("gru:32", "ruop", 100'000).seconds, 3 * cost_of("gru:32", "ruop", 10'000).seconds);
  EXPECT_GT(cost_of("gru:32", "hf").seconds, 3 * cost_of("gru:32", "adam").seconds);
}

/// Stops when the cost of a step is reported.
struct StopsAtCost final : Reporter {
  void remark(std::string_view text) override {
    if (text.starts_with("a step of ")) throw InterruptedError(std::string(text));
  }
};

TEST(StepEstimate, step_cost_is_reported_before_a_long_first_step) {
  const ScratchFolder folder;
  TrainRequest request{.out = folder.path("run"), .given = {"model", "optimizer"}};
  std::string text;
  while (text.size() < 100'000) text += "the cat sat on the mat, and the dog ran over the hill\n";
  request.settings.data = {folder.write("text", text)};
  request.settings.model = "gru:160";
  request.settings.optimizer = "ruop";
  StopsAtCost reporter;
  const std::string said = message_of<InterruptedError>([&] { train(request, reporter); });
  EXPECT_THAT(said, HasSubstr("a step of ruop on 90"));
  EXPECT_THAT(said, HasSubstr("480 units have a matrix of up to 162 x 162 weights each"));
}

}  // namespace
}  // namespace unfold
