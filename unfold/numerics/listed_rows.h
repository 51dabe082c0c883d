#pragma once
/// Weights that symbols have for some components of a row alone (circuit/listed.h), several symbols a row. Processors
/// with AVX-512 spread the pairs of a symbol over the components in registers; others go from pair to pair.
///
/// Law 2: a component of a row adds its pairs signal by signal, a pair its rows from the last to the first, on every
/// processor.

#include <cstdint>
#include <span>

#include "unfold/base/views.h"

namespace unfold {

/// Components that a symbol's pairs are spread over in registers, at most.
inline constexpr Index kMostSpread = 24;

/// The pairs of a symbol: where they begin, and bit o for component o.
struct SpreadPairs {
  std::int32_t begin;
  std::uint32_t components;
};

/// Which pairs there are.
struct ListedPairs {
  const std::int32_t* begin = nullptr;       ///< the pairs of symbol x are [begin[x], begin[x + 1])
  const std::int32_t* components = nullptr;  ///< of each pair
  /// Of each symbol; null: there are more components than kMostSpread, or those of a symbol do not ascend.
  const SpreadPairs* spread = nullptr;
};

/// What rows read: row r of signal s the symbol first[s] + symbols[s][r], nothing where symbols[s][r] is kNoSymbol.
struct ListedSymbols {
  std::span<const Symbol* const> symbols;
  std::span<const Index> first;
};

/// y[r][component of k] += w[k] for all pairs k of all symbols of all rows.
template <class T>
void add_listed(const ListedPairs& pairs, const ListedSymbols& read, const T* w, Matrix<T> y);

/// g[k] += y[r][component of k], of the pairs in `mine` alone.
template <class T>
void gather_listed(const ListedPairs& pairs, const ListedSymbols& read, Matrix<const T> y, T* g, Range mine);

}  // namespace unfold
