#pragma once
/// The predictor of a stream of consecutive sequences: after the symbol that ends a sequence, the next one begins, as
/// in training and in evaluation. `SymbolModel::predictor()` returns one if the data of the model has such a symbol,
/// so that sampling, completion, priming and streams need no special case.

#include <memory>

#include "unfold/model/predictor.h"

namespace unfold {

/// Returns a predictor that resets `predictor` after it has observed `end`; `predictor` itself for kNoSymbol. Contexts
/// (model/markov.h) are those of `predictor`.
std::unique_ptr<Predictor> restart_after(Symbol end, std::unique_ptr<Predictor> predictor);

}  // namespace unfold
