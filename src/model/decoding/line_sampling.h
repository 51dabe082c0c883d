#pragma once
/// Sampling of single lines from a line model, such as names: a sample ends with the symbol that ends a line.

#include <functional>

#include "unfold/model/decoding/sampling.h"

namespace unfold {

struct LineEnd {
  Symbol symbol = kNoSymbol;  ///< SymbolModel::sequence_end
  bool may_be_first = true;   ///< without a prime: whether a line may be empty
};

/// Like `sample` (sampling.h), up to and including the end of the line, or up to `options.length` symbols.
/// `options.stop` is ignored.
void sample_line(Predictor& predictor, const SamplingOptions& options, const LineEnd& end,
                 const std::function<void(Symbol)>& use);

}  // namespace unfold
