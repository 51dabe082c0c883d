/// Logistic regression: its solution has no gradient, and it agrees with a case solved by hand.

#include "model/network/initialization/logistic_regression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

struct Problem {
  SparseRows rows;
  std::vector<std::int32_t> labels;
  std::vector<double> weights;
  Index label_count = 3;
};

Problem random_problem(Index count, Index width) {
  Problem problem;
  Random random(5, "logistic regression");
  problem.rows.width = width;
  for (Index i = 0; i < count; ++i) {
    for (Index a = 0; a < width; ++a)
      if (random.below(3) == 0) {
        problem.rows.columns.push_back(static_cast<std::int32_t>(a));
        problem.rows.values.push_back(random.uniform() - 0.3);
      }
    problem.rows.ends.push_back(static_cast<Index>(problem.rows.values.size()));
    problem.labels.push_back(static_cast<std::int32_t>(random.below(3)));
    problem.weights.push_back(0.5 + random.uniform());
  }
  return problem;
}

/// The objective, computed on dense rows.
double objective(const Problem& problem, const LogisticWeights& at_point, double l2) {
  const Index labels = problem.label_count;
  double sum = 0;
  for (const double w : at_point.weights) sum += l2 / 2 * w * w;
  for (Index row = 0; row < problem.rows.count(); ++row) {
    std::vector<double> scores = at_point.bias;
    for (Index k = problem.rows.begin(row); k < problem.rows.ends[at(row)]; ++k)
      for (Index c = 0; c < labels; ++c)
        scores[at(c)] += problem.rows.values[at(k)] * at_point.weights[at(problem.rows.columns[at(k)] * labels + c)];
    double total = 0;
    for (const double score : scores) total += std::exp(score);
    sum += problem.weights[at(row)] * (std::log(total) - scores[at(problem.labels[at(row)])]);
  }
  return sum;
}

TEST(LogisticRegression, no_direction_lowers_the_objective) {
  const Problem problem = random_problem(60, 8);
  const double l2 = 0.3, h = 1e-4;
  LogisticWeights found =
      fit_logistic_regression(problem.rows, problem.labels, problem.label_count, problem.weights, l2, 2000);
  for (std::vector<double>* values : {&found.weights, &found.bias})
    for (double& value : *values) {
      const double middle = value;
      value = middle + h;
      const double above = objective(problem, found, l2);
      value = middle - h;
      const double below = objective(problem, found, l2);
      value = middle;
      EXPECT_NEAR((above - below) / (2 * h), 0, 0.02);
    }
}

TEST(LogisticRegression, the_bias_alone_is_the_frequency_of_the_labels) {
  const LogisticWeights found = fit_logistic_regression({.ends = {0, 0, 0, 0}, .columns = {}, .values = {}, .width = 0},
                                                        {0, 0, 0, 1}, 2, {1, 1, 1, 1}, 0.3, 1000);
  EXPECT_TRUE(found.weights.empty());
  EXPECT_NEAR(found.bias[0] - found.bias[1], std::log(3), 0.01);
}

TEST(LogisticRegression, more_steps_lower_the_objective) {
  const Problem problem = random_problem(200, 20);
  double last = 1e300;
  for (const Index steps : {1, 10, 100, 1000}) {
    const double value =
        objective(problem, fit_logistic_regression(problem.rows, problem.labels, 3, problem.weights, 0.1, steps), 0.1);
    EXPECT_LE(value, last);
    last = value;
  }
}

}  // namespace
}  // namespace unfold
