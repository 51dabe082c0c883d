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

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    add_normalized(in.x, in.w.row(0), y, in.scratch);
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    normalized_adjoint(in.x, in.w.row(0), dy, dx, sets, in.scratch);
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    add_normalized_gradient(in.x, dy, g.row(0), in.scratch);
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
  Index n_;
};

}  // namespace

std::shared_ptr<const VectorMap> layer_norm(Index n) { return std::make_shared<LayerNorm>(n); }

}  // namespace unfold
