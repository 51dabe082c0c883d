#include "train/ridge.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

/// y = x V + b + noise, with nearly collinear columns of x.
struct RidgeData {
  RidgeData(Index rows_, double noise, std::uint64_t seed = 1) : rows(rows_), x(at(rows * kInputs)), y(at(rows * 2)) {
    Random random(seed, "ridge");
    for (Index r = 0; r < rows; ++r) {
      double* row = x.data() + r * kInputs;
      for (Index i = 0; i < kInputs; ++i) row[i] = 3 + random.normal();
      row[2] = row[1] + 0.01 * row[2];
      for (Index k = 0; k < 2; ++k) {
        y[at(r * 2 + k)] = 0.7 * static_cast<double>(k) + noise * random.normal();
        for (Index i = 0; i < kInputs; ++i) y[at(r * 2 + k)] += v(i, k) * row[i];
      }
    }
  }
  static constexpr Index kInputs = 4;
  static double v(Index i, Index k) { return 0.5 * static_cast<double>(i) - static_cast<double>(k); }
  Matrix<const double> inputs() const { return {x.data(), rows, kInputs, kInputs}; }
  Matrix<const double> outputs() const { return {y.data(), rows, 2, 2}; }
  Index rows;
  Vector x, y;
};

/// (X'X + l I)^-1 X'Y of centered data by elimination: [4 x 2].
Vector slow_ridge(const RidgeData& d, double lambda, const std::vector<char>& used) {
  constexpr Index n = RidgeData::kInputs;
  Vector mean(at(n + 2), 0.0);
  double count = 0;
  for (Index r = 0; r < d.rows; ++r) {
    if (!used[at(r)]) continue;
    ++count;
    for (Index i = 0; i < n; ++i) mean[at(i)] += d.x[at(r * n + i)];
    for (Index k = 0; k < 2; ++k) mean[at(n + k)] += d.y[at(r * 2 + k)];
  }
  for (double& m : mean) m /= count;
  std::vector<Vector> a(at(n), Vector(at(n + 2), 0.0));
  double unit = 0;
  for (Index r = 0; r < d.rows; ++r) {
    if (!used[at(r)]) continue;
    for (Index i = 0; i < n; ++i) {
      const double xi = d.x[at(r * n + i)] - mean[at(i)];
      unit += xi * xi / n;
      for (Index j = 0; j < n; ++j) a[at(i)][at(j)] += xi * (d.x[at(r * n + j)] - mean[at(j)]);
      for (Index k = 0; k < 2; ++k) a[at(i)][at(n + k)] += xi * (d.y[at(r * 2 + k)] - mean[at(n + k)]);
    }
  }
  for (Index i = 0; i < n; ++i) a[at(i)][at(i)] += lambda * unit;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      if (j == i) continue;
      const double factor = a[at(j)][at(i)] / a[at(i)][at(i)];
      for (Index k = 0; k < n + 2; ++k) a[at(j)][at(k)] -= factor * a[at(i)][at(k)];
    }
  Vector result;
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k < 2; ++k) result.push_back(a[at(i)][at(n + k)] / a[at(i)][at(i)]);
  for (Index k = 0; k < 2; ++k) {
    double bias = mean[at(n + k)];
    for (Index i = 0; i < n; ++i) bias -= result[at(i * 2 + k)] * mean[at(i)];
    result.push_back(bias);
  }
  return result;
}

TEST(Ridge, ridge_solves_the_normal_equations) {
  const RidgeData d(700, 0.3);
  RidgeSums sums(RidgeData::kInputs, 2, 0);
  sums.add(d.inputs().rows_from(0, 300), d.outputs().rows_from(0, 300));
  sums.add(d.inputs().rows_from(300, 400), d.outputs().rows_from(300, 400));
  EXPECT_EQ(sums.rows(), 700);
  for (const double lambda : {1e-8, 1e-3, 0.5}) {
    const RidgeFit fit = sums.solve({.lambda = lambda});
    const Vector want = slow_ridge(d, lambda, std::vector<char>(700, 1));
    for (std::size_t i = 0; i < fit.weights.size(); ++i) EXPECT_NEAR(fit.weights[i], want[i], 1e-7) << lambda;
    for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(fit.bias[k], want[8 + k], 1e-7) << lambda;
  }
}

TEST(Ridge, noise_free_coefficients_are_recovered) {
  const RidgeData d(300, 0);
  RidgeSums sums(RidgeData::kInputs, 2, 0);
  sums.add(d.inputs(), d.outputs());
  const RidgeFit fit = sums.solve({});
  for (Index i = 0; i < RidgeData::kInputs; ++i)
    for (Index k = 0; k < 2; ++k) EXPECT_NEAR(fit.weights[at(i * 2 + k)], RidgeData::v(i, k), 1e-5);
  EXPECT_LT(fit.lambda, 1e-9);
}

/// A reference for the score of each lambda: residuals row by row, and the trace of the hat matrix, obtained by
/// perturbing each row.
TEST(Ridge, lambda_is_selected_by_generalized_cross_validation) {
  const RidgeData d(60, 2);
  RidgeSums sums(RidgeData::kInputs, 2, 0);
  sums.add(d.inputs(), d.outputs());
  const RidgeFit fit = sums.solve({});
  const std::vector<char> all(60, 1);
  const auto residuals = [&](const RidgeData& data, const Vector& v) {
    Vector e;
    for (Index r = 0; r < 60; ++r)
      for (Index k = 0; k < 2; ++k) {
        double left = data.y[at(r * 2 + k)] - v[at(8 + k)];
        for (Index i = 0; i < 4; ++i) left -= v[at(i * 2 + k)] * data.x[at(r * 4 + i)];
        e.push_back(left);
      }
    return e;
  };
  double best = 1e300, chosen = 0;
  for (double lambda = 1e-14; lambda < 20; lambda *= 10) {
    const Vector e = residuals(d, slow_ridge(d, lambda, all));
    double trace = 0, squares = 0;
    for (const double x : e) squares += x * x;
    for (Index r = 0; r < 60; ++r) {
      RidgeData moved = d;
      moved.y[at(r * 2)] += 1;
      trace += 1 - (residuals(moved, slow_ridge(moved, lambda, all))[at(r * 2)] - e[at(r * 2)]);
    }
    const double score = 60 * squares / ((60 - trace) * (60 - trace));
    if (score < best * (1 - 1e-9)) best = score, chosen = lambda;
  }
  EXPECT_NEAR(fit.mean_square, best, 1e-6 * best);
  EXPECT_GT(fit.lambda, 0);
  EXPECT_LE(fit.lambda, chosen * 1.001);
}

TEST(Ridge, lambda_is_selected_by_held_out_blocks) {
  const Index rows = 2 * 3 * RidgeSums::kRun + 100;  // the last block is not full
  const RidgeData d(rows, 1);
  RidgeSums sums(RidgeData::kInputs, 2, 3);
  for (Index r = 0; r < rows; r += 77)  // in pieces that do not align with the blocks
    sums.add(d.inputs().rows_from(r, std::min<Index>(77, rows - r)),
             d.outputs().rows_from(r, std::min<Index>(77, rows - r)));
  const RidgeFit fit = sums.solve({});
  double squares = 0;
  for (Index block = 0; block < 3; ++block) {
    std::vector<char> others(at(rows));
    for (Index r = 0; r < rows; ++r) others[at(r)] = (r / RidgeSums::kRun) % 3 != block;
    const Vector v = slow_ridge(d, fit.lambda, others);
    for (Index r = 0; r < rows; ++r)
      for (Index k = 0; k < 2 && !others[at(r)]; ++k) {
        double left = d.y[at(r * 2 + k)] - v[at(8 + k)];
        for (Index i = 0; i < 4; ++i) left -= v[at(i * 2 + k)] * d.x[at(r * 4 + i)];
        squares += left * left;
      }
  }
  EXPECT_NEAR(fit.mean_square, squares / static_cast<double>(rows), 1e-6 * squares / static_cast<double>(rows));
}

/// The same as a fit to inputs divided by their standard deviations.
TEST(Ridge, standardized_ridge_penalizes_weights_of_standardized_inputs) {
  const RidgeData d(700, 0.3);
  RidgeData scaled = d;
  Vector deviations;
  for (Index i = 0; i < RidgeData::kInputs; ++i) {
    double sum = 0, squares = 0;
    for (Index r = 0; r < d.rows; ++r) sum += d.x[at(r * RidgeData::kInputs + i)] / 700;
    for (Index r = 0; r < d.rows; ++r) squares += std::pow(d.x[at(r * RidgeData::kInputs + i)] - sum, 2) / 700;
    deviations.push_back(std::sqrt(squares));
    for (Index r = 0; r < d.rows; ++r) scaled.x[at(r * RidgeData::kInputs + i)] /= deviations.back();
  }
  RidgeSums sums(RidgeData::kInputs, 2, 0);
  sums.add(d.inputs(), d.outputs());
  for (const double lambda : {1e-3, 0.5}) {
    const RidgeFit fit = sums.solve({.lambda = lambda, .standardized = true});
    const Vector want = slow_ridge(scaled, lambda, std::vector<char>(700, 1));
    for (std::size_t i = 0; i < fit.weights.size(); ++i)
      EXPECT_NEAR(fit.weights[i], want[i] / deviations[i / 2], 1e-7) << lambda;
    for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(fit.bias[k], want[8 + k], 1e-7) << lambda;
  }
}

TEST(Ridge, unsupported_ridge_inputs_are_rejected) {
  EXPECT_THROW(RidgeSums(3, 1, 1), UsageError);
  RidgeSums none(2, 1, 0);
  EXPECT_THROW(none.solve({}), DataError);
  const double x[] = {1, 2, 1, std::nan(""), 1, 2}, y[] = {1, 2, 3};
  none.add({x, 3, 2, 2}, {y, 3, 1, 1});
  EXPECT_THROW(none.solve({}), DataError);
  EXPECT_THROW(none.add({x, 1, 2, 2}, {y, 1, 2, 2}), UsageError);
}

TEST(Ridge, constant_inputs_give_the_mean) {
  constexpr Index kRows = 3 * RidgeSums::kRun;
  const std::vector<double> x(2 * kRows, 1.5);
  std::vector<double> y(kRows, 1);
  y.back() = 1 + kRows;
  for (const Index blocks : {0, 3}) {
    RidgeSums sums(2, 1, blocks);
    sums.add({x.data(), kRows, 2, 2}, {y.data(), kRows, 1, 1});
    const RidgeFit fit = sums.solve({});
    EXPECT_EQ(fit.weights, std::vector<double>(2, 0.0));
    EXPECT_NEAR(fit.bias[0], 2, 1e-12);
  }
}

TEST(Ridge, weights_of_rows_equal_repetitions) {
  const RidgeData data(40, 0.3);
  for (const double lambda : {1e-6, 0.0}) {
    RidgeSums weighted(RidgeData::kInputs, 2, 0), repeated(RidgeData::kInputs, 2, 0);
    Vector weights;
    for (Index r = 0; r < data.rows; ++r) weights.push_back(static_cast<double>(r % 3));
    weighted.add(data.inputs(), data.outputs(), weights);
    for (Index r = 0; r < data.rows; ++r)
      for (Index copy = 0; copy < r % 3; ++copy)
        repeated.add(data.inputs().rows_from(r, 1), data.outputs().rows_from(r, 1));
    const RidgeFit a = weighted.solve({.lambda = lambda}), b = repeated.solve({.lambda = lambda});
    EXPECT_EQ(a.lambda, b.lambda);
    for (std::size_t i = 0; i < a.weights.size(); ++i) EXPECT_NEAR(a.weights[i], b.weights[i], 1e-8);
    for (std::size_t k = 0; k < a.bias.size(); ++k) EXPECT_NEAR(a.bias[k], b.bias[k], 1e-8);
    for (std::size_t k = 0; k < a.squares.size(); ++k) EXPECT_NEAR(a.squares[k], b.squares[k], 1e-8);
  }
}

}  // namespace
}  // namespace unfold
