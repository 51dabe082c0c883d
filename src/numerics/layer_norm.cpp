// Performance bound: the bandwidth of the second-level cache, which holds the rows of a step; sums in double take twice
// as many instructions as the other operations. All passes over a row run while it is in the first-level cache, so
// shared intermediate results are stored there instead of in registers.

#include "numerics/layer_norm.h"

#include <cmath>

#include "unfold/numerics/vector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/layer_norm.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/fma-inl.h"
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_NORMALIZE_ONCE
#define UNFOLD_NUMERICS_NORMALIZE_ONCE
namespace unfold {

template <class T>
struct NormalizeOperations {
  T (*normalize)(const T* x, Index n, T* z);
  void (*add)(Matrix<const T> x, const T* gain, Matrix<T> y, T* z);
  void (*adjoint)(Matrix<const T> x, const T* gain, Matrix<const T> dy, Matrix<T> dx, bool sets, T* scratch);
  void (*add_gradient)(Matrix<const T> x, Matrix<const T> dy, T* dg, T* z);
  void (*take_out)(const T* z, Index n, T* e);
};

inline constexpr double kLeastVariance = 1e-5;

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Tag for vectors of T with as many lanes as D has doubles.
template <class T, class D>
using Beside = hn::Rebind<T, D>;

template <class D>
HWY_INLINE hn::Vec<D> as_doubles(D, hn::Vec<Beside<double, D>> v) {
  return v;
}

template <class D>
HWY_INLINE hn::Vec<D> as_doubles(D d, hn::Vec<Beside<float, D>> v) {
  return hn::PromoteTo(d, v);
}

/// Returns the sum in lanes, chunk by chunk as in vector.h, of body.value(d, i, place), which has type T. The body may
/// also store the value.
template <class T, class Body>
struct NormalizeSumOf {
  const Body& body;
  Index begin;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, V sum, Index i) const {
    return body.add(d, sum, body.value(Beside<T, D>(), begin + i, Whole{}));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add_end(D d, V sum, Index i, size_t count) const {
    const Beside<T, D> t;
    // Lanes beyond the end add nothing.
    return body.add(d, sum, hn::IfThenElseZero(hn::FirstN(t, count), body.value(t, begin + i, First{count})));
  }
};

template <class T, class Body>
HWY_INLINE double sum_of(Index n, const Body& body) {
  double total = 0;
  for (Index i = 0; i < n; i += kSumChunk)
    total += sum_in_lanes<double>(n - i < kSumChunk ? n - i : kSumChunk, NormalizeSumOf<T, Body>{body, i});
  return total;
}

template <class T>
struct NormalizeSum {
  const T* x;
  template <class D, class Place>
  HWY_INLINE hn::Vec<D> value(D d, Index i, Place place) const {
    return place.load(d, x + i);
  }
  template <class D, class V, class U>
  HWY_INLINE V add(D d, V sum, U value) const {
    return hn::Add(sum, as_doubles(d, value));
  }
};

/// Stores d = x - mean and sums its squares.
template <class T>
struct CenteredSquares {
  const T* x;
  T mean;
  T* to;
  template <class D, class Place>
  HWY_INLINE hn::Vec<D> value(D d, Index i, Place place) const {
    const auto centered = hn::Sub(place.load(d, x + i), hn::Set(d, mean));
    place.store(centered, d, to + i);
    return centered;
  }
  template <class D, class V, class U>
  HWY_INLINE V add(D d, V sum, U value) const {
    const auto wide = as_doubles(d, value);
    return Fma(d, wide, wide, sum);
  }
};

/// Stores e = g dy and sums it.
template <class T>
struct WeighedSum {
  const T *gain, *dy;
  T* to;
  template <class D, class Place>
  HWY_INLINE hn::Vec<D> value(D d, Index i, Place place) const {
    const auto product = hn::Mul(place.load(d, gain + i), place.load(d, dy + i));
    place.store(product, d, to + i);
    return product;
  }
  template <class D, class V, class U>
  HWY_INLINE V add(D d, V sum, U value) const {
    return hn::Add(sum, as_doubles(d, value));
  }
};

template <class T>
struct NormalizeBody {
  T factor;
  T* x;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Mul(place.load(d, x + i), hn::Set(d, factor)), d, x + i);
  }
};

/// y += g (s d)
template <class T>
struct AddNormalizedBody {
  const T *d_row, *gain;
  T s;
  T* y;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto z = hn::Mul(place.load(d, d_row + i), hn::Set(d, s));
    place.store(hn::Add(place.load(d, y + i), hn::Mul(place.load(d, gain + i), z)), d, y + i);
  }
};

/// e - mean(e) - z mean(e z)
template <class T>
struct WithoutMoments {
  const T *z, *e;
  T mean, along;
  template <class D, class Place>
  HWY_INLINE hn::Vec<D> value(D d, Index i, Place place) const {
    const auto centered = hn::Sub(place.load(d, e + i), hn::Set(d, mean));
    return hn::Sub(centered, hn::Mul(place.load(d, z + i), hn::Set(d, along)));
  }
};

template <class T>
struct StoreWithoutMoments {
  WithoutMoments<T> of;
  T* to;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(of.value(d, i, place), d, to + i);
  }
};

template <class T, bool kSets>
struct NormalizeAdjointBody {
  WithoutMoments<T> of;
  T s;
  T* dx;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    auto change = hn::Mul(hn::Set(d, s), of.value(d, i, place));
    if constexpr (!kSets) change = hn::Add(place.load(d, dx + i), change);
    place.store(change, d, dx + i);
  }
};

/// Stores x - mean in `d_row`; returns s.
template <class T>
HWY_INLINE T center(const T* x, Index n, T* d_row) {
  const T share = 1 / static_cast<T>(n), mean = static_cast<T>(sum_of<T>(n, NormalizeSum<T>{x})) * share;
  const T variance = static_cast<T>(sum_of<T>(n, CenteredSquares<T>{x, mean, d_row})) * share;
  return 1 / std::sqrt(variance + static_cast<T>(kLeastVariance));
}

template <class T>
T normalize_row(const T* x, Index n, T* z) {
  const T s = center(x, n, z);
  for_each_vector<T>(n, NormalizeBody<T>{s, z});
  return s;
}

template <class T>
HWY_INLINE double dot_of(const T* x, const T* y, Index n) {
  double total = 0;
  for (Index i = 0; i < n; i += kSumChunk)
    total += sum_in_lanes<double>(n - i < kSumChunk ? n - i : kSumChunk, DotBody<T>{x + i, y + i});
  return total;
}

/// `sum` is the sum of e, which the caller has already computed.
template <class T>
HWY_INLINE WithoutMoments<T> without_moments(const T* z, const T* e, Index n, double sum) {
  const T share = 1 / static_cast<T>(n);
  return {z, e, static_cast<T>(sum) * share, static_cast<T>(dot_of(e, z, n)) * share};
}

template <class T>
void take_out(const T* z, Index n, T* e) {
  for_each_vector<T>(n, StoreWithoutMoments<T>{without_moments(z, e, n, sum_of<T>(n, NormalizeSum<T>{e})), e});
}

template <class T>
void add_normalized_rows(Matrix<const T> x, const T* gain, Matrix<T> y, T* z) {
  for (Index r = 0; r < x.rows; ++r) {
    const T s = center(x.row(r), x.cols, z);
    for_each_vector<T>(x.cols, AddNormalizedBody<T>{z, gain, s, y.row(r)});
  }
}

template <class T>
void adjoint_rows(Matrix<const T> x, const T* gain, Matrix<const T> dy, Matrix<T> dx, bool sets, T* scratch) {
  T *z = scratch, *e = scratch + x.cols;
  for (Index r = 0; r < x.rows; ++r) {
    const T s = normalize_row(x.row(r), x.cols, z);
    const double sum = sum_of<T>(x.cols, WeighedSum<T>{gain, dy.row(r), e});
    const WithoutMoments<T> change = without_moments(z, e, x.cols, sum);
    if (sets)
      for_each_vector<T>(x.cols, NormalizeAdjointBody<T, true>{change, s, dx.row(r)});
    else
      for_each_vector<T>(x.cols, NormalizeAdjointBody<T, false>{change, s, dx.row(r)});
  }
}

template <class T>
void add_gradient_rows(Matrix<const T> x, Matrix<const T> dy, T* dg, T* z) {
  for (Index r = x.rows; r-- > 0;) {
    const T s = center(x.row(r), x.cols, z);
    // The product of z and dy is bit-identical in either order.
    for_each_vector<T>(x.cols, AddNormalizedBody<T>{z, dy.row(r), s, dg});
  }
}

template <class T>
constexpr NormalizeOperations<T> kNormalizeOperations = {normalize_row<T>, add_normalized_rows<T>, adjoint_rows<T>,
                                                         add_gradient_rows<T>, take_out<T>};
UNFOLD_TARGET_TABLE(NormalizeOperations, kNormalizeOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(NormalizeOperations, operations);

}  // namespace

template <class T>
T normalize(const T* x, Index n, T* z) {
  return operations<T>().normalize(x, n, z);
}

template <class T>
void add_normalized(Matrix<const T> x, const T* gain, Matrix<T> y, T* z) {
  operations<T>().add(x, gain, y, z);
}

template <class T>
void normalized_adjoint(Matrix<const T> x, const T* gain, Matrix<const T> dy, Matrix<T> dx, bool sets, T* scratch) {
  operations<T>().adjoint(x, gain, dy, dx, sets, scratch);
}

template <class T>
void add_normalized_gradient(Matrix<const T> x, Matrix<const T> dy, T* dg, T* z) {
  operations<T>().add_gradient(x, dy, dg, z);
}

template <class T>
void project_out_moments(const T* z, Index n, T* e) {
  operations<T>().take_out(z, n, e);
}

#define UNFOLD_INSTANTIATE(T)                                                                        \
  template T normalize(const T*, Index, T*);                                                         \
  template void add_normalized(Matrix<const T>, const T*, Matrix<T>, T*);                            \
  template void normalized_adjoint(Matrix<const T>, const T*, Matrix<const T>, Matrix<T>, bool, T*); \
  template void add_normalized_gradient(Matrix<const T>, Matrix<const T>, T*, T*);                   \
  template void project_out_moments(const T*, Index, T*);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif  // HWY_ONCE
