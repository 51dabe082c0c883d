#include "optim/riemannian/loss_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loss/independent_rows.h"
#include "numerics/moments.h"
#include "optim/riemannian/damped_cholesky.h"

namespace unfold {
namespace {

constexpr Index kMostForMatrix = 256;  // maximum number of parameters of a loss for a matrix, which would otherwise
                                       // cost more than the loss

/// Replaces an infinite or undefined entry with 0, so that the parameter is not changed.
double finite_or_zero(double x) { return std::isfinite(x) ? x : 0; }

}  // namespace

template <class T>
LossMetric<T>::LossMetric(const CoreHead<T>& head, const Plan& plan, double damping, bool averages)
    : head_(head.head), damping_(damping) {
  for (const int parameter : head_.loss->parameter_indices()) {
    const ParameterInfo& p = plan.parameters()[at(parameter)];
    for (Index i = 0; i < p.size(); ++i) own_.push_back(p.offset + i);
  }
  full_ = count() <= kMostForMatrix;
  sums_.assign(at(matrix_size() + count()), 0);
  if (averages && !own_.empty()) average_.assign(at(matrix_size() + 1), T{0});
  own_gradient_.assign(at(plan.parameter_count()), T{0});
}

template <class T>
bool LossMetric<T>::samples_variances() const {
  return head_.loss->template as<LossFisher<T>>() == nullptr;
}

template <class T>
Observed<T> LossMetric<T>::observe(const CorePass<T>& core, const Parameters<T>& parameters, const Field& field) const {
  const Matrix<const T> signal = core.unfolding().value(head_.signal);
  return {.structure = core.unfolding().structure(),
          .signal = signal,
          .targets = targets_of<T>(field, 0, signal.rows),
          .parameters = parameters.flat()};
}

template <class T>
double LossMetric<T>::pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch,
                           const MetricWanted& wanted) {
  const Field& field = batch.field(head_.field);
  if (!batch.whole && !has_separate_rows(*head_.loss))
    throw UsageError(fmt::format(
        "reading sequences in segments (--window) requires independent rows, but the loss {} depends on whole "
        "sequences; leave it out, and read whole sequences (--whole-sequences)",
        head_.loss->name()));
  const Observed<T> seen = observe(core, parameters, field);
  const Index rows = seen.signal.rows, size = seen.signal.cols;
  nats_.assign(at(rows), T{0});
  seeds_.resize(rows * size);
  const Matrix<T> seeds{seeds_.data(), rows, size, size};
  if (wanted.seeds == MetricSeeds::drawn) {
    const auto* curvature = head_.loss->template as<LossCurvature<T>>();
    if (curvature == nullptr)
      throw UsageError(fmt::format("ruop: draws requires a curvature, which the loss {} does not have; leave draws out",
                                   head_.loss->name()));
    curvature->curvature_sample(seen, static_cast<T>(std::sqrt(head_.weight)), core.team(), wanted.draw, wanted.stream,
                                seeds, own_gradient_);
  } else {
    head_.loss->gradient(seen, static_cast<T>(head_.weight), core.team(), nats_.data(), seeds, own_gradient_);
  }
  double total = 0;
  for (const T x : nats_) total += static_cast<double>(x);
  if (wanted.adjoints) {
    const Matrix<T> adjoint = core.unfolding().adjoint(head_.signal);
    const bool weighted = wanted.seeds != MetricSeeds::gradient && !wanted.weights.empty();
    for (Index r = 0; r < rows; ++r) {
      const T k = weighted ? static_cast<T>(std::sqrt(wanted.weights[at(r)])) : T{1};
      for (Index c = 0; c < size; ++c) adjoint(r, c) += k * seeds(r, c);
    }
  }
  if (wanted.variances) find_variances(seen, field, core.team(), wanted);
  if (wanted.metric) accumulate(seen, field, core.team(), wanted.weights);
  return head_.weight * total;
}

/// The seed of the modulus is the diagonal of the Fisher matrix at the signal. Without one, it is the square of a
/// random vector whose covariance is the curvature: its mean is that diagonal, and the modulus is linear in its seed.
template <class T>
void LossMetric<T>::find_variances(const Observed<T>& seen, const Field& field, Team& team,
                                   const MetricWanted& wanted) {
  const Index rows = seen.signal.rows, size = seen.signal.cols;
  variances_.resize(rows * size);
  const Matrix<T> variances{variances_.data(), rows, size, size};
  if (const auto* fisher = head_.loss->template as<LossFisher<T>>()) {
    variances_.fill_zero();
    for (Index r = 0; r < rows; ++r)
      if (is_present(field, r))
        fisher->fisher_diagonal(seen.signal.rows_from(r, 1), seen.targets.from_row(r, 1), variances.rows_from(r, 1));
    for (Index i = 0; i < rows * size; ++i) variances_[i] *= static_cast<T>(head_.weight);
  } else if (const auto* curvature = head_.loss->template as<LossCurvature<T>>()) {
    curvature->curvature_sample(seen, static_cast<T>(std::sqrt(head_.weight)), team, wanted.draw, wanted.stream,
                                variances, own_gradient_);
    for (Index i = 0; i < rows * size; ++i) variances_[i] *= variances_[i];
  } else {
    throw UsageError(
        fmt::format("rbpm: the loss {} has no curvature, from which the backpropagated metric starts; use ruop, sgd or "
                    "adam",
                    head_.loss->name()));
  }
  for (Index r = 0; r < rows && !wanted.weights.empty(); ++r)
    for (Index c = 0; c < size; ++c) variances(r, c) *= static_cast<T>(wanted.weights[at(r)]);
}

/// Computes M and G of the loss's parameters from their gradient on every observation.
template <class T>
void LossMetric<T>::accumulate(const Observed<T>& seen, const Field& field, Team& team,
                               std::span<const double> weights) {
  if (own_.empty()) return;
  std::ranges::fill(sums_, 0.0);
  const Structure& all = seen.structure;
  const auto weight_of = [&](Index row) { return weights.empty() ? 1 : weights[at(row)]; };
  if (has_separate_rows(*head_.loss)) {
    for (Index r = 0; r < all.positions(); ++r)
      if (is_present(field, r)) add_observation(seen, std::span(&r, 1), team, weight_of(r));
    return;
  }
  std::vector<Index> rows;
  for (Index s = 0; s < all.sequences(); ++s) {
    rows.clear();
    for (Index p = 0; p < all.size(s); ++p) rows.push_back(all.row(s, p));
    add_observation(seen, rows, team, weight_of(rows.front()));
  }
}

template <class T>
void LossMetric<T>::add_observation(const Observed<T>& seen, std::span<const Index> rows, Team& team, double weight) {
  const auto length = static_cast<Index>(rows.size());
  const Index size = seen.signal.cols, width = seen.targets.values.data == nullptr ? 0 : seen.targets.values.cols;
  signal_.resize(at(length * size)), adjoint_.resize(at(length * size)), values_.resize(at(length * width));
  symbols_.resize(rows.size()), predicted_.resize(rows.size());
  for (Index p = 0; p < length; ++p) {
    const Index r = rows[at(p)];
    std::copy_n(seen.signal.row(r), size, signal_.data() + p * size);
    if (width > 0) std::copy_n(seen.targets.values.row(r), width, values_.data() + p * width);
    if (seen.targets.symbols != nullptr) symbols_[at(p)] = seen.targets.symbols[r];
    predicted_[at(p)] = seen.targets.predicted == nullptr ? 1 : seen.targets.predicted[r];
  }
  const Structure chain = Structure::chains({length});
  const Observed<T> alone{
      .structure = chain,
      .signal = {signal_.data(), length, size, size},
      .targets = {.symbols = seen.targets.symbols == nullptr ? nullptr : symbols_.data(),
                  .values = {width > 0 ? values_.data() : nullptr, width > 0 ? length : 0, width, width},
                  .predicted = seen.targets.predicted == nullptr ? nullptr : predicted_.data()},
      .parameters = seen.parameters};
  for (const Index i : own_) own_gradient_[at(i)] = T{0};
  head_.loss->gradient(alone, static_cast<T>(head_.weight), team, nats_.data(), {adjoint_.data(), length, size, size},
                       own_gradient_);
  const Index n = count();
  double* gradient = sums_.data() + matrix_size();
  for (Index i = 0; i < n; ++i) {
    const double gi = static_cast<double>(own_gradient_[at(own_[at(i)])]);
    gradient[i] += gi;
    if (!full_) sums_[at(i)] += weight * (gi * gi);
    for (Index j = 0; j <= i && full_; ++j)
      sums_[at(i * n + j)] += weight * (gi * static_cast<double>(own_gradient_[at(own_[at(j)])]));
  }
}

template <class T>
void LossMetric<T>::add_variances(CorePass<T>& core) const {
  const Matrix<T> adjoint = core.unfolding().adjoint(head_.signal);
  for (Index r = 0; r < adjoint.rows; ++r)
    for (Index c = 0; c < adjoint.cols; ++c) adjoint(r, c) += variances_[r * adjoint.cols + c];
}

template <class T>
void LossMetric<T>::direction(double keep, std::span<double> direction) {
  if (own_.empty()) return;
  const Index n = count(), numbers = matrix_size();
  std::vector<double> m(sums_.begin(), sums_.begin() + numbers), d(sums_.begin() + numbers, sums_.end());
  if (keep > 0) {  // M is averaged over batches; G is that of the current batch
    const auto blend = [&](T& mean, double present) {
      mean = static_cast<T>(keep * static_cast<double>(mean) + (1 - keep) * present);
    };
    blend(average_.back(), 1);
    for (Index i = 0; i < numbers; ++i) {
      blend(average_[at(i)], m[at(i)]);
      m[at(i)] = static_cast<double>(average_[at(i)]) / static_cast<double>(average_.back());
    }
  }
  const double damping = damping_ * head_.weight;
  if (full_) {
    for (Index i = 0; i < n; ++i) m[at(i * n + i)] += damping;
    raised_factor(m.data(), n);
    solve_lower(m.data(), n, n, d.data());
    solve_upper(m.data(), n, n, d.data());
  } else {
    for (Index i = 0; i < n; ++i) d[at(i)] /= m[at(i)] + damping;
  }
  for (Index i = 0; i < n; ++i) direction[at(own_[at(i)])] = finite_or_zero(d[at(i)]);
}

template <class T>
void LossMetric<T>::gradient(std::span<double> gradient) const {
  for (Index i = 0; i < count(); ++i) gradient[at(own_[at(i)])] = sums_[at(matrix_size() + i)];
}

template class LossMetric<float>;
template class LossMetric<double>;

}  // namespace unfold
