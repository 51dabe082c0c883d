#include "train/ridge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "train/cholesky.h"
#include "unfold/base/error.h"
#include "unfold/numerics/product.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

/// With at least kEnough rows per input, generalized cross-validation is used; with fewer rows, cross-validation over
/// kFolds blocks.
constexpr Index kEnough = 2, kFolds = 5;

}  // namespace

/// Centered sums: X'X [n x n], X'Y [m x n] (one row per output), and the diagonal of Y'Y.
struct RidgeSums::Centered {
  double weight;  ///< sum of the weights: without weights, the number of rows
  Index n, m;
  Vector xx, yx, yy, mean;
  double unit;  ///< weight * mean square of a state: lambda = 1

  void divide(std::span<const double> scales) {
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) xx[at(i * n + j)] /= scales[at(i)] * scales[at(j)];
      for (Index k = 0; k < m; ++k) yx[at(k * n + i)] /= scales[at(i)];
      mean[at(i)] /= scales[at(i)];
    }
  }

  struct Solution {
    Vector v;  ///< [m x n]
    Cholesky factor;
  };
  std::optional<Solution> solve(double lambda) const {
    Vector a = xx;
    for (Index i = 0; i < n; ++i) a[at(i * n + i)] += lambda * unit;
    std::optional<Cholesky> factor = Cholesky::of(std::move(a), n);
    if (!factor) return std::nullopt;
    Vector v = yx;
    for (Index k = 0; k < m; ++k) factor->solve(std::span(v).subspan(at(k * n), at(n)));
    return Solution{std::move(v), std::move(*factor)};
  }
  /// Returns |Y - X V|^2 over these rows, for one output or for all.
  double residual(const Vector& v, Index k) const {
    const auto of = [&](const Vector& x, Index row) { return std::span<const double>(x).subspan(at(row * n), at(n)); };
    Vector product(at(n));
    for (Index i = 0; i < n; ++i) product[at(i)] = dot<double>(of(xx, i), of(v, k));
    const double left = yy[at(k)] - 2 * dot<double>(of(v, k), of(yx, k)) + dot<double>(of(v, k), product);
    return std::max(left, 0.0);
  }
  double residual(const Vector& v) const {
    double total = 0;
    for (Index k = 0; k < m; ++k) total += residual(v, k);
    return total;
  }
};

RidgeSums::RidgeSums(Index inputs, Index outputs, Index blocks) : inputs_(inputs), outputs_(outputs) {
  if (inputs < 1 || outputs < 1)
    throw UsageError("ridge: " + std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
                     " outputs; at least 1 of each is needed");
  if (blocks == 1 || blocks < 0)
    throw UsageError("ridge: the number of blocks must be 0 or at least 2, not " + std::to_string(blocks));
  const std::size_t n = at(inputs + outputs);
  const auto clear = [&](Sums& sums) { sums.first.assign(n, 0.0), sums.second.assign(n * n, 0.0); };
  clear(total_);
  blocks_.resize(at(blocks));
  for (Sums& block : blocks_) clear(block);
}

/// Adds the upper triangle of w z z', in stripes of columns.
void RidgeSums::add_to(Sums& sums, Matrix<const double> z, std::span<const double> weights) const {
  constexpr Index kStripe = 64;
  const Index n = z.cols;
  Buffer<double> products;
  Matrix<const double> weighted = z;
  if (!weights.empty()) {
    products.resize(z.rows * n);
    for (Index r = 0; r < z.rows; ++r)
      for (Index i = 0; i < n; ++i) products.data()[r * n + i] = weights[at(r)] * z(r, i);
    weighted = {products.data(), z.rows, n, n};
  }
  const Matrix<double> second{sums.second.data(), n, n, n};
  for (Index c = 0; c < n; c += kStripe) {
    const Index width = std::min(kStripe, n - c);
    accumulate_outer<double>(z, weighted.cols_from(c, width), second.cols_from(c, width), {0, c + width},
                             Start::accumulate);
  }
  accumulate_columns<double>(weighted, sums.first.data(), {0, n}, Start::accumulate);
  sums.rows += z.rows;
  if (weights.empty()) sums.weight += static_cast<double>(z.rows);
  for (const double weight : weights) sums.weight += weight;
}

void RidgeSums::add(Matrix<const double> x, Matrix<const double> y, std::span<const double> weights) {
  if (x.cols != inputs_ || y.cols != outputs_ || x.rows != y.rows)
    throw UsageError("ridge: the row sizes differ from those of the sums");
  Buffer<double> joined(kRun * (inputs_ + outputs_));
  for (Index r = 0; r < x.rows;) {
    const Index count = std::min(x.rows - r, kRun - filled_), width = inputs_ + outputs_;
    for (Index i = 0; i < count; ++i) {
      double* row = std::copy_n(x.row(r + i), inputs_, joined.data() + i * width);
      std::copy_n(y.row(r + i), outputs_, row);
    }
    const Matrix<const double> z{joined.data(), count, width, width};
    const std::span<const double> own = weights.empty() ? weights : weights.subspan(at(r), at(count));
    add_to(total_, z, own);
    if (total_.rows < kEnough * inputs_) {
      kept_.insert(kept_.end(), joined.data(), joined.data() + count * width);
      kept_weights_.insert(kept_weights_.end(), own.begin(), own.end());
    } else {
      std::vector<double>().swap(kept_);
      std::vector<double>().swap(kept_weights_);
    }
    if (!blocks_.empty()) add_to(blocks_[block_], z, own);
    r += count, filled_ += count;
    if (filled_ == kRun) filled_ = 0, block_ = blocks_.empty() ? 0 : (block_ + 1) % blocks_.size();
  }
}

/// Returns the standard deviation of each state; 1 if it is constant.
std::vector<double> RidgeSums::deviations() const {
  const Centered all = centered(total_);
  Vector result(at(inputs_), 1.0);
  for (Index i = 0; i < inputs_; ++i) {
    const double variance = all.xx[at(i * inputs_ + i)] / total_.weight;
    if (variance > 0) result[at(i)] = std::sqrt(variance);
  }
  return result;
}

/// `scales`: divisors of the states; empty: none.
RidgeSums::Centered RidgeSums::centered(const Sums& sums, std::span<const double> scales) const {
  const Index n = inputs_, m = outputs_, width = n + m;
  Centered c{.weight = sums.weight,
             .n = n,
             .m = m,
             .xx = Vector(at(n * n)),
             .yx = Vector(at(m * n)),
             .yy = Vector(at(m)),
             .mean = sums.first,
             .unit = 0};
  for (double& mean : c.mean) mean /= c.weight;
  const auto about_mean = [&](Index i, Index j) {  // i <= j: the upper triangle
    return sums.second[at(i * width + j)] - c.weight * c.mean[at(i)] * c.mean[at(j)];
  };
  for (Index i = 0; i < n; ++i) {
    for (Index j = i; j < n; ++j) c.xx[at(i * n + j)] = c.xx[at(j * n + i)] = about_mean(i, j);
    for (Index k = 0; k < m; ++k) c.yx[at(k * n + i)] = about_mean(i, n + k);
  }
  if (!scales.empty()) c.divide(scales);
  for (Index i = 0; i < n; ++i) {
    c.unit += c.xx[at(i * n + i)] / static_cast<double>(n);
  }
  if (c.unit <= 0) c.unit = 1;  // constant states: the weights are 0, and the bias is the mean of the targets
  for (Index k = 0; k < m; ++k) c.yy[at(k)] = about_mean(n + k, n + k);
  return c;
}

/// Returns the blocks for cross-validation; empty if the sums are sufficient.
std::vector<RidgeSums::Sums> RidgeSums::folds() const {
  if (!blocks_.empty() || kept_.empty()) return blocks_;
  const Index width = inputs_ + outputs_, rows = total_.rows;
  std::vector<Sums> result(at(std::min(kFolds, rows)));
  for (std::size_t f = 0; f < result.size(); ++f) {
    result[f].first.assign(at(width), 0.0), result[f].second.assign(at(width * width), 0.0);
    const Index begin = rows * static_cast<Index>(f) / static_cast<Index>(result.size()),
                end = rows * static_cast<Index>(f + 1) / static_cast<Index>(result.size());
    const std::span<const double> weights(kept_weights_);
    add_to(result[f], {kept_.data() + begin * width, end - begin, width, width},
           weights.empty() ? weights : weights.subspan(at(begin), at(end - begin)));
  }
  return result;
}

/// Returns an estimate of the mean square of held-out residuals of each output; empty if lambda allows no fit.
std::vector<double> RidgeSums::cross_validation(const Centered& all, double lambda) const {
  const auto solution = all.solve(lambda);
  if (!solution) return {};
  // trace of X (X'X + l I)^-1 X' = n - l trace of the inverse, plus one for the mean
  const double fitted = static_cast<double>(all.n) - lambda * all.unit * solution->factor.inverse_trace() + 1;
  const double rows = all.weight, free = rows - fitted;
  if (!(free > 0.5)) return {};
  Vector squares(at(all.m));
  for (Index k = 0; k < all.m; ++k) squares[at(k)] = all.residual(solution->v, k) * rows / (free * free);
  return squares;
}

/// Returns the mean square of the residuals of every block, predicted by the fit to all other blocks.
std::vector<double> RidgeSums::left_out(const std::vector<Sums>& folds, std::span<const double> scales,
                                        double lambda) const {
  Vector squares(at(outputs_));
  for (const Sums& block : folds) {
    if (block.rows == 0) continue;
    Sums rest = total_;
    rest.rows -= block.rows, rest.weight -= block.weight;
    for (std::size_t i = 0; i < rest.first.size(); ++i) rest.first[i] -= block.first[i];
    for (std::size_t i = 0; i < rest.second.size(); ++i) rest.second[i] -= block.second[i];
    if (rest.rows < 2) return {};
    const Centered others = centered(rest, scales);
    const auto solution = others.solve(lambda);
    if (!solution) return {};
    const Centered mine = centered(block, scales);
    for (Index k = 0; k < mine.m; ++k) {  // contribution of the difference of the means
      double off = mine.mean[at(mine.n + k)] - others.mean[at(mine.n + k)];
      for (Index i = 0; i < mine.n; ++i)
        off -= solution->v[at(k * mine.n + i)] * (mine.mean[at(i)] - others.mean[at(i)]);
      squares[at(k)] += mine.residual(solution->v, k) + mine.weight * off * off;
    }
  }
  for (double& square : squares) square /= total_.weight;
  return squares;
}

RidgeFit RidgeSums::solve(const RidgeOptions& options) const {
  if (total_.rows < 2)
    throw DataError(
        "ridge: there are fewer than two positions for fitting the readout; use more data or a shorter washout");
  const Vector scales = options.standardized ? deviations() : Vector();
  const Centered all = centered(total_, scales);
  if (!std::isfinite(all.unit)) throw DataError("ridge: the states are not finite, so no readout can be fitted");
  RidgeFit fit{.weights = {}, .bias = {}, .squares = {}, .lambda = options.lambda, .mean_square = 0};
  const std::vector<Sums> folds = this->folds();
  const auto held_out = [&](double lambda) {
    return folds.empty() ? cross_validation(all, lambda) : left_out(folds, scales, lambda);
  };
  double best = std::numeric_limits<double>::infinity();
  for (double lambda = 1e-14; options.lambda == 0 && lambda < 2 * options.most_lambda; lambda *= 10) {
    Vector squares = held_out(lambda);
    const double score = squares.empty() ? std::numeric_limits<double>::infinity() : sum<double>(squares);
    if (score < best) best = score, fit.lambda = lambda, fit.squares = std::move(squares);
  }
  if (!(fit.lambda > 0))
    throw DataError(
        "ridge: no lambda allows a fit; there are too few positions for the number of states; use "
        "more data or fewer states");
  auto solution = all.solve(fit.lambda);
  if (!solution)
    throw DataError("ridge: lambda is too small for these states; use a larger value, or 0 to select it automatically");
  fit.mean_square = options.lambda == 0 ? best : all.residual(solution->v) / all.weight;
  if (options.lambda > 0) fit.squares = held_out(options.lambda);
  for (Index k = 0; k < outputs_ && static_cast<Index>(fit.squares.size()) < outputs_; ++k)
    fit.squares.push_back(all.residual(solution->v, k) / all.weight);
  fit.weights.resize(at(inputs_ * outputs_));
  fit.bias.resize(at(outputs_));
  for (Index k = 0; k < outputs_; ++k) {
    fit.bias[at(k)] = all.mean[at(inputs_ + k)];
    for (Index i = 0; i < inputs_; ++i) {
      const double v = solution->v[at(k * inputs_ + i)];
      fit.weights[at(i * outputs_ + k)] = scales.empty() ? v : v / scales[at(i)];
      fit.bias[at(k)] -= v * all.mean[at(i)];
    }
  }
  return fit;
}

}  // namespace unfold
