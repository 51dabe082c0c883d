#include "model/network/initialization/logistic_regression.h"

#include <algorithm>
#include <cmath>

#include "numerics/functions.h"

namespace unfold {
namespace {

/// The weights in one vector: one row of labels for each column, and a last row for the bias.
class LogisticFit {
 public:
  LogisticFit(const SparseRows& rows, const std::vector<std::int32_t>& labels, Index label_count,
              const std::vector<double>& row_weights, double l2)
      : rows_(rows), labels_(labels), row_weights_(row_weights), count_(label_count), l2_(l2) {
    const std::size_t size = at((rows.width + 1) * count_);
    weights_.assign(size, 0);
    ahead_.assign(size, 0);
    gradient_.assign(size, 0);
    scores_.assign(at(count_), 0);
    bound_curvature();
  }

  /// Makes one step. Returns the largest change of a weight.
  double step() {
    find_gradient();
    const double next_pace = (1 + std::sqrt(1 + 4 * pace_ * pace_)) / 2, momentum = (pace_ - 1) / next_pace;
    double change = 0, progress = 0;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      const double next = ahead_[k] - gradient_[k] * rate(k), moved = next - weights_[k];
      progress += gradient_[k] * moved;
      change = std::max(change, std::fabs(moved));
      weights_[k] = next;
      ahead_[k] = next + momentum * moved;
    }
    pace_ = next_pace;
    if (progress > 0) {  // the momentum leads uphill
      pace_ = 1;
      ahead_ = weights_;
    }
    return change;
  }

  LogisticWeights take() && {
    LogisticWeights result;
    result.bias.assign(weights_.end() - count_, weights_.end());
    weights_.resize(weights_.size() - at(count_));
    result.weights = std::move(weights_);
    return result;
  }

 private:
  double rate(std::size_t k) const { return rates_[k / at(count_)]; }

  /// The Hessian of a softmax is at most 1/2, so that of column a is at most sum_i s_i |x_ia| sum_b |x_ib| / 2.
  void bound_curvature() {
    std::vector<double> bounds(at(rows_.width + 1), 0);
    for (Index row = 0; row < rows_.count(); ++row) {
      double length = 1;
      for (Index k = rows_.begin(row); k < rows_.ends[at(row)]; ++k) length += std::fabs(rows_.values[at(k)]);
      const double factor = row_weights_[at(row)] * length / 2;
      for (Index k = rows_.begin(row); k < rows_.ends[at(row)]; ++k)
        bounds[at(rows_.columns[at(k)])] += factor * std::fabs(rows_.values[at(k)]);
      bounds.back() += factor;
    }
    rates_.resize(bounds.size());
    for (std::size_t a = 0; a < bounds.size(); ++a) rates_[a] = 1 / (bounds[a] + (a + 1 < bounds.size() ? l2_ : 1e-9));
  }

  void find_gradient() {
    for (std::size_t k = 0; k + at(count_) < ahead_.size(); ++k) gradient_[k] = l2_ * ahead_[k];
    std::fill(gradient_.end() - count_, gradient_.end(), 0.0);
    for (Index row = 0; row < rows_.count(); ++row) {
      find_errors(row);
      for (Index k = rows_.begin(row); k < rows_.ends[at(row)]; ++k) add(rows_.columns[at(k)], rows_.values[at(k)]);
      add(rows_.width, 1);
    }
  }

  /// Sets scores_ to the weighted differences between the probabilities and the label of a row.
  void find_errors(Index row) {
    std::copy(ahead_.end() - count_, ahead_.end(), scores_.begin());
    for (Index k = rows_.begin(row); k < rows_.ends[at(row)]; ++k) {
      const double* own = &ahead_[at(rows_.columns[at(k)] * count_)];
      const double value = rows_.values[at(k)];
      for (Index c = 0; c < count_; ++c) scores_[at(c)] += value * own[c];
    }
    const double largest = *std::ranges::max_element(scores_);
    for (double& score : scores_) score -= largest;
    vector_exp(scores_.data(), scores_.data(), count_);
    double sum = 0;
    for (const double score : scores_) sum += score;
    const double factor = row_weights_[at(row)] / sum;
    for (double& score : scores_) score *= factor;
    scores_[at(labels_[at(row)])] -= row_weights_[at(row)];
  }

  void add(Index column, double value) {
    double* own = &gradient_[at(column * count_)];
    for (Index c = 0; c < count_; ++c) own[c] += value * scores_[at(c)];
  }

  const SparseRows& rows_;
  const std::vector<std::int32_t>& labels_;
  const std::vector<double>& row_weights_;
  Index count_;
  double l2_, pace_ = 1;
  std::vector<double> weights_, ahead_, gradient_, scores_, rates_;
};

}  // namespace

LogisticWeights fit_logistic_regression(const SparseRows& rows, const std::vector<std::int32_t>& labels,
                                        Index label_count, const std::vector<double>& row_weights, double l2,
                                        Index iterations) {
  constexpr double kSmallChange = 1e-3;
  LogisticFit fit(rows, labels, label_count, row_weights, l2);
  for (Index i = 0; i < iterations; ++i)
    if (fit.step() < kSmallChange) break;
  return std::move(fit).take();
}

}  // namespace unfold
