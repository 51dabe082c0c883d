#include "graph/circuit/quadratic.h"

#include <algorithm>
#include <string>

#include "graph/circuit/known_operator.h"
#include "unfold/base/error.h"
#include "unfold/numerics/product.h"

namespace unfold {
namespace {

constexpr Index kMostInputs = 1024;

class QuadraticForm final : public OperatorOf<QuadraticForm>, public RecordedOperator {
 public:
  QuadraticForm(Index inputs, Index outputs, double scale) : inputs_(inputs), outputs_(outputs), scale_(scale) {}

  std::string_view name() const override { return "quadratic form"; }
  Index inputs() const override { return inputs_; }
  Index outputs() const override { return outputs_; }
  OperatorRecord record() const override {
    return {"quadratic-form", {{"inputs", one(inputs_)}, {"outputs", one(outputs_)}, {"scale", {scale_}}}};
  }
  bool vanishes() const override { return true; }
  ParameterShape parameter_shape(Index) const override { return {pairs(), outputs_}; }
  Index scratch() const override { return (pairs() + outputs_) * kRows + pairs() * outputs_; }
  double operations() const override { return 2 * static_cast<double>(pairs()) * static_cast<double>(outputs_ + 1); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for (Index from = 0; from < y.rows; from += kRows) {
      const Range rows{from, std::min(from + kRows, y.rows)};
      const auto products = [&](Index i, Index j, Index r) { return in.x(r, i) * in.x(r, j); };
      add_product<T>(by_pairs(in, rows, products), in.w, y, rows);
    }
  }

  /// With D = dy V', dx_i += scale (sum over j of D_ij x_j + sum over j of D_ji x_j): the diagonal occurs twice.
  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    const Index count = pairs();
    const Matrix<T> w{in.scratch + kRows * count, outputs_, count, count};
    for (Index p = 0; p < count; ++p)
      for (Index k = 0; k < outputs_; ++k) w(k, p) = in.w(p, k);
    const Matrix<T> d{w.data + outputs_ * count, outputs_, kRows, kRows}, sums{in.scratch, kRows, count, count};
    for (Index from = 0; from < dy.rows; from += kRows) {
      const Index rows = std::min(kRows, dy.rows - from);
      for (Index k = 0; k < outputs_; ++k)
        for (Index r = 0; r < rows; ++r) d(k, r) = dy(from + r, k);
      accumulate_outer<T>({d.data, outputs_, rows, kRows}, Matrix<const T>(w), sums.rows_from(0, rows), {0, rows},
                          Start::zero);
      for (Index r = 0; r < rows; ++r)
        spread(sums.row(r), in.x.row(from + r), dx.row(from + r), sets, static_cast<T>(scale_));
    }
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    const Index count = pairs();
    for (Index end = dy.rows; end > 0; end -= std::min(kRows, end)) {
      const Index begin = std::max<Index>(0, end - kRows);
      const Matrix<T> products{in.scratch, end - begin, count, count};
      for (Index r = begin; r < end; ++r) {
        T* to = products.row(r - begin);
        for (Index i = 0; i < inputs_; ++i)
          for (Index j = i; j < inputs_; ++j) *to++ = static_cast<T>(scale_) * in.x(r, i) * in.x(r, j);
      }
      const Matrix<const T> rows{dy.row(begin), end - begin, dy.cols, dy.stride};
      accumulate_outer<T>(Matrix<const T>(products), rows, g, {0, count}, Start::accumulate);
    }
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    for (Index from = 0; from < dy.rows; from += kRows) {
      const Range rows{from, std::min(from + kRows, dy.rows)};
      const auto products = [&](Index i, Index j, Index r) { return in.x(r, i) * in.x(r, j); };
      add_product<T>(by_pairs(in, rows, products), dw, dy, rows);
      if (dx.data == nullptr) continue;
      const auto moved = [&](Index i, Index j, Index r) { return dx(r, i) * in.x(r, j) + in.x(r, i) * dx(r, j); };
      add_product<T>(by_pairs(in, rows, moved), in.w, dy, rows);
    }
  }

 private:
  static constexpr Index kRows = 16;

  Index pairs() const { return inputs_ * (inputs_ + 1) / 2; }

  /// Tabulates of(i, j, row) for all pairs (i, j) and rows: a matrix [pairs x rows].
  template <class T, class Of>
  Matrix<const T> by_pairs(const OperatorRows<T>& in, Range rows, Of&& of) const {
    T* to = in.scratch;
    for (Index i = 0; i < inputs_; ++i)
      for (Index j = i; j < inputs_; ++j, to += kRows)
        for (Index r = rows.begin; r < rows.end; ++r) to[r - rows.begin] = static_cast<T>(scale_) * of(i, j, r);
    return {in.scratch, pairs(), rows.size(), kRows};
  }

  template <class T>
  static void add_product(Matrix<const T> pairs, Matrix<const T> w, Matrix<T> y, Range rows) {
    accumulate_outer<T>(pairs, w, {y.row(rows.begin), rows.size(), y.cols, y.stride}, {0, rows.size()},
                        Start::accumulate);
  }

  template <class T>
  void spread(const T* d, const T* x, T* dx, bool sets, T scale) const {
    if (sets) std::fill_n(dx, inputs_, T{0});
    for (Index i = 0; i < inputs_; ++i) {
      T sum = 0;
      for (Index j = i; j < inputs_; ++j) sum += d[j - i] * x[j];
      dx[i] += scale * sum;
      for (Index j = i; j < inputs_; ++j) dx[j] += scale * (d[j - i] * x[i]);
      d += inputs_ - i;
    }
  }

  Index inputs_, outputs_;
  double scale_;
};

}  // namespace

std::shared_ptr<const Operator> quadratic_form(Index inputs, Index outputs, double scale) {
  if (inputs < 1 || outputs < 1 || inputs > kMostInputs)
    throw UsageError("a quadratic form of " + std::to_string(inputs) + " components for " + std::to_string(outputs) +
                     " outputs; it must have at least 1 of each, and at most " + std::to_string(kMostInputs) +
                     " components");
  return std::make_shared<const QuadraticForm>(inputs, outputs, scale);
}

}  // namespace unfold
