/// Models of tasks that pool over a sequence, compared with explicit means and maxima.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/data/tasks/tasks.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

using testing::HasSubstr;

constexpr Index kPooledSteps = 7, kPooledExamples = 5;

/// Returns the mean squared error of the affine map of the pooled values of each number of a step.
double error_of(const Task& task, Parameters<double>& p,
                const std::function<double(const std::vector<double>&)>& pooled) {
  double sum = 0;
  Example example;
  for (Index n = 0; n < kPooledExamples; ++n) {
    task.example(TaskSplit::test, 1, n, example);
    double output = p.at("output/bias")(0, 0);
    for (Index i = 0; i < 2; ++i) {
      std::vector<double> numbers;
      for (Index t = 0; t < kPooledSteps; ++t) numbers.push_back(example.values[static_cast<std::size_t>(2 * t + i)]);
      output += p.at("output/V")(i, 0) * pooled(numbers);
    }
    const double error = output - example.target_values.back();
    sum += error * error / kPooledExamples;
  }
  return sum;
}

TEST(TaskPool, task_heads_read_pooled_steps_or_the_last) {
  const auto task = adding({.length = kPooledSteps});
  const auto mean = [](const std::vector<double>& x) {
    double sum = 0;
    for (const double value : x) sum += value;
    return sum / static_cast<double>(x.size());
  };
  const auto largest = [](const std::vector<double>& x) { return *std::ranges::max_element(x); };
  const auto last = [](const std::vector<double>& x) { return x.back(); };
  const std::vector<std::pair<std::string, std::function<double(const std::vector<double>&)>>> cases = {
      {"bag:2,pool=mean", mean}, {"bag:2,pool=max", largest}, {"bag:2,pool=last", last}, {"bag:2", last}};
  for (const auto& [spec, pooled] : cases) {
    NetworkModel<double> model(spec, task_specification("adding:7", *task, parse_model_spec(spec)), task_layout());
    require_options_used(model.spec(), model.data(), model.layout());
    model.parameters().initialize(3);
    Team team(2);
    const TaskScore score = evaluate(model, *task, TaskSplit::test, 1, kPooledExamples, team);
    ASSERT_EQ(score.measures.back().first, "mean_squared_error");
    EXPECT_NEAR(score.measures.back().second, error_of(*task, model.parameters(), pooled), 1e-12) << spec;
  }
}

TEST(TaskPool, pooling_is_rejected_if_many_steps_are_predicted) {
  const ModelSpec spec = parse_model_spec("gru:4,pool=mean");
  const auto refusal = [&](const std::string& name, const Task& task) -> std::string {
    const DataSpecification data = task_specification(name, task, spec);
    try {
      require_options_used(spec, data, task_layout());
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("copy:5", *copying({.length = 5})), HasSubstr("every position is predicted"));
  EXPECT_THAT(refusal("permutation:5,every-step=true", *random_permutation({.length = 5, .every_step = true})),
              HasSubstr("every position is predicted"));
  EXPECT_EQ(refusal("permutation:5", *random_permutation({.length = 5})), "");
}

}  // namespace
}  // namespace unfold
