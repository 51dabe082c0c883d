/// Recurrences of one sparse term over all rows of one sequence. Each step depends on the previous step. Everything
/// that does not (in the backward pass, activations and derivatives) is computed in advance for blocks of rows. The
/// remaining part of a step uses only scalar loads and stores, because loading a vector that was just written by scalar
/// stores stalls.

#include <algorithm>
#include <cmath>

#include "unfold/numerics/sparse.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/sparse_chain.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/sparse-inl.h"
#include "numerics/sparse_chain_vectors-inl.h"

#ifndef UNFOLD_NUMERICS_SPARSE_CHAIN_ONCE
#define UNFOLD_NUMERICS_SPARSE_CHAIN_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target).
template <class T>
struct ChainOperations {
  void (*forward)(const SparseTerm<T>&, Matrix<const T>, const Symbol*, const T*, Matrix<T>, T*);
  void (*backward)(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, bool, T*);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Adds w_e s_j to `sum` over the edges [e, last) in order and returns the result; uses no loop if there are only a few
/// edges, as in most units.
template <class T>
HWY_INLINE T add_entering(const T* w, const T* s, const std::int32_t* from, std::int32_t e, std::int32_t last, T sum) {
  for (; e + 4 < last; ++e) sum = std::fma(w[e], s[from[e]], sum);
  switch (last - e) {
    // The identical branches are intentional: each falls through to the next. NOLINTNEXTLINE(bugprone-branch-clone)
    case 4: sum = std::fma(w[e], s[from[e]], sum), ++e; [[fallthrough]];
    case 3: sum = std::fma(w[e], s[from[e]], sum), ++e; [[fallthrough]];
    case 2: sum = std::fma(w[e], s[from[e]], sum), ++e; [[fallthrough]];
    case 1: sum = std::fma(w[e], s[from[e]], sum);
  }
  return sum;
}

template <class T>
void chain_forward(const SparseTerm<T>& term, Matrix<const T> lookup, const Symbol* symbols, const T* bias, Matrix<T> y,
                   T* s) {
  const Edges& edges = *term.edges;
  const std::int32_t *entering = edges.entering().data(), *from = edges.from().data();
#if HWY_TARGET == HWY_AVX3
  if (SlottedEdges<T>::worthwhile(term, y.cols, entering, y.rows)) {
    const SlottedEdges<T> slotted(
        term, y.cols, entering, [](std::int32_t e) { return e; }, from, false, false);
    return with_vectors(SlottedEdges<T>::vectors_of(y.cols), [&](auto vectors) {
      vectors_forward<T, vectors()>(term, slotted, lookup, symbols, bias, y, s);
    });
  }
#endif
  for (Index t = 0; t < y.rows; ++t) {
    const T* x = y.row(t - 1);
    T* row = y.row(t);
    const T* found = lookup.data != nullptr && symbols[t] != kNoSymbol ? lookup.row(symbols[t]) : nullptr;
    const Range weights = acting(term, t);
    if (weights.size() == 1) activate(term.activation, x, s, y.cols);
    const T* w = weights.size() == 1 ? term.weights.row(weights.begin) : nullptr;
    const bool adds_x = w != nullptr && term.leaky;
    for (Index i = 0; i < y.cols; ++i) {
      T sum = bias != nullptr ? bias[i] : T{0};
      if (found != nullptr) sum += found[i];
      if (adds_x) sum += x[i];
      row[i] = w != nullptr ? add_entering(w, s, from, entering[i], entering[i + 1], sum) : sum;
    }
    if (w == nullptr) multiply_row(term, t, x, row, s);
  }
}

/// Outgoing edges grouped by source, in the layout that a pass reads.
struct Leaving {
  explicit Leaving(const Edges& edges, bool with_loops)
      : begin((with_loops ? edges.leaving() : edges.outgoing_without_loops()).data()),
        ids((with_loops ? edges.leaving_edges() : edges.leaving_others_edges()).data()),
        to((with_loops ? edges.leaving_to() : edges.leaving_others_to()).data()) {
    degree = edges.inputs() > 0 ? begin[1] : 0;
    for (Index j = 1; j < edges.inputs(); ++j)
      if (begin[j + 1] - begin[j] != degree) degree = -1;
  }
  const std::int32_t *begin, *ids, *to;
  std::int32_t degree;  ///< common number of edges of all sources, or -1
};

/// One step of either pass: to = J^T dy (with squared entries of J if `squared`), then to += exit unless that is null.
/// If kDegree > 0, every source has kDegree edges.
template <class T, bool squared, std::int32_t kDegree>
HWY_INLINE void chain_step(const SparseTerm<T>& term, const Leaving& edges, const T* w, const T* slopes, const T* dy,
                           const T* exit, T* HWY_RESTRICT to) {
  const std::int32_t *begin = edges.begin, *ids = edges.ids, *reached = edges.to;
  const std::int32_t* loops = term.edges->loops().data();
  const bool leaky = term.leaky;
  const auto n = static_cast<std::int32_t>(term.edges->inputs());
  for (std::int32_t j = 0; j < n; ++j) {
    T sum = 0;
    const std::int32_t first = kDegree > 0 ? j * kDegree : begin[j],
                       last = kDegree > 0 ? first + kDegree : begin[j + 1];
#pragma GCC unroll 4
    for (std::int32_t e = first; e < last; ++e) {
      const T weight = w[ids[e]];
      sum = std::fma(squared ? weight * weight : weight, dy[reached[e]], sum);
    }
    T v;
    if constexpr (squared) {
      v = slopes[j] * slopes[j] * sum;
      if (leaky) {  // the self-loop is part of the diagonal
        const T diagonal = std::fma(slopes[j], loops[j] >= 0 ? T{0} + w[loops[j]] : T{0}, T{1});
        v = std::fma(diagonal * diagonal, dy[j], v);
      }
    } else {
      v = leaky ? std::fma(slopes[j], sum, dy[j]) : slopes[j] * sum;
    }
    to[j] = exit != nullptr ? v + exit[j] : v;
  }
}

template <class T, bool squared, std::int32_t kDegree>
HWY_NOINLINE void chain_backward_as(const SparseTerm<T>& term, const Leaving& edges, Matrix<const T> y,
                                    Matrix<const T> exit, Matrix<T> adjoint, T* scratch) {
  const Index n = y.cols;
  T* slopes = scratch + 3 * n;
  if (exit.data != nullptr && y.rows > 0) add_array(exit.row(y.rows - 1), adjoint.row(y.rows - 1), n);
  for (Index end = y.rows; end > 0;) {
    const Index begin = std::max<Index>(0, end - kSparseChainBlock);
    find_slopes(term, y, {begin, end}, slopes);
    for (Index t = end; t-- > begin;) {
      T* to = adjoint.row(t - 1);
      const T* leaving = exit.data != nullptr && t > 0 ? exit.row(t - 1) : nullptr;
      const Range weights = acting(term, t);
      if (weights.size() == 1) {
        chain_step<T, squared, kDegree>(term, edges, term.weights.row(weights.begin), slopes + (t - begin) * n,
                                        adjoint.row(t), leaving, to);
      } else {
        transposed_row(term, t, y.row(t - 1), adjoint.row(t), to, true, squared, scratch);
        if (leaving != nullptr) add_array(leaving, to, n);
      }
    }
    end = begin;
  }
}

template <class T, bool squared>
void chain_backward_by_degree(const SparseTerm<T>& term, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint,
                              T* scratch) {
  const Leaving edges(*term.edges, !(squared && term.leaky));
#if HWY_TARGET == HWY_AVX3
  if (SlottedEdges<T>::worthwhile(term, y.cols, edges.begin, y.rows)) {
    const SlottedEdges<T> slotted(
        term, y.cols, edges.begin, [&](std::int32_t k) { return edges.ids[k]; }, edges.to, squared,
        squared && term.leaky);
    return with_vectors(SlottedEdges<T>::vectors_of(y.cols), [&](auto vectors) {
      vectors_backward<T, squared, vectors()>(term, slotted, y, exit, adjoint, scratch);
    });
  }
#endif
  switch (edges.degree) {  // the default of 3 edges, with and without self-loops
    case 2: return chain_backward_as<T, squared, 2>(term, edges, y, exit, adjoint, scratch);
    case 3: return chain_backward_as<T, squared, 3>(term, edges, y, exit, adjoint, scratch);
    default: return chain_backward_as<T, squared, 0>(term, edges, y, exit, adjoint, scratch);
  }
}

template <class T>
void chain_backward(const SparseTerm<T>& term, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint, bool squared,
                    T* scratch) {
  squared ? chain_backward_by_degree<T, true>(term, y, exit, adjoint, scratch)
          : chain_backward_by_degree<T, false>(term, y, exit, adjoint, scratch);
}

template <class T>
constexpr ChainOperations<T> kChainOperations = {chain_forward<T>, chain_backward<T>};
UNFOLD_TARGET_TABLE(ChainOperations, kChainOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(ChainOperations, operations);

}  // namespace

template <class T>
void sparse_chain_forward(const SparseTerm<T>& term, Matrix<const T> lookup, const Symbol* symbols, const T* bias,
                          Matrix<T> y, T* scratch) {
  operations<T>().forward(term, lookup, symbols, bias, y, scratch);
}

template <class T>
void sparse_chain_backward(const SparseTerm<T>& term, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint,
                           bool squared, T* scratch) {
  operations<T>().backward(term, y, exit, adjoint, squared, scratch);
}

#define UNFOLD_INSTANTIATE(T)                                                                                        \
  template void sparse_chain_forward(const SparseTerm<T>&, Matrix<const T>, const Symbol*, const T*, Matrix<T>, T*); \
  template void sparse_chain_backward(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, bool, T*);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif
