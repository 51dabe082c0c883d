#pragma once
/// Sparse weights of symbols: each symbol has weights for only some components of a row
/// (graph/circuit/sparse_lookup.h), and several symbols may contribute to a row. With AVX-512 the pairs of a symbol are
/// expanded over the components in registers; other targets process them one pair at a time.
///
/// Determinism (invariant 2): a component of a row adds its pairs signal by signal, and a pair adds its rows from the
/// last to the first, on every processor.

#include <cstdint>
#include <span>

#include "unfold/base/views.h"

namespace unfold {

/// Maximum number of components for which pairs are expanded in registers.
inline constexpr Index kMaxExpanded = 24;

/// The pairs of a symbol: the index of the first pair, and a bit mask of the components (bit o for component o).
struct ExpandedPairs {
  std::int32_t begin;
  std::uint32_t components;
};

/// The sparsity structure.
struct SparsePairs {
  const std::int32_t* begin = nullptr;       ///< the pairs of symbol x are [begin[x], begin[x + 1])
  const std::int32_t* components = nullptr;  ///< component of each pair
  /// One entry per symbol; null if there are more than kMaxExpanded components, or if the components of a symbol are
  /// not ascending.
  const ExpandedPairs* spread = nullptr;
};

/// The symbols of the rows: row r of signal s reads symbol first[s] + symbols[s][r], and none if symbols[s][r] is
/// kNoSymbol.
struct ListedSymbols {
  std::span<const Symbol* const> symbols;
  std::span<const Index> first;
};

/// y[r][component of k] += w[k] for all pairs k of all symbols of all rows.
template <class T>
void add_sparse_pairs(const SparsePairs& pairs, const ListedSymbols& read, const T* w, Matrix<T> y);

/// g[k] += y[r][component of k] for the pairs k in `mine` only.
template <class T>
void gather_sparse_pairs(const SparsePairs& pairs, const ListedSymbols& read, Matrix<const T> y, T* g, Range mine);

}  // namespace unfold
