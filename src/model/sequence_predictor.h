#pragma once
/// The predictor of a stream of consecutive sequences: after the symbol that ends a sequence, the next one begins, as
/// in training and in evaluation. `SymbolModel::predictor()` returns such a predictor if the data of the model has such
/// a symbol; sampling, completion, priming and streams therefore need no special case.

#include <memory>

#include "unfold/model/predictor.h"

namespace unfold {

/// Returns a predictor that resets `predictor` after it has observed `end`; `predictor` itself for kNoSymbol. Its
/// contexts (model/markov.h) are the contexts of `predictor`.
std::unique_ptr<Predictor> restart_after(Symbol end, std::unique_ptr<Predictor> predictor);

}  // namespace unfold
