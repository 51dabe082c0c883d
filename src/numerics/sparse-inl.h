// Internal: one row of a sparse term, forward and transposed, for every target. See targets-inl.h for the order of
// inclusion.

#if defined(UNFOLD_NUMERICS_SPARSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_NUMERICS_SPARSE_INL_H_
#undef UNFOLD_NUMERICS_SPARSE_INL_H_
#else
#define UNFOLD_NUMERICS_SPARSE_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "numerics/functions-inl.h"
#include "numerics/loops-inl.h"
#include "unfold/numerics/sparse.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

template <class D, class V = hn::Vec<D>>
HWY_INLINE V activated(D d, Map map, V v) {
  switch (map) {
    case Map::tanh: return tanh_lanes(d, v);
    case Map::sigmoid: return sigmoid_lanes(d, v);
    case Map::relu: return hn::IfThenZeroElse(hn::Le(v, hn::Zero(d)), v);
    default: return v;
  }
}
template <class T>
struct ActivateBody {
  Map map;
  const T* x;
  T* s;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(activated(d, map, place.load(d, x + i)), d, s + i);
  }
};
template <class T>
HWY_NOINLINE void activate(Map map, const T* x, T* s, Index n) {
  for_each_vector<T>(n, ActivateBody<T>{map, x, s});
}

/// Computes s' from s.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V slope_of(D d, Map map, V s) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  switch (map) {
    case Map::tanh: return NegFma(d, s, s, one);
    case Map::sigmoid: return NegFma(d, s, s, s);
    case Map::relu: return hn::IfThenElseZero(hn::Gt(s, hn::Zero(d)), one);
    default: return one;
  }
}

template <class T>
struct SlopesBody {
  Map map;
  const T* s;
  T* slopes;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(slope_of(d, map, place.load(d, s + i)), d, slopes + i);
  }
};

/// Computes s' of the rows that precede the given ones.
template <class T>
HWY_INLINE void find_slopes(const SparseTerm<T>& term, Matrix<const T> y, Range rows, T* slopes) {
  const Index n = y.cols;
  if (y.stride == n) {
    activate(term.activation, y.row(rows.begin - 1), slopes, rows.size() * n);
  } else {
    for (Index t = rows.begin; t < rows.end; ++t)
      activate(term.activation, y.row(t - 1), slopes + (t - rows.begin) * n, n);
  }
  for_each_vector<T>(rows.size() * n, SlopesBody<T>{term.activation, slopes, slopes});
}

/// dx (=|+=) slope * sum [+ dy]
template <class T>
struct LinearBody {
  Map map;
  bool leaky, sets;
  const T *s, *sums, *dy;
  T* dx;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto slope = slope_of(d, map, place.load(d, s + i)), sum = place.load(d, sums + i);
    auto v = leaky ? Fma(d, slope, sum, place.load(d, dy + i)) : hn::Mul(slope, sum);
    if (!sets) v = hn::Add(place.load(d, dx + i), v);
    place.store(v, d, dx + i);
  }
};
/// dx (=|+=) slope^2 * sum [+ (1 + slope * loop)^2 dy]
template <class T>
struct SquaredBody {
  Map map;
  bool leaky, sets;
  const T *s, *sums, *loops, *dy;
  T* dx;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto slope = slope_of(d, map, place.load(d, s + i)), sum = place.load(d, sums + i);
    auto v = hn::Mul(hn::Mul(slope, slope), sum);
    if (leaky) {
      const auto diagonal = Fma(d, slope, place.load(d, loops + i), hn::Set(d, T{1}));
      v = Fma(d, hn::Mul(diagonal, diagonal), place.load(d, dy + i), v);
    }
    if (!sets) v = hn::Add(place.load(d, dx + i), v);
    place.store(v, d, dx + i);
  }
};
template <class T>
struct AddRowBody {
  const T* x;
  T* y;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Add(place.load(d, y + i), place.load(d, x + i)), d, y + i);
  }
};
template <class T>
HWY_INLINE void add_array(const T* x, T* y, Index n) {
  for_each_vector<T>(n, AddRowBody<T>{x, y});
}

/// Returns the rows of weights that apply to a row of the signal: none, one, or all.
template <class T>
HWY_INLINE Range acting(const SparseTerm<T>& term, Index r) {
  if (term.gates == nullptr) return {0, term.weights.rows};
  const Symbol g = term.gates[r];
  if (g == kNoSymbol) return {0, 0};
  const Index row = term.weights.rows == 1 ? 0 : g;
  return {row, row + 1};
}
template <class T>
HWY_INLINE bool keeps(const SparseTerm<T>& term, Index r) {
  return term.gates != nullptr && term.gates[r] == kNoSymbol;
}

/// y_i = fma(w_e, s_j, y_i) over the edges.
template <class T>
HWY_INLINE void add_edges(const Edges& edges, const T* w, const T* s, T* y) {
  const std::int32_t *entering = edges.entering().data(), *from = edges.from().data();
  const Index n = edges.outputs();
  for (Index i = 0; i < n; ++i) {
    T sum = y[i];
    for (std::int32_t e = entering[i]; e < entering[i + 1]; ++e) sum = std::fma(w[e], s[from[e]], sum);
    y[i] = sum;
  }
}

template <class T>
HWY_INLINE void multiply_row(const SparseTerm<T>& term, Index r, const T* x, T* y, T* s) {
  const Edges& edges = *term.edges;
  if (keeps(term, r)) return add_array(x, y, edges.outputs());
  activate(term.activation, x, s, edges.inputs());
  if (term.leaky) add_array(x, y, edges.outputs());
  const Range rows = acting(term, r);
  for (Index k = rows.begin; k < rows.end; ++k) add_edges(edges, term.weights.row(k), s, y);
}

/// sums_j = sum of w dy_i over the edges that leave j; if `squared`, sum of w^2 dy_i without the self-loops of a leaky
/// term.
template <class T, bool squared>
HWY_INLINE void sum_leaving(const SparseTerm<T>& term, Range rows, const T* dy, T* sums) {
  const Edges& edges = *term.edges;
  const std::int32_t *leaving = edges.leaving().data(), *ids = edges.leaving_edges().data();
  const std::int32_t* to = edges.leaving_to().data();
  const bool skip_loops = squared && term.leaky;
  const Index n = edges.inputs();
  for (Index j = 0; j < n; ++j) {
    T sum = 0;
    for (Index k = rows.begin; k < rows.end; ++k) {
      const T* w = term.weights.row(k);
      for (std::int32_t e = leaving[j]; e < leaving[j + 1]; ++e) {
        if (skip_loops && to[e] == j) continue;
        const T weight = w[ids[e]];
        sum = std::fma(squared ? weight * weight : weight, dy[to[e]], sum);
      }
    }
    sums[j] = sum;
  }
}

template <class T>
HWY_INLINE void transposed_row(const SparseTerm<T>& term, Index r, const T* x, const T* dy, T* dx, bool sets,
                               bool squared, T* scratch) {
  const Edges& edges = *term.edges;
  const Index n = edges.inputs();
  if (keeps(term, r)) {
    if (sets)
      std::copy_n(dy, n, dx);
    else
      add_array(dy, dx, n);
    return;
  }
  T *s = scratch, *sums = scratch + n, *loops = scratch + 2 * n;
  activate(term.activation, x, s, n);
  const Range rows = acting(term, r);
  if (!squared) {
    sum_leaving<T, false>(term, rows, dy, sums);
    for_each_vector<T>(n, LinearBody<T>{term.activation, term.leaky, sets, s, sums, dy, dx});
    return;
  }
  sum_leaving<T, true>(term, rows, dy, sums);
  if (term.leaky)
    for (Index i = 0; i < n; ++i) {
      const std::int32_t e = edges.loops()[static_cast<std::size_t>(i)];
      loops[i] = 0;
      for (Index k = rows.begin; k < rows.end && e >= 0; ++k) loops[i] += term.weights(k, e);
    }
  for_each_vector<T>(n, SquaredBody<T>{term.activation, term.leaky, sets, s, sums, loops, dy, dx});
}

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#endif  // include guard
