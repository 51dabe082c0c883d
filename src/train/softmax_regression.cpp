#include "train/softmax_regression.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr Index kScoreGrain = 4, kClassGrain = 1;

std::span<double> row_of(std::vector<double>& values, Index row, Index size) {
  return std::span(values).subspan(at(row * size), at(size));
}

}  // namespace

SoftmaxRegression::SoftmaxRegression(std::vector<double> mean, const std::vector<double>& frequencies, Index rows,
                                     double lambda)
    : inputs_(static_cast<Index>(mean.size())),
      classes_(static_cast<Index>(frequencies.size())),
      mean_(std::move(mean)),
      lambda_(lambda) {
  position_.assign(at(classes_ * (inputs_ + 1)), 0.0);
  gradient_ = position_;
  second_.resize(inputs_ * inputs_);
  std::fill_n(second_.data(), second_.size(), 0.0);
  // Half a row is added to every class, so that a class without rows has a finite logarithm.
  const auto count = static_cast<double>(rows);
  for (Index k = 0; k < classes_; ++k)
    position_[at(classes_ * inputs_ + k)] =
        std::log((count * frequencies[at(k)] + 0.5) / (count + 0.5 * static_cast<double>(classes_)));
  ahead_ = position_;
}

void SoftmaxRegression::pack(Team& team) {
  packed_.resize(inputs_, classes_);
  const Matrix<double> v = matrix(ahead_);
  team.run([&](Member& me) {
    packed_.pack_transposed({v.data, v.rows, v.cols, v.stride}, me.share(packed_.panels(), 1));
  });
}

void SoftmaxRegression::add(Matrix<const double> x, std::span<const Symbol> labels, Team& team) {
  if (x.cols != inputs_ || x.rows != static_cast<Index>(labels.size()))
    throw UsageError("softmax regression: the row sizes differ from those of the sums");
  if (rows_ == 0) pack(team);
  centered_.resize(x.rows * inputs_);
  scores_.resize(x.rows * (classes_ + 1));
  const Matrix<double> z{centered_.data(), x.rows, inputs_, inputs_};
  const Matrix<double> scores{scores_.data(), x.rows, classes_, classes_};
  double* nats = scores_.data() + x.rows * classes_;
  const double* bias = ahead_.data() + classes_ * inputs_;
  team.run([&](Member& me) {
    const Range mine = me.share(x.rows, kScoreGrain);
    for (Index r = mine.begin; r < mine.end; ++r)
      for (Index i = 0; i < inputs_; ++i) z(r, i) = x(r, i) - mean_[at(i)];
    if (!mine.empty())
      multiply<double>(z.rows_from(mine.begin, mine.size()), packed_, scores.rows_from(mine.begin, mine.size()),
                       {0, packed_.panels()}, Start::bias, bias);
    for (Index r = mine.begin; r < mine.end; ++r) {
      double* row = scores.row(r);
      const Symbol label = labels[at(r)];
      const double score = row[label];
      nats[r] = log_sum_exp(row, classes_) - score;
      softmax(row, row, classes_);
      for (Index k = 0; k < classes_; ++k) row[k] = -row[k];
      row[label] += 1;
    }
    me.sync();
    if (const Range rows = me.share(inputs_, kClassGrain); !factor_ && !rows.empty())
      accumulate_outer<double>(z, z, {second_.data(), inputs_, inputs_, inputs_}, rows, Start::accumulate);
    const Range own = me.share(classes_, kClassGrain);
    if (own.empty()) return;
    accumulate_outer<double>(scores, z, matrix(gradient_), own, Start::accumulate);
    accumulate_columns<double>(scores, gradient_.data() + classes_ * inputs_, own, Start::accumulate);
  });
  for (Index r = 0; r < x.rows; ++r) total_ += nats[r];
  rows_ += x.rows;
}

/// Factors the matrix of the bound after the first pass.
void SoftmaxRegression::factor() {
  double trace = 0;
  for (Index i = 0; i < inputs_; ++i) trace += second_[i * inputs_ + i];
  penalty_ = lambda_ * trace / static_cast<double>(inputs_);
  for (Index i = 0; i < inputs_; ++i) second_[i * inputs_ + i] += penalty_;
  factor_ = Cholesky::of({second_.data(), second_.data() + second_.size()}, inputs_);
  if (!factor_)
    throw DataError(
        "softmax regression: the states are constant, or lambda is too small for them; use a larger ridge=");
  second_.resize(0);
}

/// Sets the direction to the minimum of the bound, relative to `ahead_`. Returns the decrease of the bound.
double SoftmaxRegression::newton_step(Values& direction, Team& team) const {
  direction = gradient_;
  team.run([&](Member& me) {
    const Range own = me.share(classes_, kClassGrain);
    for (Index k = own.begin; k < own.end; ++k) {
      const std::span<double> row = row_of(direction, k, inputs_);
      factor_->solve(row);
      for (double& each : row) each *= 2;
      direction[at(classes_ * inputs_ + k)] *= 2 / static_cast<double>(rows_);
    }
  });
  return dot<double>(gradient_, direction) / 2;
}

bool SoftmaxRegression::step(Team& team) {
  if (rows_ == 0) throw DataError("softmax regression: no rows to fit");
  if (!factor_) factor();
  for (Index i = 0; i < classes_ * inputs_; ++i) gradient_[at(i)] -= penalty_ / 2 * ahead_[at(i)];
  Values next;
  const double decrease = newton_step(next, team);
  double along = 0;  // slope of the objective along the last movement, with the opposite sign
  for (std::size_t i = 0; i < next.size(); ++i) {
    next[i] += ahead_[i];
    along += gradient_[i] * (next[i] - position_[i]);
  }
  const bool turns = along < 0;
  const double before = turns ? 1 : momentum_, after = (1 + std::sqrt(1 + 4 * before * before)) / 2;
  for (std::size_t i = 0; i < next.size(); ++i)
    ahead_[i] = next[i] + (turns ? 0 : (before - 1) / after) * (next[i] - position_[i]);
  position_ = std::move(next);
  momentum_ = turns ? 1 : after;
  nats_ = total_ / static_cast<double>(rows_);
  const bool again = ++passes_ < kMostPasses && decrease > kTolerance * static_cast<double>(rows_);
  std::ranges::fill(gradient_, 0.0);
  rows_ = 0, total_ = 0;
  return again;
}

std::vector<double> SoftmaxRegression::weights() const {
  std::vector<double> result(at(inputs_ * classes_));
  for (Index k = 0; k < classes_; ++k)
    for (Index i = 0; i < inputs_; ++i) result[at(i * classes_ + k)] = position_[at(k * inputs_ + i)];
  return result;
}

std::vector<double> SoftmaxRegression::bias() const {
  std::vector<double> result(position_.begin() + classes_ * inputs_, position_.end());
  for (Index k = 0; k < classes_; ++k)
    for (Index i = 0; i < inputs_; ++i) result[at(k)] -= position_[at(k * inputs_ + i)] * mean_[at(i)];
  return result;
}

}  // namespace unfold
