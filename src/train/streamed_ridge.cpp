#include "train/streamed_ridge.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "train/cholesky.h"
#include "unfold/base/error.h"
#include "unfold/numerics/product.h"

namespace unfold {
namespace {

constexpr Index kBlockRows = 256, kColumnStripe = 64, kHeldShare = 10, kMostHeld = 2000, kFewestRows = 20;

}  // namespace

/// The equations of standardized, centered features.
struct StreamedRidge::Scaled {
  std::vector<double> xx;  ///< [features x features], full
  std::vector<double> xy;  ///< [outputs x features]
  std::vector<double> mean_x, factor, mean_y;
};

StreamedRidge::StreamedRidge(Index features, Index outputs, Team& team)
    : features_(features),
      outputs_(outputs),
      width_(features + outputs),
      team_(team),
      block_(kBlockRows * width_),
      first_(width_),
      second_(width_ * width_) {}

void StreamedRidge::add(Matrix<const float> x, Matrix<const double> y, double weight) {
  for (Index r = 0; r < x.rows; ++r, ++rows_) {
    if (shift_.empty()) {
      shift_.assign(x.row(r), x.row(r) + features_);
      shift_.insert(shift_.end(), y.row(r), y.row(r) + outputs_);
    }
    if (rows_ % kHeldShare == kHeldShare - 1 && static_cast<Index>(held_.size()) < kMostHeld) {
      held_.push_back(rows_);
      held_x_.insert(held_x_.end(), x.row(r), x.row(r) + features_);
      held_y_.insert(held_y_.end(), y.row(r), y.row(r) + outputs_);
      held_weights_.push_back(weight);
      continue;
    }
    add_pending(x.row(r), y.row(r), weight);
  }
}

void StreamedRidge::add_pending(const float* x, const double* y, double weight) {
  const double root = std::sqrt(weight);
  double* to = block_.data() + pending_ * width_;
  for (Index f = 0; f < features_; ++f) to[f] = root * (static_cast<double>(x[f]) - shift_[at(f)]);
  for (Index k = 0; k < outputs_; ++k) to[features_ + k] = root * (y[k] - shift_[at(features_ + k)]);
  roots_.push_back(root);
  summed_ += weight;
  if (++pending_ == kBlockRows) flush();
}

void StreamedRidge::flush() {
  if (pending_ > 0) accumulate({block_.data(), pending_, width_, width_});
  pending_ = 0;
  roots_.clear();
}

/// Adds the upper triangle of Z' Z, in stripes of columns.
void StreamedRidge::accumulate(Matrix<const double> z) {
  const Matrix<double> second{second_.data(), width_, width_, width_};
  const bool weighted = std::ranges::any_of(roots_, [](double root) { return root != 1; });
  team_.run([&](Member& me) {
    for (Index c = me.id() * kColumnStripe; c < width_; c += me.size() * kColumnStripe) {
      const Index width = std::min(kColumnStripe, width_ - c);
      accumulate_outer<double>(z, z.cols_from(c, width), second.cols_from(c, width), {0, c + width}, Start::accumulate);
      if (!weighted) accumulate_columns<double>(z, first_.data(), {c, c + width}, Start::accumulate);
      for (Index r = 0; weighted && r < z.rows; ++r)
        for (Index i = c; i < c + width; ++i) first_[i] += roots_[at(r)] * z(r, i);
    }
  });
}

StreamedRidge::Scaled StreamedRidge::scaled() const {
  const double rows = summed_;
  const auto about_mean = [&](Index i, Index j) {  // i <= j
    return second_[i * width_ + j] - first_[i] * first_[j] / rows;
  };
  Scaled s{.xx = std::vector<double>(at(features_ * features_)),
           .xy = std::vector<double>(at(outputs_ * features_)),
           .mean_x = std::vector<double>(at(features_)),
           .factor = std::vector<double>(at(features_)),
           .mean_y = std::vector<double>(at(outputs_))};
  constexpr double kConstant = 1e-12;
  for (Index i = 0; i < features_; ++i) {
    const double square = about_mean(i, i);
    if (!std::isfinite(square)) throw DataError("ridge: a feature is not finite, so no readout can be fitted");
    const double size = std::max(second_[i * width_ + i], shift_[at(i)] * shift_[at(i)] * rows);
    s.mean_x[at(i)] = shift_[at(i)] + first_[i] / rows;
    s.factor[at(i)] = square > kConstant * size ? 1 / std::sqrt(square) : 0;
  }
  for (Index k = 0; k < outputs_; ++k) s.mean_y[at(k)] = shift_[at(features_ + k)] + first_[features_ + k] / rows;
  team_.run([&](Member& me) {
    for (Index i = me.id(); i < features_; i += me.size()) {
      for (Index j = i; j < features_; ++j)
        s.xx[at(j * features_ + i)] = about_mean(i, j) * s.factor[at(i)] * s.factor[at(j)];
      for (Index k = 0; k < outputs_; ++k) s.xy[at(k * features_ + i)] = about_mean(i, features_ + k) * s.factor[at(i)];
    }
  });
  return s;
}

/// Returns weights of standardized features [outputs x features]; empty if lambda is too small.
std::vector<double> StreamedRidge::fit(const Scaled& scaled, double lambda) const {
  std::vector<double> a = scaled.xx;
  for (Index i = 0; i < features_; ++i) a[at(i * features_ + i)] = (scaled.factor[at(i)] > 0 ? 1 : 0) + lambda;
  const std::optional<Cholesky> factor = Cholesky::blocked(std::move(a), features_, team_);
  if (!factor) return {};
  std::vector<double> v = scaled.xy;
  for (Index k = 0; k < outputs_; ++k) factor->solve(std::span(v).subspan(at(k * features_), at(features_)));
  return v;
}

namespace {

/// Returns predictions for the rows x from weights of standardized features.
std::vector<double> predicted_rows(Matrix<const float> x, const std::vector<double>& v,
                                   const std::vector<double>& mean_x, const std::vector<double>& factor,
                                   const std::vector<double>& mean_y) {
  const auto outputs = static_cast<Index>(mean_y.size());
  std::vector<double> result(at(x.rows * outputs));
  for (Index r = 0; r < x.rows; ++r)
    for (Index k = 0; k < outputs; ++k) {
      double sum = mean_y[at(k)];
      for (Index f = 0; f < x.cols; ++f)
        sum += v[at(k * x.cols + f)] * factor[at(f)] * (static_cast<double>(x(r, f)) - mean_x[at(f)]);
      result[at(r * outputs + k)] = sum;
    }
  return result;
}

/// Returns the weighted mean of the squared differences of a and b [rows x outputs].
double mean_square_of(const std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& weights) {
  double sum = 0, all = 0;
  const std::size_t outputs = weights.empty() ? 1 : a.size() / weights.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += weights[i / outputs] * ((a[i] - b[i]) * (a[i] - b[i]));
    all += weights[i / outputs];
  }
  return sum / all;
}

}  // namespace

StreamedRidgeFit StreamedRidge::solve(double lambda) {
  flush();
  if (rows_ < kFewestRows) throw DataError("ridge: there are too few examples for fitting the readout; use more data");
  StreamedRidgeFit result{.weights = {}, .bias = {}, .held_out = {}, .held = held_, .lambda = lambda};
  const Matrix<const float> held_x{held_x_.data(), static_cast<Index>(held_.size()), features_, features_};
  bool found = false;
  {
    const Scaled s = scaled();
    constexpr double kSmallest = 1e-6, kLargest = 2;
    for (double next = lambda > 0 ? lambda : kSmallest; next < kLargest || next == lambda; next *= 10) {
      const std::vector<double> v = fit(s, next);
      if (v.empty()) continue;
      std::vector<double> held_out = predicted_rows(held_x, v, s.mean_x, s.factor, s.mean_y);
      const double square = mean_square_of(held_out, held_y_, held_weights_);
      if (!found || square < result.mean_square)
        result.lambda = next, result.mean_square = square, result.held_out = std::move(held_out);
      found = true;
      if (lambda > 0) break;
    }
  }
  if (!found)
    throw DataError(lambda > 0 ? "ridge: lambda is too small for these features; use a larger value, or 0 to select it "
                                 "automatically"
                               : "ridge: no lambda allows a fit of these features; use a larger value");
  for (std::size_t h = 0; h < held_.size(); ++h)
    add_pending(held_x.row(static_cast<Index>(h)), held_y_.data() + h * at(outputs_), held_weights_[h]);
  flush();
  const Scaled s = scaled();
  const std::vector<double> v = fit(s, result.lambda);
  if (v.empty())
    throw DataError(lambda > 0 ? "ridge: lambda is too small for these features; use a larger value, or 0 to select it "
                                 "automatically"
                               : "ridge: the selected lambda is too small for these features; use a larger value");
  result.weights.resize(at(features_ * outputs_));
  result.bias = s.mean_y;
  for (Index f = 0; f < features_; ++f)
    for (Index k = 0; k < outputs_; ++k) {
      const double w = result.weights[at(f * outputs_ + k)] = v[at(k * features_ + f)] * s.factor[at(f)];
      result.bias[at(k)] -= w * s.mean_x[at(f)];
    }
  return result;
}

}  // namespace unfold
