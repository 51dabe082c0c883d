/// modReLU of vector_map.h. With m = sqrt(a^2 + b^2 + 1e-5) and threshold t, where m + t > 0:
///   y = s z,  s = 1 + t / m;   dy = s dz + k (a da + b db) z,  k = -t / m^3;   dy/dt = z / m.

#include <cmath>

#include "graph/circuit/known_operator.h"
#include "unfold/base/error.h"
#include "unfold/graph/circuit/vector_map.h"

namespace unfold {
namespace {

template <class T>
struct Local {
  T s = 0, k = 0, inverse = 0;  // all 0 if the unit is inactive

  Local(T a, T b, T threshold) {
    const T m = std::sqrt(a * a + b * b + static_cast<T>(1e-5));
    if (!(m + threshold > 0) && !std::isnan(m)) return;
    inverse = 1 / m;
    s = 1 + threshold * inverse;
    k = -threshold * inverse * inverse * inverse;
  }
};

class ModulusRelu final : public OperatorOf<ModulusRelu, VectorMap>,
                          public ExportableOperator,
                          public RecordedOperator {
 public:
  explicit ModulusRelu(Index n) : n_(n) {
    if (n < 1) throw UsageError("modReLU needs at least one component");
  }

  std::string_view name() const override { return "modReLU"; }
  Kind known_kind() const override { return Kind::modulus_relu; }
  OperatorRecord record() const override { return {"modulus-relu", {{"size", one(n_)}}}; }
  Index size() const override { return 2 * n_; }
  Index parameter_rows() const override { return 1; }
  Index parameter_cols() const override { return n_; }
  double operations() const override { return 10.0 * static_cast<double>(n_); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    const Matrix<const T> w = in.w, x = in.x;
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < n_; ++i) {
        const Local<T> local(x(r, i), x(r, n_ + i), w(0, i));
        y(r, i) += local.s * x(r, i);
        y(r, n_ + i) += local.s * x(r, n_ + i);
      }
  }

  /// The Jacobian is symmetric.
  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    const Matrix<const T> w = in.w, x = in.x;
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < n_; ++i) {
        const T a = x(r, i), b = x(r, n_ + i), da = dy(r, i), db = dy(r, n_ + i);
        const Local<T> local(a, b, w(0, i));
        const T along = local.k * (a * da + b * db), re = local.s * da + along * a, im = local.s * db + along * b;
        dx(r, i) = sets ? re : dx(r, i) + re;
        dx(r, n_ + i) = sets ? im : dx(r, n_ + i) + im;
      }
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    const Matrix<const T> w = in.w, x = in.x;
    for (Index r = x.rows; r-- > 0;)
      for (Index i = 0; i < n_; ++i) {
        const T a = x(r, i), b = x(r, n_ + i);
        g(0, i) += Local<T>(a, b, w(0, i)).inverse * (a * dy(r, i) + b * dy(r, n_ + i));
      }
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    const Matrix<const T> w = in.w, x = in.x;
    if (dx.data != nullptr) transposed_rows<T>(in, dx, dy, false, false);
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < n_; ++i) {
        const T a = x(r, i), b = x(r, n_ + i), moved = dw(0, i) * Local<T>(a, b, w(0, i)).inverse;
        dy(r, i) += moved * a;
        dy(r, n_ + i) += moved * b;
      }
  }

 private:
  Index n_;
};

}  // namespace

std::shared_ptr<const VectorMap> modulus_relu(Index n) { return std::make_shared<ModulusRelu>(n); }

}  // namespace unfold
