#pragma once
/// Scoring with a network, many sequences or segments side by side.

#include <functional>

#include "unfold/data/batches.h"
#include "unfold/optim/window_pass.h"

namespace unfold {

struct Evaluation {
  double nats = 0;      ///< over all predicted symbols
  Index predicted = 0;  ///< symbols (rows) that were predicted
  Index symbols = 0;    ///< symbols read and counted, predicted or not
  Index runs = 0;       ///< stretches that were read from a fresh state: sequences, or segments of them
  Index warmed = 0;     ///< symbols read before segments only to warm the state up, not counted
  double nats_per_symbol() const { return predicted > 0 ? nats / static_cast<double>(predicted) : 0; }
};

template <class T>
class Evaluator {
 public:
  Evaluator(const Network<T>& network, Team& team) : network_(network), pass_(network, team) {}

  /// `surprisal(place, nats)` is called for every predicted symbol, in no particular order.
  using Surprisal = std::function<void(Index, T)>;
  /// Called with every window and what the readout read there, [rows x size].
  using Judge = std::function<void(const Window&, Matrix<const T>)>;

  /// Scores all windows of a stream. Sums are taken run by run in order of their numbers, so the result does not depend
  /// on how runs share windows.
  Evaluation run(const Parameters<T>& parameters, WindowStream& stream, const Surprisal& surprisal = {},
                 const Judge& judge = {});
  /// Scores lanes of a corpus (batches.h: exact_lanes, scoring_lanes). The result does not depend on `window`.
  Evaluation run(const Parameters<T>& parameters, const Corpus& corpus, std::vector<std::vector<Run>> lanes,
                 Index window, Symbol predict_after = kNoSymbol, const Surprisal& surprisal = {});

 private:
  Network<T> network_;
  WindowPass<T> pass_;
};

}  // namespace unfold
