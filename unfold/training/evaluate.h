#pragma once
/// Scoring with a network, many sequences or segments side by side.

#include <functional>

#include "unfold/data/text_batches.h"
#include "unfold/optim/batch_pass.h"
#include "unfold/training/found_trees.h"

namespace unfold {

struct Evaluation {
  double nats = 0;      ///< over all predicted symbols
  Index predicted = 0;  ///< symbols (rows) that were predicted
  Index symbols = 0;    ///< symbols read and counted, predicted or not
  Index passages = 0;   ///< stretches that were read from a fresh state: sequences, or segments of them
  Index warmed = 0;     ///< symbols read before segments only to warm the state up, not counted
  double nats_per_symbol() const { return predicted > 0 ? nats / static_cast<double>(predicted) : 0; }
};

template <class T>
class Evaluator {
 public:
  /// Of a network that finds trees, on those that it finds best: batches have them when a judge sees them.
  Evaluator(const Network<T>& network, Team& team) : network_(network), pass_(network, team) {
    if (network_.merges.valid()) finder_ = std::make_unique<TreeFinder<T>>(network_, team);
  }

  /// `surprisal(place, nats)` is called for every predicted symbol, in no particular order.
  using Surprisal = std::function<void(Index, T)>;
  /// Called with every batch and what the losses read there, one matrix [rows x size] a head.
  using Judge = std::function<void(const Batch&, std::span<const Matrix<const T>>)>;

  /// Scores all batches of a reader. Sums are taken passage by passage in order of their numbers, so the result does
  /// not depend on how passages share batches.
  Evaluation run(const Parameters<T>& parameters, BatchReader& reader, const Surprisal& surprisal = {},
                 const Judge& judge = {});
  /// Scores streams of a corpus (text_batches.h: exact_streams, scoring_streams). The result does not depend on
  /// `window`.
  Evaluation run(const Parameters<T>& parameters, const Corpus& corpus, std::vector<std::vector<Passage>> streams,
                 Index window, Symbol predict_after = kNoSymbol, const Surprisal& surprisal = {});

 private:
  Network<T> network_;
  BatchPass<T> pass_;
  std::unique_ptr<TreeFinder<T>> finder_;  // none: trees are as they are
};

}  // namespace unfold
