#pragma once
/// Evaluation of a network on many sequences or segments in parallel.
///
///   Evaluator<float> evaluator(network, team);
///   const Evaluation e = evaluator.run(parameters, corpus, exact_streams(part, 64), 128);
///   e.nats_per_symbol()

#include <functional>

#include "unfold/data/text/text_batches.h"
#include "unfold/train/objective/latent_trees.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {

struct Evaluation {
  double nats = 0;      ///< sum over all predicted symbols
  Index predicted = 0;  ///< number of predicted symbols (rows)
  Index symbols = 0;    ///< number of symbols read, whether predicted or not, excluding warm-up
  Index passages = 0;   ///< number of sequences or segments that were read from a fresh state
  Index warmed = 0;     ///< symbols read before segments only to warm up the state; not included in `symbols`
  double nats_per_symbol() const { return predicted > 0 ? nats / static_cast<double>(predicted) : 0; }
};

template <class T>
class Evaluator {
 public:
  /// For a network that builds trees, the most probable trees are used, and a Judge reads the batches with these trees.
  Evaluator(const Network<T>& network, Team& team) : network_(network), pass_(network, team) {
    if (network_.merges.valid()) finder_ = std::make_unique<LatentTreeParser<T>>(network_, team);
  }

  /// `surprisal(place, nats)` is called for every predicted symbol, in unspecified order; `place`: see Passage.
  using Surprisal = std::function<void(Index, T)>;
  /// Called with every batch and the inputs of the losses, one matrix [rows x size] per head.
  using Judge = std::function<void(const Batch&, std::span<const Matrix<const T>>)>;

  /// Evaluates all batches of a reader. Sums are taken passage by passage in the order of their numbers, so the result
  /// does not depend on how passages are grouped into batches.
  Evaluation run(const Parameters<T>& parameters, BatchReader& reader, const Surprisal& surprisal = {},
                 const Judge& judge = {});
  /// Evaluates streams of a corpus (text_batches.h: exact_streams, scoring_streams). The result does not depend on
  /// `window`.
  Evaluation run(const Parameters<T>& parameters, const Corpus& corpus, std::vector<std::vector<Passage>> streams,
                 Index window, Symbol predict_after = kNoSymbol, const Surprisal& surprisal = {});

 private:
  Network<T> network_;
  BatchPass<T> pass_;
  std::unique_ptr<LatentTreeParser<T>> finder_;  // null: trees are unchanged
};

}  // namespace unfold
