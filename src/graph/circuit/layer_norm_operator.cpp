/// Layer normalization of cell_maps.h; for the equations, see numerics/layer_norm.h.

#include "graph/circuit/cell_maps.h"
#include "graph/circuit/known_operator.h"
#include "numerics/layer_norm.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

class LayerNorm final : public OperatorOf<LayerNorm, VectorMap>, public ExportableOperator, public RecordedOperator {
 public:
  explicit LayerNorm(Index n) : n_(n) {
    if (n < 1) throw UsageError("layer normalization needs at least one component");
  }

  std::string_view name() const override { return "layer normalization"; }
  Kind known_kind() const override { return Kind::layer_norm; }
  OperatorRecord record() const override { return {"layer-norm", {{"size", one(n_)}}}; }
  Index size() const override { return n_; }
  Index parameter_rows() const override { return 1; }
  Index parameter_cols() const override { return n_; }
  Index scratch() const override { return 2 * n_; }
  double operations() const override { return 8.0 * static_cast<double>(n_); }
  /// The entries of the Jacobian are explicit, and each gain changes one component.
  bool has_squared() const override { return true; }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    add_normalized(in.x, in.w.row(0), y, in.scratch);
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool squared) const {
    if (squared) return transposed_squares(in, dy, dx, sets);
    normalized_adjoint(in.x, in.w.row(0), dy, dx, sets, in.scratch);
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool squared) const {
    if (!squared) return add_normalized_gradient(in.x, dy, g.row(0), in.scratch);
    for (Index r = in.x.rows; r-- > 0;) {
      normalize(in.x.row(r), n_, in.scratch);
      for (Index i = 0; i < n_; ++i) g(0, i) += dy(r, i) * (in.scratch[i] * in.scratch[i]);
    }
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    T *z = in.scratch, *e = in.scratch + n_;
    for (Index r = 0; r < in.x.rows; ++r) {
      const T inverse = normalize(in.x.row(r), n_, z);
      for (Index i = 0; i < n_; ++i) dy(r, i) += dw(0, i) * z[i];
      if (dx.data == nullptr) continue;
      for (Index i = 0; i < n_; ++i) e[i] = dx(r, i);
      project_out_moments(z, n_, e);
      for (Index i = 0; i < n_; ++i) dy(r, i) += in.w(0, i) * (inverse * e[i]);
    }
  }

 private:
  /// J_ij = g_i / d (1[i = j] - (1 + z_i z_j) / n) for the deviation d, so that with q_i = g_i^2 dy_i
  ///   sum over i of J_ij^2 dy_i = (q_j (1 - 2 (1 + z_j^2) / n) + sum over i of q_i (1 + z_i z_j)^2 / n^2) / d^2.
  template <class T>
  void transposed_squares(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets) const {
    T* z = in.scratch;
    const auto n = static_cast<double>(n_);
    for (Index r = 0; r < in.x.rows; ++r) {
      const auto inverse = static_cast<double>(normalize(in.x.row(r), n_, z));
      double sum = 0, first = 0, second = 0;  // sums of q, q z and q z^2
      const auto weight = [&](Index i) { return static_cast<double>(in.w(0, i) * in.w(0, i) * dy(r, i)); };
      for (Index i = 0; i < n_; ++i) {
        const double q = weight(i), zi = static_cast<double>(z[i]);
        sum += q, first += q * zi, second += q * zi * zi;
      }
      for (Index j = 0; j < n_; ++j) {
        const double zj = static_cast<double>(z[j]);
        const double all = (sum + 2 * zj * first + zj * zj * second) / (n * n);
        const T square = static_cast<T>(inverse * inverse * (weight(j) * (1 - 2 * (1 + zj * zj) / n) + all));
        dx(r, j) = sets ? square : dx(r, j) + square;
      }
    }
  }

  Index n_;
};

}  // namespace

std::shared_ptr<const VectorMap> layer_norm(Index n) { return std::make_shared<LayerNorm>(n); }

}  // namespace unfold
