/// Layer normalisation of cell_maps.h. With d = x - mean(x), s = 1 / sqrt(mean(d^2) + 1e-5) and z = s d:
///   y_i = g_i z_i;   dx = s (e - mean(e) - z mean(e z)), e = g dy;   dg_i = sum over rows of z_i dy_i.

#include <cmath>

#include "unfold/base/error.h"
#include "unfold/circuit/cell_maps.h"
#include "unfold/circuit/known_operator.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr double kLeastVariance = 1e-5;

/// z of one row in `z`; returns s.
template <class T>
T normalise(const T* x, Index n, T* z) {
  const T share = 1 / static_cast<T>(n), mean = static_cast<T>(sum(std::span<const T>(x, at(n)))) * share;
  for (Index i = 0; i < n; ++i) z[i] = x[i] - mean;
  const T variance = static_cast<T>(sum_of_squares(std::span<const T>(z, at(n)))) * share;
  const T inverse = 1 / std::sqrt(variance + static_cast<T>(kLeastVariance));
  for (Index i = 0; i < n; ++i) z[i] *= inverse;
  return inverse;
}

/// e becomes e - mean(e) - z mean(e z): what of a change of x is left when mean and deviation are kept.
template <class T>
void take_out_moments(const T* z, Index n, T* e) {
  const T share = 1 / static_cast<T>(n), mean = static_cast<T>(sum(std::span<const T>(e, at(n)))) * share;
  const T along = static_cast<T>(dot(std::span<const T>(e, at(n)), std::span<const T>(z, at(n)))) * share;
  for (Index i = 0; i < n; ++i) e[i] = e[i] - mean - z[i] * along;
}

class LayerNorm final : public OperatorOf<LayerNorm, VectorMap>, public KnownOperator {
 public:
  explicit LayerNorm(Index n) : n_(n) {
    if (n < 1) throw UsageError("layer normalisation of no number");
  }

  std::string_view name() const override { return "layer normalisation"; }
  Kind known_kind() const override { return Kind::layer_norm; }
  Index size() const override { return n_; }
  Index parameter_rows() const override { return 1; }
  Index parameter_cols() const override { return n_; }
  Index scratch() const override { return 2 * n_; }
  double operations() const override { return 8.0 * static_cast<double>(n_); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for (Index r = 0; r < in.x.rows; ++r) {
      normalise(in.x.row(r), n_, in.scratch);
      for (Index i = 0; i < n_; ++i) y(r, i) += in.w(0, i) * in.scratch[i];
    }
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    T *z = in.scratch, *e = in.scratch + n_;
    for (Index r = 0; r < in.x.rows; ++r) {
      const T inverse = normalise(in.x.row(r), n_, z);
      for (Index i = 0; i < n_; ++i) e[i] = in.w(0, i) * dy(r, i);
      take_out_moments(z, n_, e);
      for (Index i = 0; i < n_; ++i) dx(r, i) = sets ? inverse * e[i] : dx(r, i) + inverse * e[i];
    }
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    for (Index r = in.x.rows; r-- > 0;) {
      normalise(in.x.row(r), n_, in.scratch);
      for (Index i = 0; i < n_; ++i) g(0, i) += in.scratch[i] * dy(r, i);
    }
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    T *z = in.scratch, *e = in.scratch + n_;
    for (Index r = 0; r < in.x.rows; ++r) {
      const T inverse = normalise(in.x.row(r), n_, z);
      for (Index i = 0; i < n_; ++i) dy(r, i) += dw(0, i) * z[i];
      if (dx.data == nullptr) continue;
      for (Index i = 0; i < n_; ++i) e[i] = dx(r, i);
      take_out_moments(z, n_, e);
      for (Index i = 0; i < n_; ++i) dy(r, i) += in.w(0, i) * (inverse * e[i]);
    }
  }

 private:
  Index n_;
};

}  // namespace

std::shared_ptr<const VectorMap> layer_norm(Index n) { return std::make_shared<LayerNorm>(n); }

}  // namespace unfold
