#pragma once
/// Losses for vectors with independent components. A subclass defines three functions of a single row; this base class
/// handles blocks of rows, missing targets and scaling.

#include <cmath>

#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {

template <class T>
class ComponentLoss : public RowLoss<T>, public LossFisher<T> {
 public:
  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const final {
    require_values(*this, signal, targets);
    for (Index r = 0; r < signal.rows; ++r)
      nats[r] = is_predicted(targets, r) ? row_nats(signal.row(r), targets.values.row(r), signal.cols) : T{0};
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const final {
    require_values(*this, signal, targets);
    const Index n = signal.cols;
    for (Index r = 0; r < signal.rows; ++r) {
      T* out = adjoint.row(r);
      if (!is_predicted(targets, r)) {
        nats[r] = 0;
        set_row(out, n, T{0});
        continue;
      }
      // Computed before `out` is written, because `out` may be the signal.
      nats[r] = row_nats(signal.row(r), targets.values.row(r), n);
      row_slopes(signal.row(r), targets.values.row(r), n, out);
      for (Index i = 0; i < n; ++i) out[i] *= scale;
    }
  }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const final {
    for (Index r = 0; r < signal.rows; ++r) fisher_or_zeros(signal, targets, r, seed.row(r));
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const final {
    const Index n = signal.cols;
    require_same(this->name(), "weight columns", w.cols, n);
    T* fisher = row_scratch<T, 1>(2 * n);
    T* squares = fisher + n;
    for (Index r = 0; r < signal.rows; ++r) {
      fisher_or_zeros(signal, targets, r, fisher);
      for (Index i = 0; i < w.rows; ++i) {
        for (Index x = 0; x < n; ++x) squares[x] = w(i, x) * w(i, x);
        seed(r, i) = static_cast<T>(dot(span_of<T>(fisher, n), span_of<T>(squares, n)));
      }
    }
  }

 protected:
  /// Returns the nats of a row of n components o with observation y; n is the size of the signal.
  virtual T row_nats(const T* o, const T* y, Index n) const = 0;
  /// out = d nats / d o. out may be o.
  virtual void row_slopes(const T* o, const T* y, Index n, T* out) const = 0;
  /// out = expected squared derivative under the distribution, for each component.
  virtual void row_fisher(const T* o, Index n, T* out) const = 0;

  void fisher_or_zeros(Matrix<const T> signal, const Targets<T>& targets, Index row, T* out) const {
    if (is_predicted(targets, row))
      row_fisher(signal.row(row), signal.cols, out);
    else
      set_row(out, signal.cols, T{0});
  }
};

/// A loss of independent components whose curvature is the Fisher matrix. If o is the natural parameter of an
/// exponential family, this is the Hessian.
template <class T>
class NaturalLoss : public ComponentLoss<T>, public RowCurvature<T> {
 public:
  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const final {
    for (Index r = 0; r < signal.rows; ++r) {
      this->fisher_or_zeros(signal, targets, r, result.row(r));
      for (Index i = 0; i < signal.cols; ++i) result(r, i) = scale * (result(r, i) * tangent(r, i));
    }
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const final {
    T* fisher = row_scratch<T, 1>(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      this->fisher_or_zeros(signal, targets, r, fisher);
      for (Index i = 0; i < signal.cols; ++i) result(r, i) = scale * (std::sqrt(fisher[i]) * noise(r, i));
    }
  }
};

}  // namespace unfold
