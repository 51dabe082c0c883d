#pragma once
/// The listed operator: symbols of several signals look up weights, not one for every output but those of a list of
/// pairs (symbol, output). What is not listed has no weight, costs nothing and takes no memory:
///
///   Term{.parameter = "features", .source = word, .init = Init::zero(), .op = listed_operator(listing),
///        .symbols = {word, tag, suffix}}
///
///   y += sum over signals s, and over the outputs o listed for the symbol x_s, of w[pair(x_s, o)] in component o
///
/// Its parameter is [1 x pairs]. kNoSymbol looks nothing up. Sums run signal by signal in the order given: bits never
/// depend on how rows are divided.

#include <cstdint>
#include <memory>
#include <vector>

#include "unfold/circuit/operator.h"

namespace unfold {

/// Pairs by symbols: those of the first signal, then those of the second, ...; symbol by symbol in each.
struct Listing {
  std::vector<Index> alphabets;          ///< symbols of each signal
  Index outputs = 0;                     ///< components
  std::vector<std::int32_t> begin;       ///< where the pairs of a symbol begin; one more than there are symbols
  std::vector<std::int32_t> outputs_of;  ///< the output of each pair: ascending for a symbol

  Index symbols() const;  ///< of all signals together
  Index pairs() const { return static_cast<Index>(outputs_of.size()); }
  /// Throws UsageError naming what does not fit together.
  void validate() const;
};

/// Throws UsageError for a listing that is not valid or lists nothing.
std::shared_ptr<const Operator> listed_operator(std::shared_ptr<const Listing> listing);

}  // namespace unfold
