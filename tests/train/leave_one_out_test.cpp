#include "train/leave_one_out.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/streamed_ridge.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

struct Table {
  Table(Index rows_, Index features_, double noise, std::uint64_t seed) : rows(rows_), features(features_) {
    Random random(seed, "leave one out");
    for (Index r = 0; r < rows; ++r) {
      for (Index f = 0; f < features; ++f) x.push_back(static_cast<float>(5 + 2 * random.normal()));
      const float* row = x.data() + r * features;
      y.push_back(static_cast<double>(row[0]) - static_cast<double>(row[1]) + noise * random.normal());
      y.push_back(3 + static_cast<double>(row[1]) + noise * random.normal());
    }
  }
  Matrix<const float> inputs() const { return {x.data(), rows, features, features}; }
  Matrix<const double> outputs() const { return {y.data(), rows, 2, 2}; }
  Index rows, features;
  std::vector<float> x;
  std::vector<double> y;
};

/// Predicts row `left` from a fit to all others, with the scale of all features: elimination of the normal equations of
/// weights and intercept.
std::vector<double> slow_prediction(const Table& t, double lambda, Index left, std::vector<double> weights = {}) {
  weights.resize(at(t.rows), 1);
  const Index n = t.features + 1;
  std::vector<double> mean(at(t.features)), deviation(at(t.features));
  for (Index f = 0; f < t.features; ++f) {
    for (Index r = 0; r < t.rows; ++r) mean[at(f)] += t.inputs()(r, f) / static_cast<double>(t.rows);
    for (Index r = 0; r < t.rows; ++r) deviation[at(f)] += std::pow(t.inputs()(r, f) - mean[at(f)], 2);
    deviation[at(f)] = std::sqrt(deviation[at(f)] / static_cast<double>(t.rows));
  }
  const auto z = [&](Index r, Index f) {
    return f == t.features ? 1 : (t.inputs()(r, f) - mean[at(f)]) / deviation[at(f)];
  };
  double unit = 0;
  for (Index r = 0; r < t.rows; ++r)
    for (Index f = 0; f < t.features; ++f) unit += z(r, f) * z(r, f) / static_cast<double>(t.rows);
  std::vector<std::vector<double>> a(at(n), std::vector<double>(at(n + 2)));
  for (Index r = 0; r < t.rows; ++r) {
    if (r == left) continue;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) a[at(i)][at(j)] += weights[at(r)] * z(r, i) * z(r, j);
      for (Index k = 0; k < 2; ++k) a[at(i)][at(n + k)] += weights[at(r)] * z(r, i) * t.outputs()(r, k);
    }
  }
  for (Index i = 0; i < t.features; ++i) a[at(i)][at(i)] += lambda * unit;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      if (j == i) continue;
      const double factor = a[at(j)][at(i)] / a[at(i)][at(i)];
      for (Index k = 0; k < n + 2; ++k) a[at(j)][at(k)] -= factor * a[at(i)][at(k)];
    }
  std::vector<double> result(2);
  for (Index k = 0; k < 2; ++k)
    for (Index i = 0; i < n; ++i) result[at(k)] += z(left < 0 ? 0 : left, i) * a[at(i)][at(n + k)] / a[at(i)][at(i)];
  return result;
}

TEST(LeaveOneOut, PredictionsEqualThoseOfRefits) {
  Team team(2);
  for (const Index features : {3, 30})
    for (const double lambda : {1e-3, 0.5}) {
      const Table t(12, features, 0.5, 1);
      const LeaveOneOutFit fit = fit_leave_one_out(t.inputs(), t.outputs(), {.lambda = lambda}, team);
      for (Index r = 0; r < t.rows; ++r) {
        const std::vector<double> want = slow_prediction(t, lambda, r);
        for (Index k = 0; k < 2; ++k)
          EXPECT_NEAR(fit.left_out[at(r * 2 + k)], want[at(k)], 1e-6) << features << " " << lambda << " row " << r;
      }
      const std::vector<double> want = slow_prediction(t, lambda, -1);  // of row 0, from all rows
      for (Index k = 0; k < 2; ++k) {
        double got = fit.bias[at(k)];
        for (Index f = 0; f < features; ++f) got += t.inputs()(0, f) * fit.weights[at(f * 2 + k)];
        EXPECT_NEAR(got, want[at(k)], 1e-6);
      }
    }
}

TEST(LeaveOneOut, WeightedPredictionsEqualThoseOfWeightedRefits) {
  Team team(2);
  for (const Index features : {3, 30}) {
    const Table t(12, features, 0.5, 1);
    std::vector<double> weights;
    for (Index r = 0; r < t.rows; ++r) weights.push_back(0.25 * static_cast<double>(1 + r % 5));
    const LeaveOneOutFit fit = fit_leave_one_out(t.inputs(), t.outputs(), {.lambda = 0.1, .weights = weights}, team);
    for (Index r = 0; r < t.rows; ++r) {
      const std::vector<double> want = slow_prediction(t, 0.1, r, weights);
      for (Index k = 0; k < 2; ++k) EXPECT_NEAR(fit.left_out[at(r * 2 + k)], want[at(k)], 1e-6) << features << " " << r;
    }
  }
}

TEST(StreamedRidge, WeightsEqualRepetitions) {
  Team team(1);
  const Table t(300, 4, 0.5, 7);
  StreamedRidge weighted(4, 2, team), repeated(4, 2, team);
  for (Index r = 0; r < t.rows; ++r) {
    const Matrix<const float> x{t.x.data() + r * 4, 1, 4, 4};
    const Matrix<const double> y{t.y.data() + r * 2, 1, 2, 2};
    weighted.add(x, y, static_cast<double>(1 + r % 3));
    for (Index copy = 0; copy < 1 + r % 3; ++copy) repeated.add(x, y);
  }
  const StreamedRidgeFit a = weighted.solve(0.1), b = repeated.solve(0.1);
  for (std::size_t i = 0; i < a.weights.size(); ++i) EXPECT_NEAR(a.weights[i], b.weights[i], 1e-9);
  for (std::size_t k = 0; k < a.bias.size(); ++k) EXPECT_NEAR(a.bias[k], b.bias[k], 1e-9);
}

TEST(LeaveOneOut, SelectsTheLambdaWithTheLeastResiduals) {
  Team team(1);
  const Table t(20, 40, 2, 2);
  const LeaveOneOutFit chosen = fit_leave_one_out(t.inputs(), t.outputs(), {}, team);
  for (const double lambda : {1e-6, 1e-3, 0.1, 10.0})
    EXPECT_LE(chosen.mean_square,
              fit_leave_one_out(t.inputs(), t.outputs(), {.lambda = lambda}, team).mean_square * (1 + 1e-3));
}

TEST(LeaveOneOut, HasTheSameBitsWithAnyNumberOfThreads) {
  Team one(1), three(3, Attendance::all);
  const Table t(150, 700, 1, 3);
  const LeaveOneOutFit a = fit_leave_one_out(t.inputs(), t.outputs(), {}, one),
                       b = fit_leave_one_out(t.inputs(), t.outputs(), {}, three);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.left_out, b.left_out);
}

TEST(LeaveOneOut, IgnoresFeaturesThatDoNotVary) {
  Team team(1);
  Table t(10, 4, 0.1, 4);
  for (Index r = 0; r < t.rows; ++r) t.x[at(r * 4 + 3)] = 7;
  const LeaveOneOutFit fit = fit_leave_one_out(t.inputs(), t.outputs(), {}, team);
  EXPECT_EQ(fit.weights[at(3 * 2)], 0);
}

TEST(LeaveOneOut, RefusesTooFewRows) {
  Team team(1);
  const Table few(2, 4, 0.1, 5);
  EXPECT_THROW(fit_leave_one_out(few.inputs(), few.outputs(), {}, team), DataError);
}

TEST(LeaveOneOut, PredictsTheMeanOfTheOthersForEqualRows) {
  Team team(1);
  Table equal(5, 2, 0.1, 6);
  std::ranges::fill(equal.x, 1.0F);
  const LeaveOneOutFit fit = fit_leave_one_out(equal.inputs(), equal.outputs(), {}, team);
  for (const double weight : fit.weights) EXPECT_EQ(weight, 0);
  for (Index k = 0; k < 2; ++k) {
    double total = 0;
    for (Index r = 0; r < equal.rows; ++r) total += equal.outputs()(r, k);
    EXPECT_NEAR(fit.bias[at(k)], total / 5, 1e-9);
    for (Index r = 0; r < equal.rows; ++r)
      EXPECT_NEAR(fit.left_out[at(r * 2 + k)], (total - equal.outputs()(r, k)) / 4, 1e-6) << r;
  }
}

TEST(StreamedRidge, PredictsTheMeanForEqualRows) {
  Team team(1);
  Table equal(300, 4, 0.5, 7);
  std::ranges::fill(equal.x, 1.0F);
  StreamedRidge ridge(4, 2, team);
  ridge.add(equal.inputs(), equal.outputs());
  const StreamedRidgeFit fit = ridge.solve(0.1);
  for (const double weight : fit.weights) EXPECT_EQ(weight, 0);
  for (Index k = 0; k < 2; ++k) {
    double total = 0;
    for (Index r = 0; r < equal.rows; ++r) total += equal.outputs()(r, k);
    EXPECT_NEAR(fit.bias[at(k)], total / 300, 1e-9);
  }
}

TEST(CalibratedFactor, MaximizesTheLikelihood) {
  Random random(1, "calibrated factor");
  std::vector<double> scores;
  std::vector<Index> labels;
  for (Index i = 0; i < 400; ++i) {  // labels drawn from softmax(3 * scores)
    const double s = random.normal();
    scores.insert(scores.end(), {s, -s});
    labels.push_back(random.uniform() < 1 / (1 + std::exp(-6 * s)) ? 0 : 1);
  }
  EXPECT_NEAR(calibrated_factor({scores.data(), 400, 2, 2}, labels), 3, 0.6);
}

TEST(CalibratedFactor, WeightsEqualRepetitions) {
  Random random(2, "weighted factor");
  std::vector<double> scores, repeated, weights;
  std::vector<Index> labels, repeated_labels;
  for (Index i = 0; i < 4000; ++i) {
    const double s = random.normal();
    const Index label = random.uniform() < 1 / (1 + std::exp(-6 * s)) ? 0 : 1;
    weights.push_back(static_cast<double>(1 + i % 3));
    scores.insert(scores.end(), {s, -s});
    labels.push_back(label);
    for (Index copy = 0; copy < 1 + i % 3; ++copy) {
      repeated.insert(repeated.end(), {s, -s});
      repeated_labels.push_back(label);
    }
  }
  const auto rows = static_cast<Index>(repeated_labels.size());
  // The smoothing of labels depends on the number of rows.
  EXPECT_NEAR(calibrated_factor({scores.data(), 4000, 2, 2}, labels, weights),
              calibrated_factor({repeated.data(), rows, 2, 2}, repeated_labels), 0.05);
}

TEST(CalibratedFactor, IsFiniteForSeparableScores) {
  const std::vector<double> scores = {1, -1, -1, 1, 1, -1};
  EXPECT_LT(calibrated_factor({scores.data(), 3, 2, 2}, {0, 1, 0}), 10);
}

}  // namespace
}  // namespace unfold
