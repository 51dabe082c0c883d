#pragma once
/// The listed operator: symbols of several signals look up sparse weights, which exist only for a list of pairs
/// (symbol, output). Pairs that are not listed have no weight and take neither time nor memory:
///
///   Term{.parameter = "features", .source = word, .init = Init::zero(), .op = listed_operator(listing),
///        .symbols = {word, tag, suffix}}
///
///   y += sum over signals s, and over the outputs o listed for the symbol x_s, of w[pair(x_s, o)] in component o
///
/// The parameter is [1 x pairs]. kNoSymbol looks up nothing. Sums run over the signals in the given order, so the
/// results are bit-identical for any division of the rows.

#include <cstdint>
#include <memory>
#include <vector>

#include "unfold/graph/circuit/operator.h"

namespace unfold {

/// Pairs grouped by symbol: the symbols of the first signal, then the symbols of the second signal, and so on.
struct Listing {
  std::vector<Index> alphabets;          ///< alphabet size of each signal
  Index outputs = 0;                     ///< number of components
  std::vector<std::int32_t> begin;       ///< first pair of each symbol; one more element than there are symbols
  std::vector<std::int32_t> outputs_of;  ///< output of each pair, ascending within a symbol

  Index symbols() const;  ///< total number of symbols of all signals
  Index pairs() const { return static_cast<Index>(outputs_of.size()); }
  /// Throws a UsageError that describes the inconsistency.
  void validate() const;
};

/// Throws UsageError if the listing is invalid or has no pairs.
std::shared_ptr<const Operator> listed_operator(std::shared_ptr<const Listing> listing);

}  // namespace unfold
