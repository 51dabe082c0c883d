#include "unfold/numerics/sparse.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "unfold/numerics/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unfold/numerics/sparse.cpp"
#include "unfold/numerics/targets-inl.h"
// The targets before Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "unfold/numerics/functions-inl.h"
#include "unfold/numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_SPARSE_ONCE
#define UNFOLD_NUMERICS_SPARSE_ONCE
namespace unfold {

/// What a target provides: one row, and whole chains.
template <class T>
struct SparseOperations {
  void (*multiply)(const SparseTerm<T>&, Matrix<const T>, Matrix<T>, T*);
  void (*transposed)(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, bool, bool, T*);
  void (*gradient)(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, Range, bool, T*);
  void (*tangent)(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<T>, T*);
  void (*activations)(const SparseTerm<T>&, Matrix<const T>, Matrix<T>);
  void (*chain_forward)(const SparseTerm<T>&, Matrix<const T>, const Symbol*, const T*, Matrix<T>, T*);
  void (*chain_backward)(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, bool, T*);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

template <class T>
struct ActivateBody {
  Map map;
  const T* x;
  T* s;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto v = place.load(d, x + i);
    switch (map) {
      case Map::tanh: return place.store(tanh_lanes(d, v), d, s + i);
      case Map::sigmoid: return place.store(sigmoid_lanes(d, v), d, s + i);
      case Map::relu: return place.store(hn::IfThenZeroElse(hn::Le(v, hn::Zero(d)), v), d, s + i);
      default: return place.store(v, d, s + i);
    }
  }
};
template <class T>
HWY_NOINLINE void activate(Map map, const T* x, T* s, Index n) {
  for_each_vector<T>(n, ActivateBody<T>{map, x, s});
}

/// s' from s.
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
struct AddBody {
  const T* x;
  T* y;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Add(place.load(d, y + i), place.load(d, x + i)), d, y + i);
  }
};
template <class T>
HWY_INLINE void add_array(const T* x, T* y, Index n) {
  for_each_vector<T>(n, AddBody<T>{x, y});
}

/// The rows of weights that act at a row of the signal: none, one, or all.
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

/// sums_j = sum over leaving edges of w dy_i, or of w^2 dy_i without the loops of a leaky term.
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

template <class T>
void multiply_rows(const SparseTerm<T>& term, Matrix<const T> x, Matrix<T> y, T* scratch) {
  for (Index r = 0; r < y.rows; ++r) multiply_row(term, r, x.row(r), y.row(r), scratch);
}

template <class T>
void transposed_rows(const SparseTerm<T>& term, Matrix<const T> x, Matrix<const T> dy, Matrix<T> dx, bool sets,
                     bool squared, T* scratch) {
  for (Index r = 0; r < dy.rows; ++r) transposed_row(term, r, x.row(r), dy.row(r), dx.row(r), sets, squared, scratch);
}

template <class T>
void gradient_rows(const SparseTerm<T>& term, Matrix<const T> x, Matrix<const T> dy, Matrix<T> g, Range range,
                   bool squared, T* s) {
  const std::int32_t *from = term.edges->from().data(), *to = term.edges->to().data();
  for (Index r = dy.rows; r-- > 0;) {
    const Range rows = acting(term, r);
    if (rows.empty()) continue;
    activate(term.activation, x.row(r), s, term.edges->inputs());
    const T* d = dy.row(r);
    for (Index k = rows.begin; k < rows.end; ++k) {
      T* to_row = g.row(k);
      for (Index e = range.begin; e < range.end; ++e) {
        const T a = s[from[e]];
        to_row[e] = std::fma(squared ? a * a : a, d[to[e]], to_row[e]);
      }
    }
  }
}

template <class T>
struct SlopeBody {
  Map map;
  const T *s, *dx;
  T* out;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Mul(slope_of(d, map, place.load(d, s + i)), place.load(d, dx + i)), d, out + i);
  }
};

template <class T>
void tangent_rows(const SparseTerm<T>& term, Matrix<const T> dw, Matrix<const T> x, Matrix<const T> dx, Matrix<T> dy,
                  T* scratch) {
  const Edges& edges = *term.edges;
  const Index n = edges.inputs();
  T *s = scratch, *moved = scratch + n;
  for (Index r = 0; r < dy.rows; ++r) {
    const Range rows = acting(term, r);
    const bool moves = dx.data != nullptr;
    if (moves && (term.leaky || keeps(term, r))) add_array(dx.row(r), dy.row(r), edges.outputs());
    if (rows.empty()) continue;
    activate(term.activation, x.row(r), s, n);
    if (moves) for_each_vector<T>(n, SlopeBody<T>{term.activation, s, dx.row(r), moved});
    for (Index k = rows.begin; k < rows.end; ++k) {
      add_edges(edges, dw.row(k), s, dy.row(r));
      if (moves) add_edges(edges, term.weights.row(k), moved, dy.row(r));
    }
  }
}

template <class T>
void activation_rows(const SparseTerm<T>& term, Matrix<const T> x, Matrix<T> s) {
  for (Index r = 0; r < s.rows; ++r) {
    if (keeps(term, r))
      std::fill_n(s.row(r), s.cols, T{0});
    else
      activate(term.activation, x.row(r), s.row(r), s.cols);
  }
}

template <class T>
void chain_forward(const SparseTerm<T>& term, Matrix<const T> lookup, const Symbol* symbols, const T* bias, Matrix<T> y,
                   T* scratch) {
  for (Index t = 0; t < y.rows; ++t) {
    T* row = y.row(t);
    if (bias != nullptr)
      std::copy_n(bias, y.cols, row);
    else
      std::fill_n(row, y.cols, T{0});
    if (lookup.data != nullptr && symbols[t] != kNoSymbol) add_array(lookup.row(symbols[t]), row, y.cols);
    multiply_row(term, t, y.row(t - 1), row, scratch);
  }
}

template <class T>
void chain_backward(const SparseTerm<T>& term, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint, bool squared,
                    T* scratch) {
  for (Index t = y.rows; t-- > 0;) {
    if (exit.data != nullptr) add_array(exit.row(t), adjoint.row(t), y.cols);
    transposed_row(term, t, y.row(t - 1), adjoint.row(t), adjoint.row(t - 1), true, squared, scratch);
  }
}

template <class T>
constexpr SparseOperations<T> kSparseOperations = {multiply_rows<T>, transposed_rows<T>, gradient_rows<T>,
                                                   tangent_rows<T>,  activation_rows<T>, chain_forward<T>,
                                                   chain_backward<T>};
const SparseOperations<float>* sparse_operations_float() { return &kSparseOperations<float>; }
const SparseOperations<double>* sparse_operations_double() { return &kSparseOperations<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

HWY_EXPORT(sparse_operations_float);
HWY_EXPORT(sparse_operations_double);

template <class T>
const SparseOperations<T>& operations() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *HWY_DYNAMIC_DISPATCH(sparse_operations_float)();
  } else {
    return *HWY_DYNAMIC_DISPATCH(sparse_operations_double)();
  }
}

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

Edges::Edges(Index inputs, Index outputs, std::vector<std::pair<std::int32_t, std::int32_t>> pairs)
    : inputs_(inputs), outputs_(outputs) {
  std::sort(pairs.begin(), pairs.end(),
            [](auto a, auto b) { return std::pair(a.second, a.first) < std::pair(b.second, b.first); });
  entering_.assign(at(outputs + 1), 0);
  leaving_.assign(at(inputs + 1), 0);
  loops_.assign(at(outputs), -1);
  for (std::size_t e = 0; e < pairs.size(); ++e) {
    const auto [j, i] = pairs[e];
    if (j < 0 || j >= inputs || i < 0 || i >= outputs)
      throw UsageError("edges: " + std::to_string(j) + " -> " + std::to_string(i) + " leaves a graph of " +
                       std::to_string(inputs) + " inputs and " + std::to_string(outputs) + " outputs");
    if (e > 0 && pairs[e] == pairs[e - 1])
      throw UsageError("edges: " + std::to_string(j) + " -> " + std::to_string(i) + " is given twice");
    from_.push_back(j);
    to_.push_back(i);
    ++entering_[at(i + 1)];
    ++leaving_[at(j + 1)];
    if (i == j) loops_[at(i)] = static_cast<std::int32_t>(e);
  }
  std::partial_sum(entering_.begin(), entering_.end(), entering_.begin());
  std::partial_sum(leaving_.begin(), leaving_.end(), leaving_.begin());
  std::vector<std::int32_t> next(leaving_.begin(), leaving_.end() - 1);
  leaving_edges_.resize(pairs.size());
  leaving_to_.resize(pairs.size());
  for (std::size_t e = 0; e < pairs.size(); ++e) {
    const std::int32_t k = next[at(from_[e])]++;
    leaving_edges_[at(k)] = static_cast<std::int32_t>(e);
    leaving_to_[at(k)] = to_[e];
  }
}

bool is_activation(Map map) { return map == Map::copy || map == Map::tanh || map == Map::sigmoid || map == Map::relu; }

template <class T>
void sparse_multiply(const SparseTerm<T>& term, Matrix<const T> x, Matrix<T> y, T* scratch) {
  operations<T>().multiply(term, x, y, scratch);
}
template <class T>
void sparse_transposed(const SparseTerm<T>& term, Matrix<const T> x, Matrix<const T> dy, Matrix<T> dx, bool sets,
                       bool squared, T* scratch) {
  operations<T>().transposed(term, x, dy, dx, sets, squared, scratch);
}
template <class T>
void sparse_gradient(const SparseTerm<T>& term, Matrix<const T> x, Matrix<const T> dy, Matrix<T> g, Range edges,
                     bool squared, T* scratch) {
  operations<T>().gradient(term, x, dy, g, edges, squared, scratch);
}
template <class T>
void sparse_tangent(const SparseTerm<T>& term, Matrix<const T> dw, Matrix<const T> x, Matrix<const T> dx, Matrix<T> dy,
                    T* scratch) {
  operations<T>().tangent(term, dw, x, dx, dy, scratch);
}
template <class T>
void sparse_activations(const SparseTerm<T>& term, Matrix<const T> x, Matrix<T> s) {
  operations<T>().activations(term, x, s);
}
template <class T>
void sparse_chain_forward(const SparseTerm<T>& term, Matrix<const T> lookup, const Symbol* symbols, const T* bias,
                          Matrix<T> y, T* scratch) {
  operations<T>().chain_forward(term, lookup, symbols, bias, y, scratch);
}
template <class T>
void sparse_chain_backward(const SparseTerm<T>& term, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint,
                           bool squared, T* scratch) {
  operations<T>().chain_backward(term, y, exit, adjoint, squared, scratch);
}

#define UNFOLD_INSTANTIATE(T)                                                                                         \
  template void sparse_multiply(const SparseTerm<T>&, Matrix<const T>, Matrix<T>, T*);                                \
  template void sparse_transposed(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, bool, bool, T*); \
  template void sparse_gradient(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, Range, bool, T*);  \
  template void sparse_tangent(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<T>,    \
                               T*);                                                                                   \
  template void sparse_activations(const SparseTerm<T>&, Matrix<const T>, Matrix<T>);                                 \
  template void sparse_chain_forward(const SparseTerm<T>&, Matrix<const T>, const Symbol*, const T*, Matrix<T>, T*);  \
  template void sparse_chain_backward(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, bool, T*);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif
