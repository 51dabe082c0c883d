#include "graph/paths/row_sums.h"

#include <algorithm>

#include "unfold/numerics/product.h"

namespace unfold {
namespace {

class RowSums final : public OperatorOf<RowSums> {
 public:
  RowSums(Index rows, Index outputs) : rows_(rows), n_(outputs) {}

  std::string_view name() const override { return "sum of rows"; }
  Index inputs() const override { return 1; }
  Index outputs() const override { return n_; }
  ParameterShape parameter_shape(Index) const override { return {rows_, n_}; }
  Index scratch() const override { return n_; }
  double operations() const override { return static_cast<double>(n_); }
  bool gradient_by_columns() const override { return true; }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    add_products(in.x, sums(in, in.w), y);
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    const T* sum = sums(in, in.w);
    for (Index r = 0; r < dy.rows; ++r) {
      T total = sets ? T{0} : dx(r, 0);
      for (Index j = 0; j < n_; ++j) total += sum[j] * dy(r, j);
      dx(r, 0) = total;
    }
  }

  /// Every row of W has the same gradient.
  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns, bool) const {
    T* sum = in.scratch;
    for (Index j = columns.begin; j < columns.end; ++j) {
      sum[j] = 0;
      for (Index r = dy.rows; r-- > 0;) sum[j] += in.x(r, 0) * dy(r, j);
    }
    for (Index i = 0; i < rows_; ++i)
      for (Index j = columns.begin; j < columns.end; ++j) g(i, j) += sum[j];
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    if (dx.data != nullptr) add_products(dx, sums(in, in.w), dy);
    add_products(in.x, sums(in, dw), dy);
  }

 private:
  template <class T>
  const T* sums(const OperatorRows<T>& in, Matrix<const T> w) const {
    accumulate_columns<T>(w, in.scratch, {0, n_}, Start::zero);
    return in.scratch;
  }
  template <class T>
  void add_products(Matrix<const T> x, const T* sum, Matrix<T> y) const {
    for (Index r = 0; r < y.rows; ++r)
      for (Index j = 0; j < n_; ++j) y(r, j) += x(r, 0) * sum[j];
  }

  Index rows_, n_;
};

}  // namespace

std::shared_ptr<const Operator> row_sums(Index rows, Index outputs) { return std::make_shared<RowSums>(rows, outputs); }

}  // namespace unfold
