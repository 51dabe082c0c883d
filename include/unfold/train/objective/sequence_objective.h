#pragma once
/// Sequence-level objectives. For each batch, such an objective selects sequences (or trees over the sequences of the
/// batch) and a weight for each of their positions; the pass computes the gradient of the weighted sum of their
/// log-probabilities.
///
///   SequenceObjectivePass<float> pass(network, chooser, team);
///   double value = pass.gradient(batch, parameters, step, dropout_seed, scale, gradient, false);

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "unfold/data/text/batch.h"

namespace unfold {

/// d value / d parameters = sum over rows of weight * d (nats of the row) / d parameters.
struct WeightedSequences {
  Batch batch = {};                  ///< batch of whole chains
  std::vector<double> weights = {};  ///< one weight per row; empty: nothing was selected, and the gradient is 0
  double value = 0;                  ///< value of the objective for the given batch, summed over its sequences
};

template <class T>
class BatchChooser {
 public:
  virtual ~BatchChooser() = default;
  virtual std::string_view name() const = 0;  ///< the option that selects the objective, for messages
  /// Returns whether all rows of a selected sequence have the same weight; losses over whole sequences are then
  /// supported.
  virtual bool weighs_whole_sequences() const { return false; }
  /// The selection is a function of the batch, the parameters and `draw`, independent of the team. The selection for a
  /// sequence does not depend on the other sequences of the batch. Does not keep a reference to the parameters.
  virtual void choose(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw,
                      WeightedSequences& out) = 0;
  /// Returns the value of the objective for evaluation; the contents of `scratch` are unspecified afterwards.
  virtual double value(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw,
                       WeightedSequences& scratch) {
    choose(batch, parameters, draw, scratch);
    return scratch.value;
  }
};

template <class T>
class SequenceObjectivePass {
 public:
  /// Keeps references to chooser and team. The network defines the precision of the gradient. Throws UsageError for a
  /// loss with dependent rows.
  SequenceObjectivePass(const Network<T>& network, BatchChooser<T>& chooser, Team& team);

  std::string_view name() const { return chooser_.name(); }
  double value(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw);
  /// Like `value`; in addition sets (with `accumulate`: adds to) gradient = scale * d value / d parameters. Dropout
  /// applies only to the gradient; the selection and the value are computed without it.
  double gradient(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw,
                  std::optional<std::uint64_t> dropout, double scale, std::span<T> gradient, bool accumulate);

 private:
  void seed(const Parameters<T>& parameters, double scale, std::span<T> gradient);

  Network<T> network_;
  BatchChooser<T>& chooser_;
  Team& team_;
  Unfolding<T> unfolding_;
  WeightedSequences chosen_;
  std::vector<T> nats_;
};

}  // namespace unfold
