#include "unfold/numerics/sparse.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "unfold/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/sparse.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/sparse-inl.h"

#ifndef UNFOLD_NUMERICS_SPARSE_ONCE
#define UNFOLD_NUMERICS_SPARSE_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target).
template <class T>
struct SparseOperations {
  void (*multiply)(const SparseTerm<T>&, Matrix<const T>, Matrix<T>, T*);
  void (*transposed)(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, bool, bool, T*);
  void (*gradient)(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, Range, bool, T*);
  void (*tangent)(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<T>, T*);
  void (*activations)(const SparseTerm<T>&, Matrix<const T>, Matrix<T>);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

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
  if (x.stride == x.cols && s.stride == s.cols && s.rows > 0) {  // contiguous: process all rows as one array
    activate(term.activation, x.data, s.data, s.rows * s.cols);
    for (Index r = 0; r < s.rows; ++r)
      if (keeps(term, r)) std::fill_n(s.row(r), s.cols, T{0});
    return;
  }
  for (Index r = 0; r < s.rows; ++r) {
    if (keeps(term, r))
      std::fill_n(s.row(r), s.cols, T{0});
    else
      activate(term.activation, x.row(r), s.row(r), s.cols);
  }
}

template <class T>
constexpr SparseOperations<T> kSparseOperations = {multiply_rows<T>, transposed_rows<T>, gradient_rows<T>,
                                                   tangent_rows<T>, activation_rows<T>};
UNFOLD_TARGET_TABLE(SparseOperations, kSparseOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(SparseOperations, operations);

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
      throw UsageError("edges: " + std::to_string(j) + " -> " + std::to_string(i) + " is outside a graph of " +
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
  leaving_others_.push_back(0);
  for (Index j = 0; j < inputs; ++j) {
    for (std::int32_t k = leaving_[at(j)]; k < leaving_[at(j + 1)]; ++k) {
      if (leaving_to_[at(k)] == j) continue;
      leaving_others_edges_.push_back(leaving_edges_[at(k)]);
      leaving_others_to_.push_back(leaving_to_[at(k)]);
    }
    leaving_others_.push_back(static_cast<std::int32_t>(leaving_others_to_.size()));
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

#define UNFOLD_INSTANTIATE(T)                                                                                         \
  template void sparse_multiply(const SparseTerm<T>&, Matrix<const T>, Matrix<T>, T*);                                \
  template void sparse_transposed(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, bool, bool, T*); \
  template void sparse_gradient(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>, Range, bool, T*);  \
  template void sparse_tangent(const SparseTerm<T>&, Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<T>,    \
                               T*);                                                                                   \
  template void sparse_activations(const SparseTerm<T>&, Matrix<const T>, Matrix<T>);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif
