#pragma once
/// Sequences that a model of text writes itself, for metrics on the distribution of whole sequences (equation 41 of the
/// Riemannian text): of the same lengths as those of a batch, from the same states.

#include "unfold/data/batch.h"
#include "unfold/engine/stepper.h"

namespace unfold {

template <class T>
class OwnSequences {
 public:
  /// Throws UsageError: a network that does not read the symbols that it predicts, and nothing else.
  explicit OwnSequences(const Network<T>& network);

  /// The batch with every symbol that is to be predicted drawn anew, one after another, and read where the text's was
  /// read; symbols that are not to be predicted stay. A function of parameters, states, `draw` and `stream`. Lives
  /// until the next call.
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
