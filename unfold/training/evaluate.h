#pragma once
/// Scoring a part of a corpus with a network, many sequences or segments side by side.

#include <functional>

#include "unfold/training/batches.h"
#include "unfold/training/window_pass.h"

namespace unfold {

struct Evaluation {
  double nats = 0;      ///< over all predicted symbols
  Index predicted = 0;  ///< symbols that were predicted
  Index symbols = 0;    ///< symbols read and counted, predicted or not
  double nats_per_symbol() const { return predicted > 0 ? nats / static_cast<double>(predicted) : 0; }
};

template <class T>
class Evaluator {
 public:
  Evaluator(const Network<T>& network, Team& team) : network_(network), pass_(network, team) {}

  /// Scores lanes (batches.h: exact_lanes, scoring_lanes). Sums are taken run by run in order of their numbers, so the
  /// result does not depend on how runs share lanes, nor on `window`. `surprisal(place, nats)` is called for every
  /// predicted symbol, in no particular order.
  Evaluation run(const Parameters<T>& parameters, const Corpus& corpus, std::vector<std::vector<Run>> lanes,
                 Index window, Symbol predict_after = kNoSymbol, const std::function<void(Index, T)>& surprisal = {});

 private:
  Network<T> network_;
  WindowPass<T> pass_;
};

}  // namespace unfold
