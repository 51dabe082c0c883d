/// Complex decay and gain of cell_maps.h.

#include <cmath>
#include <vector>

#include "graph/circuit/cell_maps.h"
#include "graph/circuit/known_operator.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

void require_numbers(Index n) {
  if (n < 1) throw UsageError("complex decay needs at least one component");
}

/// With m = exp(nu), l = exp(-m + i phase): dl/dnu = -m l, dl/dphase = i l.
class ComplexDecay final : public OperatorOf<ComplexDecay, VectorMap>,
                           public ExportableOperator,
                           public RecordedOperator {
 public:
  explicit ComplexDecay(Index n) : n_(n) { require_numbers(n); }

  std::string_view name() const override { return "complex decay"; }
  Kind known_kind() const override { return Kind::complex_decay; }
  OperatorRecord record() const override { return {"complex-decay", {{"size", one(n_)}}}; }
  Index size() const override { return 2 * n_; }
  Index parameter_rows() const override { return 1; }
  Index parameter_cols() const override { return 2 * n_; }
  Index scratch() const override { return 3 * n_; }
  double operations() const override { return 8.0 * static_cast<double>(n_); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    const Lambda<T> l(*this, in);
    for (Index r = 0; r < in.x.rows; ++r) turn(l, T{1}, in.x.row(r), false, y.row(r));
  }

  /// The transpose of multiplication by l is multiplication by its conjugate.
  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    const Lambda<T> l(*this, in);
    for (Index r = 0; r < in.x.rows; ++r) turn(l, T{-1}, dy.row(r), sets, dx.row(r));
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    const Lambda<T> l(*this, in);
    for (Index r = in.x.rows; r-- > 0;) {
      const T *a = in.x.row(r), *b = a + n_, *da = dy.row(r), *db = da + n_;
      for (Index k = 0; k < n_; ++k) {
        const T re = l.re[k] * a[k] - l.im[k] * b[k], im = l.re[k] * b[k] + l.im[k] * a[k];
        g(0, k) -= l.rate[k] * (da[k] * re + db[k] * im);
        g(0, n_ + k) += db[k] * re - da[k] * im;
      }
    }
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    const Lambda<T> l(*this, in);
    for (Index r = 0; r < in.x.rows; ++r) {
      if (dx.data != nullptr) turn(l, T{1}, dx.row(r), false, dy.row(r));
      const T *a = in.x.row(r), *b = a + n_;
      for (Index k = 0; k < n_; ++k) {
        const T re = l.re[k] * a[k] - l.im[k] * b[k], im = l.re[k] * b[k] + l.im[k] * a[k];
        const T shrinks = -l.rate[k] * dw(0, k), turns = dw(0, n_ + k);
        dy(r, k) += shrinks * re - turns * im;
        dy(r, n_ + k) += shrinks * im + turns * re;
      }
    }
  }

 private:
  /// Computes the factors l of all units, in scratch memory.
  template <class T>
  struct Lambda {
    const T *re, *im, *rate;
    Lambda(const ComplexDecay& map, const OperatorRows<T>& in) {
      const Index n = map.n_;
      T *a = in.scratch, *b = a + n, *m = b + n;
      vector_exp(in.w.row(0), m, n);
      for (Index k = 0; k < n; ++k) a[k] = -m[k];
      vector_exp(a, a, n);
      for (Index k = 0; k < n; ++k) {
        const CosSin turned = cos_sin(static_cast<double>(in.w(0, n + k)));
        b[k] = a[k] * static_cast<T>(turned.sin);
        a[k] *= static_cast<T>(turned.cos);
      }
      re = a, im = b, rate = m;
    }
  };

  /// to (=|+=) l x; if sign is -1, with the conjugate of l.
  template <class T>
  void turn(const Lambda<T>& l, T sign, const T* x, bool sets, T* to) const {
    for (Index k = 0; k < n_; ++k) {
      const T im = sign * l.im[k];
      const T a = l.re[k] * x[k] - im * x[n_ + k], b = l.re[k] * x[n_ + k] + im * x[k];
      to[k] = sets ? a : to[k] + a;
      to[n_ + k] = sets ? b : to[n_ + k] + b;
    }
  }

  Index n_;
};

class ComplexGain final : public OperatorOf<ComplexGain, VectorMap>,
                          public ExportableOperator,
                          public RecordedOperator {
 public:
  explicit ComplexGain(Index n) : n_(n) { require_numbers(n); }

  std::string_view name() const override { return "complex gain"; }
  Kind known_kind() const override { return Kind::complex_gain; }
  OperatorRecord record() const override { return {"complex-gain", {{"size", one(n_)}}}; }
  Index size() const override { return 2 * n_; }
  Index parameter_rows() const override { return 1; }
  Index parameter_cols() const override { return n_; }
  Index scratch() const override { return n_; }
  double operations() const override { return 4.0 * static_cast<double>(n_); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    multiply_rows(in, in.x, false, y);
  }
  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    multiply_rows(in, dy, sets, dx);
  }
  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    vector_exp(in.w.row(0), in.scratch, n_);
    for (Index r = in.x.rows; r-- > 0;)
      for (Index k = 0; k < n_; ++k)
        g(0, k) += in.scratch[k] * (in.x(r, k) * dy(r, k) + in.x(r, n_ + k) * dy(r, n_ + k));
  }
  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    if (dx.data != nullptr) multiply_rows(in, dx, false, dy);
    vector_exp(in.w.row(0), in.scratch, n_);
    for (Index r = 0; r < in.x.rows; ++r)
      for (Index k = 0; k < n_; ++k) {
        const T gain = in.scratch[k] * dw(0, k);
        dy(r, k) += gain * in.x(r, k);
        dy(r, n_ + k) += gain * in.x(r, n_ + k);
      }
  }

 private:
  template <class T>
  void multiply_rows(const OperatorRows<T>& in, Matrix<const T> x, bool sets, Matrix<T> y) const {
    vector_exp(in.w.row(0), in.scratch, n_);
    for (Index r = 0; r < x.rows; ++r)
      for (Index k = 0; k < n_; ++k) {
        const T a = in.scratch[k] * x(r, k), b = in.scratch[k] * x(r, n_ + k);
        y(r, k) = sets ? a : y(r, k) + a;
        y(r, n_ + k) = sets ? b : y(r, n_ + k) + b;
      }
  }

  Index n_;
};

}  // namespace

std::shared_ptr<const VectorMap> complex_decay(Index n) { return std::make_shared<ComplexDecay>(n); }
std::shared_ptr<const VectorMap> complex_gain(Index n) { return std::make_shared<ComplexGain>(n); }

std::vector<double> initial_decays(Index n, double slowest, double fastest, double turn) {
  std::vector<double> start(at(2 * n));
  for (Index k = 0; k < n; ++k) {
    const double share = (static_cast<double>(k) + 0.5) / static_cast<double>(n);
    // |l|^2 is evenly spaced; exp(nu) = -log |l|.
    double rate = fastest * fastest + share * (slowest * slowest - fastest * fastest);
    vector_log(&rate, &rate, 1);
    rate *= -0.5;
    vector_log(&rate, &start[at(k)], 1);
    constexpr double kGolden = 0.6180339887498949;
    const double around = static_cast<double>(k + 1) * kGolden;
    start[at(n + k)] = turn * (around - std::floor(around));
  }
  return start;
}

std::vector<double> variance_preserving_gains(const std::vector<double>& decays) {
  std::vector<double> gains(decays.size() / 2);
  for (std::size_t k = 0; k < gains.size(); ++k) {
    double square;  // |l|^2
    vector_exp(&decays[k], &square, 1);
    square *= -2;
    vector_exp(&square, &square, 1);
    square = 1 - square;
    vector_log(&square, &gains[k], 1);
    gains[k] *= 0.5;
  }
  return gains;
}

}  // namespace unfold
