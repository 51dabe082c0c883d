#pragma once
/// Sequences sampled from the model, for metrics on the distribution of whole sequences (equation 41 of the Riemannian
/// paper). They have the same lengths and initial states as the sequences of a batch. Fields that the network reads but
/// does not predict are those of the batch: the metric is then that of the conditional distribution.

#include "unfold/data/text/batch.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {

template <class T>
class SampledSequences {
 public:
  /// Throws UsageError unless the targets of a position can be sampled from the signals of that position, and the
  /// network reads only earlier positions of what it predicts.
  explicit SampledSequences(const Network<T>& network);

  /// Returns the batch with every target replaced by a sample, one position after another; each sample is also a later
  /// input where the network reads it. Missing entries remain missing. The result is a function of parameters, states,
  /// `draw` and `stream`. Valid until the next call.
  const Batch& draw(const Batch& batch, const Parameters<T>& parameters, const State<T>& entering, std::uint64_t draw,
                    std::uint64_t stream);

 private:
  /// A field that the network reads. `head`: the head that predicts it; -1: none.
  struct Read {
    std::string field;
    Signal signal;
    int head;
    Index back;
    Field* rows = nullptr;
  };
  struct Target {
    std::string field;
    Signal signal;
    std::shared_ptr<const Loss<T>> loss;
    Field* rows = nullptr;
  };
  void write(Stepper<T>& stepper, Index sequence, Random random);
  void read_inputs(Stepper<T>& stepper, Index row) const;
  void sample(const Target& target, Matrix<const T> signal, Index row, Random& random);

  std::shared_ptr<const Plan> plan_;
  std::vector<Read> reads_;
  std::vector<Target> targets_;
  Team team_{1};
  Batch own_ = {};
  std::vector<T> values_;  // log-probabilities of symbols, or sampled numbers
};

}  // namespace unfold
