#include "train/leave_one_out.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "numerics/functions.h"
#include "train/cholesky.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"
#include "unfold/numerics/product.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// Means and reciprocal deviations of features; 0 for a feature that does not vary.
struct FeatureScale {
  std::vector<double> mean, factor;
};

FeatureScale scale_of(Matrix<const float> x, Team& team) {
  FeatureScale scale{.mean = std::vector<double>(at(x.cols)), .factor = std::vector<double>(at(x.cols))};
  const auto rows = static_cast<double>(x.rows);
  constexpr double kConstant = 1e-7;  // relative to the largest value
  team.run([&](Member& me) {
    const Range mine = me.share(x.cols, 16);
    std::vector<double> squares(at(mine.size())), largest(at(mine.size()));
    for (Index r = 0; r < x.rows; ++r)
      for (Index c = mine.begin; c < mine.end; ++c) scale.mean[at(c)] += static_cast<double>(x(r, c));
    for (Index c = mine.begin; c < mine.end; ++c) scale.mean[at(c)] /= rows;
    for (Index r = 0; r < x.rows; ++r)
      for (Index c = mine.begin; c < mine.end; ++c) {
        const double d = static_cast<double>(x(r, c)) - scale.mean[at(c)];
        squares[at(c - mine.begin)] += d * d;
        largest[at(c - mine.begin)] = std::max(largest[at(c - mine.begin)], std::abs(static_cast<double>(x(r, c))));
      }
    for (Index c = mine.begin; c < mine.end; ++c) {
      const double deviation = std::sqrt(squares[at(c - mine.begin)] / rows);
      if (!std::isfinite(deviation)) throw DataError("ridge: a feature is not finite, so no readout can be fitted");
      scale.factor[at(c)] = deviation > kConstant * largest[at(c - mine.begin)] ? 1 / deviation : 0;
    }
  });
  return scale;
}

constexpr Index kFeatureBlock = 256, kRowStripe = 64;

/// Computes the standardized features of one block of columns, transposed [columns x rows].
void standardize_block(Matrix<const float> x, const FeatureScale& scale, Range columns, Range rows, double* z) {
  for (Index r = rows.begin; r < rows.end; ++r)
    for (Index c = columns.begin; c < columns.end; ++c)
      z[(c - columns.begin) * x.rows + r] = (static_cast<double>(x(r, c)) - scale.mean[at(c)]) * scale.factor[at(c)];
}

/// Returns Z Z', computed above the diagonal in stripes of columns.
std::vector<double> products_of_rows(Matrix<const float> x, const FeatureScale& scale, Team& team) {
  const Index n = x.rows;
  std::vector<double> g(at(n * n));
  Buffer<double> block(kFeatureBlock * n);
  team.run([&](Member& me) {
    for (Index first = 0; first < x.cols; first += kFeatureBlock) {
      const Range columns{first, std::min(x.cols, first + kFeatureBlock)};
      standardize_block(x, scale, columns, me.share(n), block.data());
      me.sync();
      const Matrix<const double> z{block.data(), columns.size(), n, n};
      const Matrix<double> all{g.data(), n, n, n};
      for (Index c = me.id() * kRowStripe; c < n; c += me.size() * kRowStripe) {
        const Index width = std::min(kRowStripe, n - c);
        accumulate_outer<double>(z, z.cols_from(c, width), all.cols_from(c, width), {0, c + width}, Start::accumulate);
      }
      me.sync();
    }
  });
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) g[at(i * n + j)] = g[at(j * n + i)];
  return g;
}

/// The fit for one lambda.
struct DualFit {
  std::vector<double> a;  ///< [outputs x rows]
  std::vector<double> bias, left_out;
  double mean_square = 0;
};

double weight_of(std::span<const double> weights, Index row) { return weights.empty() ? 1 : weights[at(row)]; }

std::optional<DualFit> solve_dual(std::vector<double> g, Matrix<const double> y, double ridge,
                                  std::span<const double> weights, Team& team) {
  const Index n = y.rows, outputs = y.cols;
  for (Index i = 0; i < n; ++i) g[at(i * n + i)] += ridge / weight_of(weights, i);
  const std::optional<Cholesky> factor = Cholesky::of(std::move(g), n);
  if (!factor) return std::nullopt;
  std::vector<double> u(at(n), 1.0), diagonal = factor->inverse_diagonal(team);
  factor->solve(u);
  const double total = sum<double>(u);
  for (Index i = 0; i < n; ++i) diagonal[at(i)] -= u[at(i)] * u[at(i)] / total;
  DualFit fit{.a = std::vector<double>(at(outputs * n)), .bias = {}, .left_out = std::vector<double>(at(n * outputs))};
  for (Index k = 0; k < outputs; ++k) {
    const std::span<double> a = std::span(fit.a).subspan(at(k * n), at(n));
    double bias = 0;
    for (Index i = 0; i < n; ++i) bias += u[at(i)] * y(i, k);
    bias /= total;
    for (Index i = 0; i < n; ++i) a[at(i)] = y(i, k) - bias;
    factor->solve(a);
    for (Index i = 0; i < n; ++i) {
      if (!(diagonal[at(i)] > 0)) return std::nullopt;
      const double residual = a[at(i)] / diagonal[at(i)];
      fit.left_out[at(i * outputs + k)] = y(i, k) - residual;
      fit.mean_square += weight_of(weights, i) * (residual * residual);
    }
    fit.bias.push_back(bias);
  }
  double all = 0;
  for (Index i = 0; i < n; ++i) all += weight_of(weights, i);
  fit.mean_square /= all * static_cast<double>(outputs);
  if (!std::isfinite(fit.mean_square)) return std::nullopt;
  return fit;
}

/// V = Z' a, for the unscaled features.
void set_weights(Matrix<const float> x, const FeatureScale& scale, const DualFit& dual, LeaveOneOutFit& fit,
                 Team& team) {
  const auto outputs = static_cast<Index>(dual.bias.size());
  fit.weights.assign(at(x.cols * outputs), 0);
  team.run([&](Member& me) {
    const Range mine = me.share(x.cols, 16);
    for (Index r = 0; r < x.rows; ++r)
      for (Index c = mine.begin; c < mine.end; ++c) {
        const double z = (static_cast<double>(x(r, c)) - scale.mean[at(c)]) * scale.factor[at(c)];
        for (Index k = 0; k < outputs; ++k) fit.weights[at(c * outputs + k)] += z * dual.a[at(k * x.rows + r)];
      }
    for (Index c = mine.begin; c < mine.end; ++c)
      for (Index k = 0; k < outputs; ++k) fit.weights[at(c * outputs + k)] *= scale.factor[at(c)];
  });
  fit.bias = dual.bias;
  for (Index k = 0; k < outputs; ++k)
    for (Index c = 0; c < x.cols; ++c) fit.bias[at(k)] -= scale.mean[at(c)] * fit.weights[at(c * outputs + k)];
}

}  // namespace

LeaveOneOutFit fit_leave_one_out(Matrix<const float> x, Matrix<const double> y, const LeaveOneOutOptions& options,
                                 Team& team) {
  constexpr Index kFewestRows = 3;
  if (x.rows < kFewestRows)
    throw DataError("ridge: there are fewer than three examples for fitting the readout; use more data");
  if (!options.weights.empty()) require_length("ridge: the weights", options.weights.size(), x.rows);
  const FeatureScale scale = scale_of(x, team);
  const std::vector<double> g = products_of_rows(x, scale, team);
  double unit = 0;
  for (Index i = 0; i < x.rows; ++i) unit += g[at(i * x.rows + i)] / static_cast<double>(x.rows);
  if (unit <= 0) unit = 1;  // all examples have the same features: the weights are 0, and the bias is the mean
  LeaveOneOutFit fit;
  std::optional<DualFit> best;
  constexpr double kSmallest = 1e-7, kLargest = 20, kStep = 3.1622776601683795;
  const bool chosen = options.lambda == 0;
  for (double lambda = chosen ? kSmallest : options.lambda; lambda < kLargest || !chosen; lambda *= kStep) {
    std::optional<DualFit> next = solve_dual(g, y, lambda * unit, options.weights, team);
    if (next && (!best || next->mean_square < best->mean_square)) best = std::move(next), fit.lambda = lambda;
    if (!chosen) break;
  }
  if (!best)
    throw DataError(chosen ? "ridge: no lambda allows a fit of these features; use a larger value"
                           : "ridge: lambda is too small for these features; use a larger value, or 0 to select it "
                             "automatically");
  set_weights(x, scale, *best, fit, team);
  fit.left_out = std::move(best->left_out);
  fit.mean_square = best->mean_square;
  return fit;
}

namespace {

/// Returns the negative log-likelihood of smoothed labels under softmax(factor * scores).
double smoothed_nats(Matrix<const double> scores, const std::vector<Index>& labels, std::span<const double> weights,
                     double factor, double smoothing) {
  const Index classes = scores.cols;
  std::vector<double> row(at(classes));
  double nats = 0;
  for (Index i = 0; i < scores.rows; ++i) {
    for (Index k = 0; k < classes; ++k) row[at(k)] = factor * scores(i, k);
    log_softmax(row.data(), row.data(), classes);
    const double weight = weight_of(weights, i);
    for (Index k = 0; k < classes; ++k)
      nats -=
          weight * (row[at(k)] * (k == labels[at(i)] ? 1 - smoothing : smoothing / static_cast<double>(classes - 1)));
  }
  return nats;
}

}  // namespace

double calibrated_factor(Matrix<const double> scores, const std::vector<Index>& labels,
                         std::span<const double> weights) {
  if (scores.cols < 2) return 1;
  const double smoothing = 1 / (static_cast<double>(scores.rows) + 2);
  constexpr double kGolden = 0.6180339887498949;
  double low = -5, high = 8;  // logarithms; the likelihood is a concave function of the factor
  const auto nats = [&](double x) {
    vector_exp(&x, &x, 1);
    return smoothed_nats(scores, labels, weights, x, smoothing);
  };
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low), at_a = nats(a), at_b = nats(b);
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    if (at_a <= at_b) {
      high = b, b = a, at_b = at_a;
      a = high - kGolden * (high - low), at_a = nats(a);
    } else {
      low = a, a = b, at_a = at_b;
      b = low + kGolden * (high - low), at_b = nats(b);
    }
  }
  double factor = (low + high) / 2;
  vector_exp(&factor, &factor, 1);
  return factor;
}

}  // namespace unfold
