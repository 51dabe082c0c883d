// Internal: recurrences of one sparse term whose whole state stays in vector registers, with AVX-512. A step then has
// neither scalar operations nor loads of what the previous step has stored. Every component is computed by the same
// operations in the same order as in sparse_chain.cpp, so the results have the same bits. See targets-inl.h for the
// order of inclusion.

#if defined(UNFOLD_NUMERICS_SPARSE_CHAIN_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_NUMERICS_SPARSE_CHAIN_VECTORS_INL_H_
#undef UNFOLD_NUMERICS_SPARSE_CHAIN_VECTORS_INL_H_
#else
#define UNFOLD_NUMERICS_SPARSE_CHAIN_VECTORS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "numerics/sparse-inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

constexpr int kMostStateVectors = 4;

template <class T>
using StateTag = hn::ScalableTag<T>;
template <class T>
using StateVector = hn::Vec<StateTag<T>>;
template <class T>
constexpr Index kStateLanes = 64 / static_cast<Index>(sizeof(T));

/// A std::vector whose first element is aligned to a vector.
template <class T>
class AlignedValues {
 public:
  explicit AlignedValues(Index size) : values_(static_cast<std::size_t>(size) + 64 / sizeof(T)) {
    const auto address = reinterpret_cast<std::uintptr_t>(values_.data());
    first_ = values_.data() + (64 - address % 64) % 64 / sizeof(T);
  }
  AlignedValues(const AlignedValues&) = delete;
  AlignedValues& operator=(const AlignedValues&) = delete;
  T* data() { return first_; }
  const T* data() const { return first_; }

 private:
  std::vector<T> values_;
  T* first_;
};

/// One list of edges per component, in vectors: slot s holds the s-th edge of every component, the place it reads and
/// its weight (or squared weight) for every row of weights.
template <class T>
class SlottedEdges {
  using Place = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

 public:
  /// The edges of component i are edge_of(k), which read read_by(k), for k in [begin[i], begin[i + 1]).
  template <class EdgeOf>
  SlottedEdges(const SparseTerm<T>& term, Index n, const std::int32_t* begin, EdgeOf&& edge_of,
               const std::int32_t* read_by, bool squared, bool with_loops)
      : width_(vectors_of(n) * kStateLanes<T>),
        slots_(most_edges(n, begin)),
        places_(slots_ * width_),
        weights_(term.weights.rows * slots_ * width_),
        loops_(with_loops ? term.weights.rows * width_ : 0),
        counts_(static_cast<std::size_t>(slots_), 0) {
    for (Index i = 0; i < n; ++i) {
      for (std::int32_t k = begin[i]; k < begin[i + 1]; ++k) {
        const Index slot = k - begin[i], at = slot * width_ + i;
        places_.data()[at] = static_cast<Place>(read_by[k]);
        present_.resize(static_cast<std::size_t>(slots_ * width_ / kStateLanes<T>));
        present_[static_cast<std::size_t>(at / kStateLanes<T>)] |=
            static_cast<std::uint16_t>(1U << static_cast<unsigned>(at % kStateLanes<T>));
        ++counts_[static_cast<std::size_t>(slot)];
        for (Index row = 0; row < term.weights.rows; ++row) {
          const T w = term.weights(row, edge_of(k));
          weights_.data()[row * slots_ * width_ + at] = squared ? w * w : w;
        }
      }
      const std::int32_t loop = with_loops ? term.edges->loops()[static_cast<std::size_t>(i)] : -1;
      for (Index row = 0; row < term.weights.rows && loop >= 0; ++row)
        loops_.data()[row * width_ + i] = T{0} + term.weights(row, loop);
    }
    whole_ = 0;
    while (whole_ < slots_ && counts_[static_cast<std::size_t>(whole_)] == n) ++whole_;
  }

  static Index vectors_of(Index n) { return (n + kStateLanes<T> - 1) / kStateLanes<T>; }
  static Index most_edges(Index n, const std::int32_t* begin) {
    Index most = 0;
    for (Index i = 0; i < n; ++i) most = std::max<Index>(most, begin[i + 1] - begin[i]);
    return most;
  }
  /// Whether a pass over `rows` rows is faster with vectors than edge by edge.
  static bool worthwhile(const SparseTerm<T>& term, Index n, const std::int32_t* begin, Index rows) {
    const Index width = vectors_of(n) * kStateLanes<T>, numbers = most_edges(n, begin) * width;
    return n > 0 && vectors_of(n) <= kMostStateVectors && numbers <= 16 * std::max(n, term.edges->count()) &&
           term.weights.rows * numbers <= rows * n;
  }

  /// sums += the edges of a row of weights times `state`.
  template <int kVectors>
  HWY_INLINE void add(Index row, const StateVector<T> (&state)[kVectors], StateVector<T> (&sums)[kVectors]) const {
    const StateTag<T> d;
    const T* w = weights_.data() + row * slots_ * width_;
    const Place* place = places_.data();
    for (Index s = 0; s < whole_; ++s, w += width_, place += width_) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sums[v] = Fma(d, hn::LoadU(d, w + v * kStateLanes<T>), read(state, place + v * kStateLanes<T>), sums[v]);
    }
    for (Index s = whole_; s < slots_; ++s, w += width_, place += width_) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto more =
            Fma(d, hn::LoadU(d, w + v * kStateLanes<T>), read(state, place + v * kStateLanes<T>), sums[v]);
        const auto mask =
            hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(present_.data() + s * kVectors + v));
        sums[v] = hn::IfThenElse(mask, more, sums[v]);
      }
    }
  }
  const T* loops(Index row) const { return loops_.data() + row * width_; }

 private:
  /// Returns the components of the state at the places.
  template <int kVectors>
  HWY_INLINE static StateVector<T> read(const StateVector<T> (&state)[kVectors], const Place* places) {
    const auto two = [&](int first) HWY_ATTR {
      const auto& low = state[first];
      const auto& high = state[first + 1 < kVectors ? first + 1 : first];
      const __m512i at = _mm512_loadu_si512(places);
      if constexpr (sizeof(T) == 4) {
        return StateVector<T>{_mm512_permutex2var_ps(low.raw, at, high.raw)};
      } else {
        return StateVector<T>{_mm512_permutex2var_pd(low.raw, at, high.raw)};
      }
    };
    if constexpr (kVectors <= 2) {
      return two(0);
    } else {
      const hn::RebindToSigned<StateTag<T>> i;
      const auto beyond = hn::Gt(hn::LoadU(i, places), hn::Set(i, static_cast<Place>(2 * kStateLanes<T> - 1)));
      return hn::IfThenElse(hn::RebindMask(StateTag<T>(), beyond), two(2), two(0));
    }
  }

  Index width_, slots_, whole_;  // slots [0, whole_) have an edge of every component
  AlignedValues<Place> places_;  // [slots x width]
  AlignedValues<T> weights_;     // [rows x slots x width]
  AlignedValues<T> loops_;       // weight of the self-loop [rows x width]
  std::vector<std::uint16_t> present_;
  std::vector<Index> counts_;
};

/// Loads and stores rows of n components.
template <class T, int kVectors>
struct StateRow {
  size_t last;  // number of components in the last vector
  explicit StateRow(Index n) : last(static_cast<size_t>(n - (kVectors - 1) * kStateLanes<T>)) {}
  HWY_INLINE StateVector<T> load(const T* row, int v) const {
    const StateTag<T> d;
    const T* from = row + v * kStateLanes<T>;
    return v + 1 < kVectors ? hn::LoadU(d, from) : load_first(d, from, last);
  }
  HWY_INLINE void store(StateVector<T> value, T* row, int v) const {
    const StateTag<T> d;
    T* to = row + v * kStateLanes<T>;
    if (v + 1 < kVectors)
      hn::StoreU(value, d, to);
    else
      store_first(value, d, to, last);
  }
};

template <class T, bool squared, int kVectors>
HWY_NOINLINE void vectors_backward(const SparseTerm<T>& term, const SlottedEdges<T>& edges, Matrix<const T> y,
                                   Matrix<const T> exit, Matrix<T> adjoint, T* scratch) {
  const StateTag<T> d;
  const Index n = y.cols;
  const StateRow<T, kVectors> row(n);
  T* slopes = scratch + 3 * n;
  if (y.rows == 0) return;
  if (exit.data != nullptr) add_array(exit.row(y.rows - 1), adjoint.row(y.rows - 1), n);
  StateVector<T> dy[kVectors];
  for (int v = 0; v < kVectors; ++v) dy[v] = row.load(adjoint.row(y.rows - 1), v);
  for (Index end = y.rows; end > 0;) {
    const Index begin = std::max<Index>(0, end - kSparseChainBlock);
    find_slopes(term, y, {begin, end}, slopes);
    for (Index t = end; t-- > begin;) {
      T* to = adjoint.row(t - 1);
      const T* leaving = exit.data != nullptr && t > 0 ? exit.row(t - 1) : nullptr;
      const Range weights = acting(term, t);
      if (weights.size() != 1) {
        transposed_row(term, t, y.row(t - 1), adjoint.row(t), to, true, squared, scratch);
        if (leaving != nullptr) add_array(leaving, to, n);
        for (int v = 0; v < kVectors; ++v) dy[v] = row.load(to, v);
        continue;
      }
      StateVector<T> sums[kVectors];
      for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
      edges.add(weights.begin, dy, sums);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto slope = row.load(slopes + (t - begin) * n, v);
        StateVector<T> value;
        if constexpr (squared) {
          value = hn::Mul(hn::Mul(slope, slope), sums[v]);
          if (term.leaky) {
            const auto loop = hn::LoadU(d, edges.loops(weights.begin) + v * kStateLanes<T>);
            const auto diagonal = Fma(d, slope, loop, hn::Set(d, T{1}));
            value = Fma(d, hn::Mul(diagonal, diagonal), dy[v], value);
          }
        } else {
          value = term.leaky ? Fma(d, slope, sums[v], dy[v]) : hn::Mul(slope, sums[v]);
        }
        if (leaving != nullptr) value = hn::Add(value, row.load(leaving, v));
        row.store(value, to, v);
        sums[v] = value;
      }
      for (int v = 0; v < kVectors; ++v) dy[v] = sums[v];
    }
    end = begin;
  }
}

template <class T, int kVectors>
HWY_NOINLINE void vectors_forward(const SparseTerm<T>& term, const SlottedEdges<T>& edges, Matrix<const T> lookup,
                                  const Symbol* symbols, const T* bias, Matrix<T> y, T* scratch) {
  const StateTag<T> d;
  const StateRow<T, kVectors> row(y.cols);
  StateVector<T> x[kVectors];
  for (int v = 0; v < kVectors; ++v) x[v] = row.load(y.row(-1), v);
  for (Index t = 0; t < y.rows; ++t) {
    const T* found = lookup.data != nullptr && symbols[t] != kNoSymbol ? lookup.row(symbols[t]) : nullptr;
    const Range weights = acting(term, t);
    StateVector<T> s[kVectors], sums[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = bias != nullptr ? row.load(bias, v) : hn::Zero(d);
      if (found != nullptr) sums[v] = hn::Add(sums[v], row.load(found, v));
    }
    if (weights.size() != 1) {
      for (int v = 0; v < kVectors; ++v) row.store(sums[v], y.row(t), v);
      multiply_row(term, t, y.row(t - 1), y.row(t), scratch);
      for (int v = 0; v < kVectors; ++v) x[v] = row.load(y.row(t), v);
      continue;
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      s[v] = activated(d, term.activation, x[v]);
      if (term.leaky) sums[v] = hn::Add(sums[v], x[v]);
    }
    edges.add(weights.begin, s, sums);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      row.store(sums[v], y.row(t), v);
      x[v] = sums[v];
    }
  }
}

/// Runs use(number of vectors) with a constant number.
template <class Use>
HWY_INLINE void with_vectors(Index vectors, Use&& use) {
  switch (vectors) {
    case 1: return use(std::integral_constant<int, 1>());
    case 2: return use(std::integral_constant<int, 2>());
    case 3: return use(std::integral_constant<int, 3>());
    default: return use(std::integral_constant<int, 4>());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#endif  // HWY_AVX3

#endif  // include guard
