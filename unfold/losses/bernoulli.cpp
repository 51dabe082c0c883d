#include <cmath>
#include <memory>

#include "unfold/losses/registry.h"
#include "unfold/losses/rows.h"
#include "unfold/numerics/functions.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class T>
class BernoulliLoss final : public RowLoss<T>, public RowCurvature<T>, public LossFisher<T> {
 public:
  std::string_view name() const override { return "bernoulli"; }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    require_values(name(), signal, targets);
    for (Index r = 0; r < signal.rows; ++r)
      nats[r] = is_predicted(targets, r) ? row_nats(signal.row(r), targets.values.row(r), signal.cols) : T{0};
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    require_values(name(), signal, targets);
    const Index n = signal.cols;
    for (Index r = 0; r < signal.rows; ++r) {
      T* out = adjoint.row(r);
      if (!is_predicted(targets, r)) {
        nats[r] = 0;
        set_row(out, n, T{0});
        continue;
      }
      const T* y = targets.values.row(r);
      nats[r] = row_nats(signal.row(r), y, n);  // before `out`, which may be the signal
      vector_sigmoid(signal.row(r), out, n);
      for (Index i = 0; i < n; ++i) out[i] = scale * (out[i] - y[i]);
    }
  }

  /// H = diag(p (1 - p)).
  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    for (Index r = 0; r < signal.rows; ++r) {
      variances(signal, targets, r, result.row(r));
      for (Index i = 0; i < signal.cols; ++i) result(r, i) = scale * (result(r, i) * tangent(r, i));
    }
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    T* variance = row_scratch<T>(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      variances(signal, targets, r, variance);
      for (Index i = 0; i < signal.cols; ++i) result(r, i) = scale * (std::sqrt(variance[i]) * noise(r, i));
    }
  }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const override {
    for (Index r = 0; r < signal.rows; ++r) variances(signal, targets, r, seed.row(r));
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const override {
    const Index n = signal.cols;
    require_same(name(), "weight columns", w.cols, n);
    T* variance = row_scratch<T>(2 * n);
    T* squares = variance + n;
    for (Index r = 0; r < signal.rows; ++r) {
      variances(signal, targets, r, variance);
      for (Index i = 0; i < w.rows; ++i) {
        for (Index x = 0; x < n; ++x) squares[x] = w(i, x) * w(i, x);
        seed(r, i) = static_cast<T>(dot(span_of<T>(variance, n), span_of<T>(squares, n)));
      }
    }
  }

 private:
  /// sum_i softplus(o_i) - y_i o_i, written so that nothing cancels and y may be anything in [0, 1]:
  /// log(1 + exp(-|o|)) + |o| (o > 0 ? 1 - y : y).
  static T row_nats(const T* o, const T* y, Index n) {
    T* z = row_scratch<T>(n);
    for (Index i = 0; i < n; ++i) z[i] = -std::fabs(o[i]);
    vector_softplus(z, z, n);
    for (Index i = 0; i < n; ++i) z[i] += o[i] > 0 ? o[i] * (1 - y[i]) : -o[i] * y[i];
    return static_cast<T>(sum(span_of<T>(z, n)));
  }

  /// p (1 - p), or zeros for a row that is not predicted.
  static void variances(Matrix<const T> signal, const Targets<T>& targets, Index row, T* out) {
    const Index n = signal.cols;
    if (!is_predicted(targets, row)) return set_row(out, n, T{0});
    vector_sigmoid(signal.row(row), out, n);
    for (Index i = 0; i < n; ++i) out[i] *= 1 - out[i];
  }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> bernoulli_loss() {
  return std::make_unique<BernoulliLoss<T>>();
}
template std::unique_ptr<Loss<float>> bernoulli_loss<float>();
template std::unique_ptr<Loss<double>> bernoulli_loss<double>();

extern const LossEntry kBernoulliLoss;
const LossEntry kBernoulliLoss = {.name = "bernoulli",
                                  .help = "independent bits: p(y_i = 1) = sigmoid(o_i)",
                                  .of_symbols = false,
                                  .make_float = bernoulli_loss<float>,
                                  .make_double = bernoulli_loss<double>};

}  // namespace unfold
