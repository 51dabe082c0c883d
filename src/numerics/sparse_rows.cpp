#include "numerics/sparse_rows.h"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/sparse_rows.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_LISTED_ROWS_ONCE
#define UNFOLD_NUMERICS_LISTED_ROWS_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target).
template <class T>
struct ListedOperations {
  void (*add)(const SparsePairs&, const ListedSymbols&, const T* w, Matrix<T> y);
  void (*gather)(const SparsePairs&, const ListedSymbols&, Matrix<const T> y, T* g, Range mine);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void gather_pairs(const SparsePairs& pairs, Range some, const T* y, T* g) {
  for (Index k = some.begin; k < some.end; ++k) g[k] += y[pairs.components[k]];
}

template <class T>
void add_pair_by_pair(const SparsePairs& pairs, const ListedSymbols& read, const T* w, Matrix<T> y) {
  for (Index r = 0; r < y.rows; ++r) {
    T* const out = y.row(r);
    for (std::size_t s = 0; s < read.symbols.size(); ++s) {
      if (read.symbols[s][r] == kNoSymbol) continue;
      const std::int32_t* begin = pairs.begin + read.first[s] + read.symbols[s][r];
      for (std::int32_t k = begin[0]; k < begin[1]; ++k) out[pairs.components[k]] += w[k];
    }
  }
}

/// Returns the pairs of a symbol that are in `mine`.
HWY_INLINE Range pairs_in(const SparsePairs& pairs, Index symbol, Range mine) {
  return {std::max<Index>(pairs.begin[symbol], mine.begin), std::min<Index>(pairs.begin[symbol + 1], mine.end)};
}

template <class T>
void gather_pair_by_pair(const SparsePairs& pairs, const ListedSymbols& read, Matrix<const T> y, T* g, Range mine) {
  for (Index r = y.rows - 1; r >= 0; --r)
    for (std::size_t s = 0; s < read.symbols.size(); ++s)
      if (read.symbols[s][r] != kNoSymbol)
        gather_pairs(pairs, pairs_in(pairs, read.first[s] + read.symbols[s][r], mine), y.row(r), g);
}

#if HWY_TARGET == HWY_AVX3

/// AVX-512 operations on vectors of T: expanding the pairs of a symbol to the lanes of their components, and gathering
/// elements of a row.
template <class T>
struct Spread;
template <>
struct Spread<float> {
  using Vector = __m512;
  using Lanes = __mmask16;
  using Places = __m512i;
  static constexpr int kLanes = 16;
  static HWY_INLINE Vector load(const float* from) { return _mm512_loadu_ps(from); }
  static HWY_INLINE void store(float* to, Vector v) { _mm512_storeu_ps(to, v); }
  static HWY_INLINE Vector load(Lanes m, const float* from) { return _mm512_maskz_loadu_ps(m, from); }
  static HWY_INLINE void store(float* to, Lanes m, Vector v) { _mm512_mask_storeu_ps(to, m, v); }
  static HWY_INLINE Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static HWY_INLINE Vector spread(Lanes m, const float* from) { return _mm512_maskz_expandloadu_ps(m, from); }
  static HWY_INLINE Places places(Lanes m, const std::int32_t* from) { return _mm512_maskz_loadu_epi32(m, from); }
  static HWY_INLINE Vector pick(Lanes m, Places at, const Vector (&row)[1]) {
    return _mm512_maskz_permutexvar_ps(m, at, row[0]);
  }
  static HWY_INLINE Vector pick(Lanes m, Places at, const Vector (&row)[2]) {
    return _mm512_maskz_permutex2var_ps(m, row[0], at, row[1]);
  }
};

template <>
struct Spread<double> {
  using Vector = __m512d;
  using Lanes = __mmask8;
  using Places = __m512i;
  static constexpr int kLanes = 8;
  static HWY_INLINE Vector load(const double* from) { return _mm512_loadu_pd(from); }
  static HWY_INLINE void store(double* to, Vector v) { _mm512_storeu_pd(to, v); }
  static HWY_INLINE Vector load(Lanes m, const double* from) { return _mm512_maskz_loadu_pd(m, from); }
  static HWY_INLINE void store(double* to, Lanes m, Vector v) { _mm512_mask_storeu_pd(to, m, v); }
  static HWY_INLINE Vector add(Vector a, Vector b) { return _mm512_add_pd(a, b); }
  static HWY_INLINE Vector spread(Lanes m, const double* from) { return _mm512_maskz_expandloadu_pd(m, from); }
  static HWY_INLINE Places places(Lanes m, const std::int32_t* from) {
    return _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(m, from));
  }
  static HWY_INLINE Vector pick(Lanes m, Places at, const Vector (&row)[1]) {
    return _mm512_maskz_permutexvar_pd(m, at, row[0]);
  }
  static HWY_INLINE Vector pick(Lanes m, Places at, const Vector (&row)[2]) {
    return _mm512_maskz_permutex2var_pd(m, row[0], at, row[1]);
  }
  static HWY_INLINE Vector pick(Lanes m, Places at, const Vector (&row)[3]) {
    const Lanes high = _mm512_test_epi64_mask(at, _mm512_set1_epi64(16));
    return _mm512_mask_permutexvar_pd(_mm512_maskz_permutex2var_pd(m, row[0], at, row[1]), m & high, at, row[2]);
  }
};

/// Returns the lanes of vector v that belong to the listed components.
template <class S>
HWY_INLINE typename S::Lanes lanes_of(std::uint32_t listed, int v) {
  return static_cast<typename S::Lanes>(listed >> (v * S::kLanes));
}

template <class S>
HWY_INLINE typename S::Lanes first_lanes(std::uint32_t count) {
  return static_cast<typename S::Lanes>((std::uint32_t{1} << count) - 1);
}

/// Calls use(pairs) for the symbols of row r. Because most symbols are rare and their pairs are not in the cache,
/// prefetches the weights of row `next` and the table entries of row `later`.
template <class T, class Use>
HWY_INLINE void each_symbol(const SparsePairs& pairs, const ListedSymbols& read, Index r, Index next, Index later,
                            Index rows, const T* numbers, bool components, const Use& use) {
  const auto there = [&](std::size_t s, Index row) {
    return row >= 0 && row < rows && read.symbols[s][row] != kNoSymbol;
  };
  for (std::size_t s = 0; s < read.symbols.size(); ++s) {
    const ExpandedPairs* const of_signal = pairs.spread + read.first[s];
    if (there(s, later)) hwy::Prefetch(of_signal + read.symbols[s][later]);
    if (there(s, next)) {
      const std::int32_t begin = of_signal[read.symbols[s][next]].begin;
      hwy::Prefetch(numbers + begin);
      if (components) hwy::Prefetch(pairs.components + begin);
    }
    if (read.symbols[s][r] != kNoSymbol) use(of_signal[read.symbols[s][r]]);
  }
}

/// Processes rows that fit in kVectors vectors; they stay in registers while the symbols are added one after another.
template <class T, int kVectors>
void add_spread(const SparsePairs& pairs, const ListedSymbols& read, const T* w, Matrix<T> y) {
  using S = Spread<T>;
  const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << y.cols) - 1);
  for (Index r = 0; r < y.rows; ++r) {
    typename S::Vector sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = S::load(lanes_of<S>(all, v), y.row(r) + v * S::kLanes);
    each_symbol(pairs, read, r, r + 1, r + 3, y.rows, w, false, [&](const ExpandedPairs& listed) HWY_ATTR {
      const T* from = w + listed.begin;
      for (int v = 0; v < kVectors; ++v) {
        const auto lanes = lanes_of<S>(listed.components, v);
        sums[v] = S::add(sums[v], S::spread(lanes, from));
        from += std::popcount(static_cast<std::uint32_t>(lanes));
      }
    });
    for (int v = 0; v < kVectors; ++v) S::store(y.row(r) + v * S::kLanes, lanes_of<S>(all, v), sums[v]);
  }
}

/// Gathers into the pairs of the symbols. Whole vectors are stored if they end within `mine`; this adds zeros to the
/// pairs that follow but avoids the store-forwarding stalls that partial stores would cause.
template <class T, int kVectors>
void pick_pairs(const SparsePairs& pairs, const ListedSymbols& read, Matrix<const T> y, T* g, Range mine) {
  using S = Spread<T>;
  const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << y.cols) - 1);
  const auto every = static_cast<typename S::Lanes>(~typename S::Lanes{0});
  for (Index r = y.rows - 1; r >= 0; --r) {
    for (int v = 0; v < kVectors && r >= 4; ++v) hwy::Prefetch(y.row(r - 4) + v * S::kLanes);
    typename S::Vector row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = S::load(lanes_of<S>(all, v), y.row(r) + v * S::kLanes);
    each_symbol(pairs, read, r, r - 1, r - 3, y.rows, g, true, [&](const ExpandedPairs& listed) HWY_ATTR {
      const Index first = std::max<Index>(listed.begin, mine.begin);
      const Index last = std::min<Index>(listed.begin + std::popcount(listed.components), mine.end);
      for (Index k = first; k < last; k += S::kLanes) {
        const auto lanes = k + S::kLanes <= last ? every : first_lanes<S>(static_cast<std::uint32_t>(last - k));
        const auto picked = S::pick(lanes, S::places(lanes, pairs.components + k), row);
        if (k + S::kLanes <= mine.end)
          S::store(g + k, S::add(S::load(g + k), picked));
        else
          S::store(g + k, lanes, S::add(S::load(lanes, g + k), picked));
      }
    });
  }
}

/// Calls `use` with the smallest number of vectors that hold the components.
template <class T, class Use>
HWY_INLINE void in_vectors(Index components, const Use& use) {
  constexpr int kLanes = Spread<T>::kLanes;
  if (components <= kLanes) return use(std::integral_constant<int, 1>());
  if (components <= 2 * kLanes) return use(std::integral_constant<int, 2>());
  if constexpr (kLanes < 16) use(std::integral_constant<int, 3>());
}

template <class T>
void add_rows_listed(const SparsePairs& pairs, const ListedSymbols& read, const T* w, Matrix<T> y) {
  if (pairs.spread == nullptr) return add_pair_by_pair(pairs, read, w, y);
  in_vectors<T>(y.cols, [&](auto vectors) { add_spread<T, vectors()>(pairs, read, w, y); });
}

template <class T>
void gather_rows_listed(const SparsePairs& pairs, const ListedSymbols& read, Matrix<const T> y, T* g, Range mine) {
  if (pairs.spread == nullptr) return gather_pair_by_pair(pairs, read, y, g, mine);
  in_vectors<T>(y.cols, [&](auto vectors) { pick_pairs<T, vectors()>(pairs, read, y, g, mine); });
}

template <class T>
constexpr ListedOperations<T> kListedOperations = {add_rows_listed<T>, gather_rows_listed<T>};

#else

template <class T>
constexpr ListedOperations<T> kListedOperations = {add_pair_by_pair<T>, gather_pair_by_pair<T>};

#endif

UNFOLD_TARGET_TABLE(ListedOperations, kListedOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(ListedOperations, listed_operations);

}  // namespace

template <class T>
void add_sparse_pairs(const SparsePairs& pairs, const ListedSymbols& read, const T* w, Matrix<T> y) {
  listed_operations<T>().add(pairs, read, w, y);
}

template <class T>
void gather_sparse_pairs(const SparsePairs& pairs, const ListedSymbols& read, Matrix<const T> y, T* g, Range mine) {
  listed_operations<T>().gather(pairs, read, y, g, mine);
}

#define UNFOLD_INSTANTIATE(T)                                                                    \
  template void add_sparse_pairs(const SparsePairs&, const ListedSymbols&, const T*, Matrix<T>); \
  template void gather_sparse_pairs(const SparsePairs&, const ListedSymbols&, Matrix<const T>, T*, Range);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif  // HWY_ONCE
