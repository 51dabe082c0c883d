#include <cmath>
#include <memory>

#include "numerics/functions.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// With S = sum_y o_y and p = o / S: nats = log S - log o_x; the score of outcome x is e_x / o_x - 1 / S.
template <class T>
class NormalizedLoss final : public RowLoss<T>, public RowCurvature<T>, public LossFisher<T> {
 public:
  std::string_view name() const override { return "normalised"; }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    for (Index r = 0; r < signal.rows; ++r) {
      const Symbol target = target_of(signal, targets, r);
      nats[r] = target == kNoSymbol ? T{0} : row_nats(signal(r, target), total(signal, r));
    }
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    for (Index r = 0; r < signal.rows; ++r) {
      const Symbol target = target_of(signal, targets, r);
      if (target == kNoSymbol) {
        nats[r] = 0;
        set_row(adjoint.row(r), signal.cols, T{0});
        continue;
      }
      // Must precede writing the adjoint, which may be the signal
      const T o = signal(r, target), all = total(signal, r);
      nats[r] = row_nats(o, all);
      set_row(adjoint.row(r), signal.cols, scale / all);
      adjoint(r, target) = scale * (1 / all - 1 / o);
    }
  }

  /// F = diag(1 / (S o)) - 1 1' / S^2.
  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    const Index n = signal.cols;
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(signal, targets, r, result)) continue;
      const T all = total(signal, r), mean = static_cast<T>(sum(span_of(tangent.row(r), n))) / all;
      for (Index i = 0; i < n; ++i) result(r, i) = scale * ((tangent(r, i) / signal(r, i) - mean) / all);
    }
  }

  /// R = [sqrt(p_x) score of x], one column for each outcome.
  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    const Index n = signal.cols;
    T* weighted = row_scratch<T>(n);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(signal, targets, r, result)) continue;
      const T all = total(signal, r);
      for (Index i = 0; i < n; ++i) weighted[i] = std::sqrt(signal(r, i) / all) * noise(r, i);
      const T mean = static_cast<T>(sum(span_of<T>(weighted, n))) / all;
      for (Index i = 0; i < n; ++i) result(r, i) = scale * (weighted[i] / signal(r, i) - mean);
    }
  }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const override {
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(signal, targets, r, seed)) continue;
      const T all = total(signal, r);
      for (Index i = 0; i < signal.cols; ++i) seed(r, i) = (1 / signal(r, i) - 1 / all) / all;
    }
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const override {
    const Index n = signal.cols;
    require_same(name(), "weight columns", w.cols, n);
    T* squares = row_scratch<T>(n);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(signal, targets, r, seed)) continue;
      const T all = total(signal, r);
      for (Index i = 0; i < w.rows; ++i) {
        const T mean = static_cast<T>(sum(span_of(w.row(i), n))) / all;
        for (Index x = 0; x < n; ++x) {
          const T score = w(i, x) / signal(r, x) - mean;
          squares[x] = signal(r, x) / all * (score * score);
        }
        seed(r, i) = static_cast<T>(sum(span_of<T>(squares, n)));
      }
    }
  }

 private:
  Symbol target_of(Matrix<const T> signal, const Targets<T>& targets, Index row) const {
    return target_symbol(name(), signal, targets, row);
  }
  /// Returns whether the row has no target; if so, sets its result to zero.
  bool left_out(Matrix<const T> signal, const Targets<T>& targets, Index row, Matrix<T> result) const {
    if (target_of(signal, targets, row) != kNoSymbol) return false;
    set_row(result.row(row), result.cols, T{0});
    return true;
  }
  static T total(Matrix<const T> signal, Index row) {
    return static_cast<T>(sum(span_of(signal.row(row), signal.cols)));
  }
  static T row_nats(T o, T all) {
    T both[2] = {all, o};
    vector_log(both, both, 2);
    return both[0] - both[1];
  }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> normalized_loss() {
  return std::make_unique<NormalizedLoss<T>>();
}

template std::unique_ptr<Loss<float>> normalized_loss<float>();
template std::unique_ptr<Loss<double>> normalized_loss<double>();

LossEntry normalized_entry() {
  return {.name = "normalised",
          .help = "symbols: p(x) = o_x / sum_y o_y, for positive signals",
          .of_symbols = true,
          .make_float = normalized_loss<float>,
          .make_double = normalized_loss<double>};
}

}  // namespace unfold
