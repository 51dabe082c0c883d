#pragma once
/// Objectives of whole sequences that choose, for a batch, other sequences (or other trees over them) and what each of
/// their positions weighs. One idea serves all of them: the objective chooses sequences and weights, the pass computes
/// the gradient of the weighted sum of their log probabilities.
///
///   ChosenPass<float> pass(network, chooser, team);
///   double value = pass.gradient(batch, parameters, step, dropout_seed, scale, gradient, false);

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "unfold/data/batch.h"

namespace unfold {

/// d value / d parameters = sum over rows of weight * d (nats of the row) / d parameters.
struct ChosenBatch {
  Batch batch = {};                  ///< of whole chains
  std::vector<double> weights = {};  ///< one for each row; empty: nothing was chosen, and the gradient is 0
  double value = 0;                  ///< what is paid for the batch that was given, over all its sequences
};

template <class T>
class BatchChooser {
 public:
  virtual ~BatchChooser() = default;
  virtual std::string_view name() const = 0;  ///< the option that asks for it, for messages
  /// All rows of a sequence that is chosen weigh the same, so that losses may judge it as a whole.
  virtual bool weighs_whole_sequences() const { return false; }
  /// A function of the batch, the parameters and `draw`, whatever the team; what is chosen for a sequence does not
  /// depend on the others of the batch. The parameters are not kept.
  virtual void choose(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw, ChosenBatch& out) = 0;
  /// What is paid where nothing is learned; `scratch` is of no meaning afterwards.
  virtual double value(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw, ChosenBatch& scratch) {
    choose(batch, parameters, draw, scratch);
    return scratch.value;
  }
};

template <class T>
class ChosenPass {
 public:
  /// Refers to chooser and team. The network says the precision of the gradient. UsageError: a loss whose rows do not
  /// count each for itself.
  ChosenPass(const Network<T>& network, BatchChooser<T>& chooser, Team& team);

  std::string_view name() const { return chooser_.name(); }
  double value(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw);
  /// The same, and gradient = (with `accumulate` +=) scale * d value / d parameters. Dropout, where there is any, is
  /// that of the gradient alone: what is chosen, and the value, are without.
  double gradient(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw,
                  std::optional<std::uint64_t> dropout, double scale, std::span<T> gradient, bool accumulate);

 private:
  void seed(const Parameters<T>& parameters, double scale, std::span<T> gradient);

  Network<T> network_;
  BatchChooser<T>& chooser_;
  Team& team_;
  Unfolding<T> unfolding_;
  ChosenBatch chosen_;
  std::vector<T> nats_;
};

}  // namespace unfold
