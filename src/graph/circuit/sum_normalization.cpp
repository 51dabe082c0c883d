/// Normalization by the sum, of cell_maps.h. With S = sum of x and y = x / S:
///   dx_j = (dy_j - sum_i y_i dy_i) / S;   squared: sum_i ((1[i = j] - y_i) / S)^2 dy_i.

#include "graph/circuit/cell_maps.h"
#include "graph/circuit/known_operator.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

class Share final : public OperatorOf<Share>, public ExportableOperator, public RecordedOperator {
 public:
  explicit Share(Index n) : n_(n) {
    if (n < 1) throw UsageError("normalization by the sum needs at least one component");
  }

  std::string_view name() const override { return "share"; }
  Kind known_kind() const override { return Kind::share; }
  OperatorRecord record() const override { return {"share", {{"size", one(n_)}}}; }
  Index inputs() const override { return n_; }
  Index outputs() const override { return n_; }
  ParameterShape parameter_shape(Index) const override { return {0, n_}; }
  double operations() const override { return 2.0 * static_cast<double>(n_); }
  bool has_squared() const override { return true; }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for (Index r = 0; r < in.x.rows; ++r) {
      const T inverse = 1 / total(in.x.row(r));
      for (Index i = 0; i < n_; ++i) y(r, i) += in.x(r, i) * inverse;
    }
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool squared) const {
    for (Index r = 0; r < in.x.rows; ++r) {
      const T inverse = 1 / total(in.x.row(r));
      T along = 0;
      for (Index i = 0; i < n_; ++i) {
        const T y = in.x(r, i) * inverse;
        along += squared ? y * y * dy(r, i) : y * dy(r, i);
      }
      for (Index i = 0; i < n_; ++i) {
        const T y = in.x(r, i) * inverse;
        const T d = squared ? inverse * inverse * ((1 - 2 * y) * dy(r, i) + along) : inverse * (dy(r, i) - along);
        dx(r, i) = sets ? d : dx(r, i) + d;
      }
    }
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, Range, bool) const {}

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T>, Matrix<const T> dx, Matrix<T> dy) const {
    if (dx.data == nullptr) return;
    for (Index r = 0; r < in.x.rows; ++r) {
      const T inverse = 1 / total(in.x.row(r)), moved = total(dx.row(r));
      for (Index i = 0; i < n_; ++i) dy(r, i) += inverse * (dx(r, i) - in.x(r, i) * inverse * moved);
    }
  }

 private:
  template <class T>
  T total(const T* x) const {
    return static_cast<T>(sum(std::span<const T>(x, at(n_))));
  }

  Index n_;
};

}  // namespace

std::shared_ptr<const Operator> shares(Index n) { return std::make_shared<Share>(n); }

}  // namespace unfold
