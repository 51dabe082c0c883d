/// Unitary map of vector_map.h.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "graph/circuit/known_operator.h"
#include "unfold/base/error.h"
#include "unfold/graph/circuit/vector_map.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Number of rows that are processed together: component k of all of them is contiguous, and every loop runs across
/// them.
constexpr Index kLanes = 16;
constexpr Index kBlocks = 7;  // blocks of kLanes rows in the scratch memory

/// N complex components of kLanes rows.
template <class T>
struct Block {
  T *re, *im;
  T* real(Index k) const { return re + k * kLanes; }
  T* imag(Index k) const { return im + k * kLanes; }
};

template <class Do>
void lanes(Do&& use) {
  for (Index l = 0; l < kLanes; ++l) use(l);
}

std::vector<CosSin> twiddles_of(Index n) {
  std::vector<CosSin> twiddles = {{1, 0}};
  // The angle is halved down to the angle of one step; odd multiples are computed from even multiples by one further
  // rotation.
  CosSin step{};
  for (Index count = 1; count < n / 2; count *= 2) {
    step = count == 1 ? CosSin{0, -1} : CosSin{std::sqrt((1 + step.cos) / 2), -std::sqrt((1 - step.cos) / 2)};
    std::vector<CosSin> finer(at(2 * count));
    for (Index k = 0; k < count; ++k) {
      const CosSin& w = twiddles[at(k)];
      finer[at(2 * k)] = w;
      finer[at(2 * k + 1)] = {w.cos * step.cos - w.sin * step.sin, w.cos * step.sin + w.sin * step.cos};
    }
    twiddles = std::move(finer);
  }
  return twiddles;
}

/// Values derived from the parameters, computed once for many rows.
template <class T>
struct Factors {
  /// Stores cosines and sines in `memory` (6 n elements); keeps a reference to w.
  Factors(Index n, Matrix<const T> w, T* memory) {
    for (Index d = 0; d < 3; ++d) {
      T *c = memory + 2 * d * n, *s = c + n;
      for (Index k = 0; k < n; ++k) {
        const CosSin turned = cos_sin(static_cast<double>(w(d, k)));
        c[k] = static_cast<T>(turned.cos);
        s[k] = static_cast<T>(turned.sin);
      }
      cos[d] = c, sin[d] = s;
    }
    for (Index r = 0; r < 2; ++r) {
      re[r] = w.row(3 + 2 * r), im[r] = w.row(4 + 2 * r);
      double squares = 0;
      for (Index k = 0; k < n; ++k) {
        const auto a = static_cast<double>(re[r][k]), b = static_cast<double>(im[r][k]);
        squares += a * a + b * b;
      }
      twice_inverse[r] = static_cast<T>(2 / squares);
    }
  }

  const T *cos[3], *sin[3];  ///< of D1, D2, D3
  const T *re[2], *im[2];    ///< v of R1 and R2
  T twice_inverse[2];        ///< 2 / |v|^2
};

/// The passes over one block of rows. `sign` of a diagonal or a transform is +1, or -1 for its inverse.
template <class T>
class Rows {
 public:
  Rows(const UnitaryShape& shape, Matrix<const T> w, T* scratch)
      : shape_(shape),
        n_(shape.n),
        f_(n_, w, scratch),
        blocks_(scratch + 6 * n_),
        root_(T{1} / std::sqrt(static_cast<T>(n_))) {}

  Block<T> block(Index i) const {
    T* first = blocks_ + i * 2 * n_ * kLanes;
    return {first, first + n_ * kLanes};
  }

  /// Loads the rows [begin, begin + kLanes) of x, with zeros beyond its end.
  void load(Matrix<const T> x, Index begin, Block<T> to) const {
    for (Index l = 0; l < kLanes; ++l) {
      const T* row = begin + l < x.rows ? x.row(begin + l) : nullptr;
      for (Index k = 0; k < n_; ++k) {
        to.real(k)[l] = row != nullptr ? row[k] : T{0};
        to.imag(k)[l] = row != nullptr ? row[n_ + k] : T{0};
      }
    }
  }
  void store(Block<T> from, Index begin, Matrix<T> y, bool sets) const {
    for (Index l = 0; l < kLanes && begin + l < y.rows; ++l) {
      T* row = y.row(begin + l);
      for (Index k = 0; k < n_; ++k) {
        row[k] = sets ? from.real(k)[l] : row[k] + from.real(k)[l];
        row[n_ + k] = sets ? from.imag(k)[l] : row[n_ + k] + from.imag(k)[l];
      }
    }
  }

  void turn(int d, T sign, Block<T> x) const {
    for (Index k = 0; k < n_; ++k) {
      const T c = f_.cos[d][k], s = sign * f_.sin[d][k];
      T *re = x.real(k), *im = x.imag(k);
      lanes([&](Index l) {
        const T a = re[l], b = im[l];
        re[l] = c * a - s * b;
        im[l] = c * b + s * a;
      });
    }
  }

  /// sum_k conj(v_k) x_k of each row.
  struct Products {
    T re[kLanes] = {}, im[kLanes] = {};
  };
  Products products(const T* vr, const T* vi, Block<T> x) const {
    Products sum;
    for (Index k = 0; k < n_; ++k) {
      const T a = vr[k], b = vi[k];
      const T *re = x.real(k), *im = x.imag(k);
      lanes([&](Index l) {
        sum.re[l] += a * re[l] + b * im[l];
        sum.im[l] += a * im[l] - b * re[l];
      });
    }
    return sum;
  }
  /// x += factor c v, with one number c per row.
  void add(T factor, const Products& c, const T* vr, const T* vi, Block<T> x) const {
    for (Index k = 0; k < n_; ++k) {
      const T a = factor * vr[k], b = factor * vi[k];
      T *re = x.real(k), *im = x.imag(k);
      lanes([&](Index l) {
        re[l] += a * c.re[l] - b * c.im[l];
        im[l] += a * c.im[l] + b * c.re[l];
      });
    }
  }
  void reflect(int r, Block<T> x) const {
    add(-f_.twice_inverse[r], products(f_.re[r], f_.im[r], x), f_.re[r], f_.im[r], x);
  }

  void permute(Block<T>& x, Block<T>& spare) const {
    for (Index k = 0; k < n_; ++k) copy(x, shape_.permutation[at(k)], spare, k);
    std::swap(x, spare);
  }
  void permute_back(Block<T>& x, Block<T>& spare) const {
    for (Index k = 0; k < n_; ++k) copy(x, k, spare, shape_.permutation[at(k)]);
    std::swap(x, spare);
  }

  /// The unitary Fourier transform by the Stockham algorithm, which keeps the components in order.
  void transform(T sign, Block<T>& x, Block<T>& spare) const {
    Index stride = 1;
    for (Index length = n_; length > 1; length /= 2, stride *= 2) {
      const Index half = length / 2;
      for (Index p = 0; p < half; ++p) {
        const CosSin& w = shape_.twiddles[at(p * stride)];
        const T c = static_cast<T>(w.cos), s = sign * static_cast<T>(w.sin);
        for (Index q = 0; q < stride; ++q)
          butterfly(x, q + stride * p, q + stride * (p + half), c, s, spare, q + stride * 2 * p, stride);
      }
      std::swap(x, spare);
    }
    for (Index i = 0; i < n_ * kLanes; ++i) x.re[i] *= root_, x.im[i] *= root_;
  }

  /// Replaces x by U x. If `steps` is not null, it receives the results of D1, F, D2, F^-1, and U x.
  void forward(Block<T>& x, Block<T>& spare, const Block<T>* steps = nullptr) const {
    const auto note = [&](int i) {
      if (steps != nullptr) copy(x, steps[i]);
    };
    turn(0, 1, x), note(0);
    transform(1, x, spare), note(1);
    reflect(0, x);
    permute(x, spare);
    turn(1, 1, x), note(2);
    transform(-1, x, spare), note(3);
    reflect(1, x);
    turn(2, 1, x), note(4);
  }
  void backward(Block<T>& x, Block<T>& spare) const {
    turn(2, -1, x);
    reflect(1, x);
    transform(1, x, spare);
    turn(1, -1, x);
    permute_back(x, spare);
    reflect(0, x);
    transform(-1, x, spare);
    turn(0, -1, x);
  }

  /// Adds the derivatives with respect to the phases of D to g, given the output y of D and the adjoint of y: sum_rows
  /// im(conj(y) adj).
  void phase_gradient(Block<T> y, Block<T> adjoint, T* g) const {
    for (Index k = 0; k < n_; ++k)
      for (Index l = kLanes; l-- > 0;) g[k] += adjoint.imag(k)[l] * y.real(k)[l] - adjoint.real(k)[l] * y.imag(k)[l];
  }
  /// Adds the derivatives with respect to the vector of a reflection with input x. With c = v*x, d = v*adj and e = 2 /
  /// |v|^2, the derivative of re(adj* (x - e c v)) is -e (conj(d) x + conj(c) adj - e re(c conj(d)) v).
  void reflection_gradient(int r, Block<T> x, Block<T> adjoint, T* g_re, T* g_im) const {
    const Products c = products(f_.re[r], f_.im[r], x), d = products(f_.re[r], f_.im[r], adjoint);
    const T e = f_.twice_inverse[r];
    for (Index k = 0; k < n_; ++k) {
      const T *xr = x.real(k), *xi = x.imag(k), *ar = adjoint.real(k), *ai = adjoint.imag(k);
      const T vr = f_.re[r][k], vi = f_.im[r][k];
      for (Index l = kLanes; l-- > 0;) {
        const T both = e * (c.re[l] * d.re[l] + c.im[l] * d.im[l]);
        g_re[k] -= e * (d.re[l] * xr[l] + d.im[l] * xi[l] + c.re[l] * ar[l] + c.im[l] * ai[l] - both * vr);
        g_im[k] -= e * (d.re[l] * xi[l] - d.im[l] * xr[l] + c.re[l] * ai[l] - c.im[l] * ar[l] - both * vi);
      }
    }
  }

  /// t += i (change of the phases) y, for the output y of D.
  void phase_tangent(const T* change, Block<T> y, Block<T> t) const {
    for (Index k = 0; k < n_; ++k) {
      const T d = change[k];
      lanes([&](Index l) {
        t.real(k)[l] -= d * y.imag(k)[l];
        t.imag(k)[l] += d * y.real(k)[l];
      });
    }
  }
  /// t += (change of R with dv) x = -e ((dv*x) v + (v*x) dv - e re(v*dv) (v*x) v).
  void reflection_tangent(int r, const T* dr, const T* di, Block<T> x, Block<T> t) const {
    const Products c = products(f_.re[r], f_.im[r], x), moved = products(dr, di, x);
    const T e = f_.twice_inverse[r];
    T along = 0;
    for (Index k = 0; k < n_; ++k) along += f_.re[r][k] * dr[k] + f_.im[r][k] * di[k];
    add(-e, moved, f_.re[r], f_.im[r], t);
    add(-e, c, dr, di, t);
    add(e * e * along, c, f_.re[r], f_.im[r], t);
  }

  void copy(Block<T> from, Block<T> to) const {
    std::copy_n(from.re, n_ * kLanes, to.re);
    std::copy_n(from.im, n_ * kLanes, to.im);
  }

 private:
  static void copy(Block<T> from, Index i, Block<T> to, Index j) {
    std::copy_n(from.real(i), kLanes, to.real(j));
    std::copy_n(from.imag(i), kLanes, to.imag(j));
  }
  /// to[j] = a + b, to[j + stride] = (a - b) (c + i s), for a = x[i] and b = x[k].
  static void butterfly(Block<T> x, Index i, Index k, T c, T s, Block<T> to, Index j, Index stride) {
    const T *ar = x.real(i), *ai = x.imag(i), *br = x.real(k), *bi = x.imag(k);
    T *sr = to.real(j), *si = to.imag(j), *dr = to.real(j + stride), *di = to.imag(j + stride);
    lanes([&](Index l) {
      const T re = ar[l] - br[l], im = ai[l] - bi[l];
      sr[l] = ar[l] + br[l];
      si[l] = ai[l] + bi[l];
      dr[l] = c * re - s * im;
      di[l] = c * im + s * re;
    });
  }

  const UnitaryShape& shape_;
  Index n_;
  Factors<T> f_;
  T* blocks_;
  T root_;
};

class Unitary final : public OperatorOf<Unitary, VectorMap>, public ExportableOperator, public RecordedOperator {
 public:
  explicit Unitary(std::vector<Index> permutation)
      : shape_{static_cast<Index>(permutation.size()), std::move(permutation), {}} {
    shape_.twiddles = twiddles_of(shape_.n);
  }

  std::string_view name() const override { return "unitary"; }
  Kind known_kind() const override { return Kind::unitary; }
  OperatorRecord record() const override {
    return {"unitary", {{"permutation", {shape_.permutation.begin(), shape_.permutation.end()}}}};
  }
  Index size() const override { return 2 * shape_.n; }
  Index parameter_rows() const override { return 7; }
  Index parameter_cols() const override { return shape_.n; }
  Index scratch() const override { return (6 + kBlocks * 2 * kLanes) * shape_.n; }
  double operations() const override {
    double halvings = 0;
    for (Index length = shape_.n; length > 1; length /= 2) ++halvings;
    return static_cast<double>(shape_.n) * (2 * (5 * halvings + 2) + 3 * 6 + 2 * 16);
  }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    const Matrix<const T> x = in.x;
    const Rows<T> rows(shape_, in.w, in.scratch);
    for (Index begin = 0; begin < x.rows; begin += kLanes) {
      Block<T> block = rows.block(0), spare = rows.block(1);
      rows.load(x, begin, block);
      rows.forward(block, spare);
      rows.store(block, begin, y, false);
    }
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    const Rows<T> rows(shape_, in.w, in.scratch);
    for (Index begin = 0; begin < dy.rows; begin += kLanes) {
      Block<T> block = rows.block(0), spare = rows.block(1);
      rows.load(dy, begin, block);
      rows.backward(block, spare);
      rows.store(block, begin, dx, sets);
    }
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    const Matrix<const T> x = in.x;
    const Rows<T> rows(shape_, in.w, in.scratch);
    for (Index begin = (x.rows - 1) / kLanes * kLanes; begin >= 0; begin -= kLanes) {
      Block<T> block = rows.block(0), spare = rows.block(1);
      const Block<T> steps[] = {rows.block(2), rows.block(3), rows.block(4), rows.block(5), rows.block(6)};
      rows.load(x, begin, block);
      rows.forward(block, spare, steps);
      rows.load(dy, begin, block);  // rows beyond the end have adjoint 0
      rows.phase_gradient(steps[4], block, g.row(2));
      rows.turn(2, -1, block);
      rows.reflection_gradient(1, steps[3], block, g.row(5), g.row(6));
      rows.reflect(1, block);
      rows.transform(1, block, spare);
      rows.phase_gradient(steps[2], block, g.row(1));
      rows.turn(1, -1, block);
      rows.permute_back(block, spare);
      rows.reflection_gradient(0, steps[1], block, g.row(3), g.row(4));
      rows.reflect(0, block);
      rows.transform(-1, block, spare);
      rows.phase_gradient(steps[0], block, g.row(0));
    }
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    const Matrix<const T> x = in.x;
    const Rows<T> rows(shape_, in.w, in.scratch);
    const Matrix<const T> still{nullptr, 0, x.cols, x.cols};
    for (Index begin = 0; begin < x.rows; begin += kLanes) {
      Block<T> block = rows.block(0), spare = rows.block(1);
      const Block<T> steps[] = {rows.block(2), rows.block(3), rows.block(4), rows.block(5), rows.block(6)};
      rows.load(x, begin, block);
      rows.forward(block, spare, steps);
      rows.load(dx.data != nullptr ? dx : still, begin, block);
      rows.turn(0, 1, block);
      rows.phase_tangent(dw.row(0), steps[0], block);
      rows.transform(1, block, spare);
      rows.reflect(0, block);
      rows.reflection_tangent(0, dw.row(3), dw.row(4), steps[1], block);
      rows.permute(block, spare);
      rows.turn(1, 1, block);
      rows.phase_tangent(dw.row(1), steps[2], block);
      rows.transform(-1, block, spare);
      rows.reflect(1, block);
      rows.reflection_tangent(1, dw.row(5), dw.row(6), steps[3], block);
      rows.turn(2, 1, block);
      rows.phase_tangent(dw.row(2), steps[4], block);
      rows.store(block, begin, dy, false);
    }
  }

  const UnitaryShape& shape() const { return shape_; }

 private:
  UnitaryShape shape_;
};

void require_power_of_two(Index n) {
  if (n < 2 || (n & (n - 1)) != 0)
    throw UsageError("a unitary map of " + std::to_string(n) +
                     " complex numbers is not supported; use a power of two, at least 2");
}

}  // namespace

CosSin cos_sin(double angle) {
  constexpr double kTwoByPi = 0x1.45f306dc9c883p-1, kHalfPi = 0x1.921fb54442d18p0, kRest = 0x1.1a62633145c07p-54;
  const double quarters = std::floor(angle * kTwoByPi + 0.5);
  const double x = std::fma(-quarters, kRest, std::fma(-quarters, kHalfPi, angle)), x2 = x * x;
  double c = 1, s = 1;  // Taylor series: |x| <= pi / 4
  for (int k = 18; k >= 2; k -= 2) {
    c = 1 - c * x2 / static_cast<double>(k * (k - 1));
    s = 1 - s * x2 / static_cast<double>(k * (k + 1));
  }
  s *= x;
  const double turn = quarters - 4 * std::floor(quarters / 4);
  if (turn == 1) return {-s, c};
  if (turn == 2) return {-c, -s};
  if (turn == 3) return {s, -c};
  return {c, s};
}

std::vector<Index> unitary_permutation(Index n, std::uint64_t seed) {
  require_power_of_two(n);
  std::vector<Index> permutation(at(n));
  std::iota(permutation.begin(), permutation.end(), Index{0});
  Random random(seed, "unitary/permutation");
  for (std::size_t i = permutation.size(); i > 1; --i) std::swap(permutation[i - 1], permutation[random.below(i)]);
  return permutation;
}

const UnitaryShape* unitary_shape(const Operator& op) {
  const auto* unitary = dynamic_cast<const Unitary*>(&op);
  return unitary != nullptr ? &unitary->shape() : nullptr;
}

std::shared_ptr<const VectorMap> unitary_map(Index n, std::uint64_t permutation_seed) {
  return std::make_shared<Unitary>(unitary_permutation(n, permutation_seed));
}

std::shared_ptr<const VectorMap> unitary_map_of(std::vector<Index> permutation) {
  const auto n = static_cast<Index>(permutation.size());
  std::vector<char> seen(permutation.size(), 0);
  for (const Index k : permutation)
    if (k < 0 || k >= n || std::exchange(seen[at(k)], 1) != 0)
      throw UsageError("a unitary map needs a permutation of 0 .. n - 1; " + std::to_string(k) +
                       " occurs twice or is out of range");
  require_power_of_two(n);
  return std::make_shared<Unitary>(std::move(permutation));
}

}  // namespace unfold
