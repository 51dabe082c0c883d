#pragma once
/// Sequences sampled from the model, for metrics on the distribution of whole sequences (equation 41 of the Riemannian
/// paper). They have the same lengths and initial states as the sequences of a batch.

#include "unfold/data/text/batch.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {

template <class T>
class SampledSequences {
 public:
  /// Throws UsageError unless the network reads exactly the symbols that it predicts.
  explicit SampledSequences(const Network<T>& network);

  /// Returns the batch with every target symbol replaced by a sample, one after another; each sample is also the next
  /// input. Symbols without a target are unchanged. The result is a function of parameters, states, `draw` and
  /// `stream`. Valid until the next call.
  const Batch& draw(const Batch& batch, const Parameters<T>& parameters, const State<T>& entering, std::uint64_t draw,
                    std::uint64_t stream);

 private:
  void write(Stepper<T>& stepper, const Batch& text, Index sequence, Random random);

  std::shared_ptr<const Plan> plan_;
  Signal symbols_, logits_;
  Team team_{1};
  Batch own_ = {};
  std::vector<T> log_probabilities_;
};

}  // namespace unfold
