#include "loss/density/order_agnostic.h"

#include <cmath>
#include <memory>

#include "numerics/functions.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class T>
class OrderlessLoss final : public RowLoss<T>,
                            public RowCurvature<T>,
                            public LossFisher<T>,
                            public MarginalDistributions<T> {
 public:
  std::string_view name() const override { return "deep-nade"; }
  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    require_targets(signal, targets);
    for (Index r = 0; r < signal.rows; ++r)
      nats[r] = is_predicted(targets, r) ? row_nats(signal.row(r), targets, r, signal.cols) : T{0};
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    require_targets(signal, targets);
    const Index n = signal.cols;
    for (Index r = 0; r < signal.rows; ++r) {
      nats[r] = 0;
      if (left_out(targets, r, adjoint)) continue;
      const T *x = targets.values.row(r), *w = weights(targets, r, n);
      nats[r] = row_nats(signal.row(r), targets, r, n);
      T* out = adjoint.row(r);
      vector_sigmoid(signal.row(r), out, n);
      for (Index i = 0; i < n; ++i) out[i] = scale * ((w == nullptr ? T{1} : w[i]) * (out[i] - x[i]));
    }
  }

  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, result)) continue;
      const T* h = information(signal, targets, r);
      for (Index i = 0; i < signal.cols; ++i) result(r, i) = scale * (h[i] * tangent(r, i));
    }
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, result)) continue;
      const T* h = information(signal, targets, r);
      for (Index i = 0; i < signal.cols; ++i) result(r, i) = scale * (std::sqrt(h[i]) * noise(r, i));
    }
  }

  VectorShape shape_of(Index signal_size) const override { return VectorShape::alike(signal_size, 1); }
  T nats_of(const T* o, Index, T x) const override { return law_->nats(o, &x, 1, name()); }
  double mean_of(const T* o, Index) const override { return law_->mean(o); }
  std::vector<double> probabilities_of(const T* o, Index) const override { return law_->probabilities(o); }
  T draw(const T* o, Index, Random& random) const override { return law_->sample(o, random); }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const override {
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, seed)) continue;
      const T* h = information(signal, targets, r);
      for (Index i = 0; i < signal.cols; ++i) seed(r, i) = h[i];
    }
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const override {
    require_same(name(), "weight columns", w.cols, signal.cols);
    T* squares = row_scratch<T, 2>(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, seed)) continue;
      const T* h = information(signal, targets, r);
      for (Index j = 0; j < w.rows; ++j) {
        for (Index i = 0; i < w.cols; ++i) squares[i] = w(j, i) * w(j, i);
        seed(r, j) = static_cast<T>(dot(span_of(h, w.cols), span_of<T>(squares, w.cols)));
      }
    }
  }

 private:
  /// Returns the weights that may follow the bits; null if there are none, in which case all weights are 1.
  static const T* weights(const Targets<T>& targets, Index row, Index n) {
    return targets.values.cols == 2 * n ? targets.values.row(row) + n : nullptr;
  }
  void require_targets(Matrix<const T> signal, const Targets<T>& targets) const {
    Targets<T> bits = targets;
    if (bits.values.cols == 2 * signal.cols) bits.values.cols = signal.cols;
    require_values<T>(*this, signal, bits);
  }
  static T row_nats(const T* o, const Targets<T>& targets, Index row, Index n) {
    const T *x = targets.values.row(row), *w = weights(targets, row, n);
    T* z = row_scratch<T>(n);
    for (Index i = 0; i < n; ++i) z[i] = -std::fabs(o[i]);
    vector_softplus(z, z, n);
    for (Index i = 0; i < n; ++i)
      z[i] = (w == nullptr ? T{1} : w[i]) * (z[i] + (o[i] > 0 ? o[i] * (1 - x[i]) : -o[i] * x[i]));
    return static_cast<T>(sum(span_of<T>(z, n)));
  }
  /// w p (1 - p).
  const T* information(Matrix<const T> signal, const Targets<T>& targets, Index row) const {
    const Index n = signal.cols;
    T* h = row_scratch<T, 1>(n);
    const T* w = weights(targets, row, n);
    vector_sigmoid(signal.row(row), h, n);
    for (Index i = 0; i < n; ++i) h[i] = (w == nullptr ? T{1} : w[i]) * (h[i] * (1 - h[i]));
    return h;
  }

  std::unique_ptr<ComponentDistribution<T>> law_ = bit_distribution<T>();
};

template <class T>
std::unique_ptr<Loss<T>> make_orderless(const AnyOptions& any) {
  const std::string& columns = any.as<OrderlessOptions>().columns;
  if (columns.empty()) return std::make_unique<OrderlessLoss<T>>();
  return orderless_numbers<T>("deep-nade", ColumnDistributions<T>(parse_columns(columns), nullptr, "deep-nade"));
}

}  // namespace

LossEntry orderless_entry() {
  return {.name = "deep-nade",
          .help = "bits in any order: layers read the known bits and predict the others",
          .of_symbols = false,
          .make_float = make_orderless<float>,
          .make_double = make_orderless<double>,
          .options = OrderlessOptions(),
          .main_option = "units",
          .size_of_signal =
              [](Index n, const AnyOptions& any) {
                const std::string& columns = any.as<OrderlessOptions>().columns;
                if (columns.empty()) return n;
                return ColumnDistributions<float>(parse_columns(columns), nullptr, "deep-nade").shape(n).all_outputs();
              },
          .density = Density::orderless_bits};
}

}  // namespace unfold
