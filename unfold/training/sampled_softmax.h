#pragma once
/// Sampled softmax: the gradient over a large vocabulary from a part of it, for training; evaluation reads it all.
///
/// Of the V symbols only C candidates get a logit z in a batch: the T symbols that are to be predicted there, and C -
/// T others drawn evenly without replacement. Each of these stands for (V - T) / (C - T) of its kind:
///   Z' = sum_predicted exp(z) + (V - T) / (C - T) sum_drawn exp(z),   loss = log Z' - z_target
/// so that E Z' = Z (Horvitz & Thompson 1952). The gradient is that of the estimated loss, exactly; since the logarithm
/// is concave, the estimated loss is too low on average, by about half the relative variance of Z'. With C = V it is
/// the softmax itself. Sampling the normaliser: Bengio & Senecal 2003.
///
/// The circuit with C outputs is an ordinary one: its output weights are columns of the full ones, log((V - T) / (C -
/// T)) is added to the biases of what was drawn, and its gradient goes back to where the columns came from. Cost of the
/// head: C / V of the full one, and copies of the parameters.

#include <algorithm>
#include <span>
#include <vector>

#include "unfold/optim/batch_pass.h"

namespace unfold {

/// What was drawn for a batch.
struct Candidates {
  std::vector<Symbol> symbols;  ///< the predicted ones, ascending, then the drawn ones
  Index predicted = 0;          ///< how many of them are predicted
  double each_drawn_counts = 1;

  /// A function of the targets, V = `alphabet`, C = `count`, the seed and the number of the batch.
  /// UsageError: fewer than one could be drawn.
  static Candidates draw(std::span<const Symbol> targets, Index alphabet, Index count, std::uint64_t seed, Index batch);
};

template <class T>
class SampledSoftmax {
 public:
  /// `network.fewer_outputs` has the same parameters in the same order, but C output columns. The full parameters are
  /// referred to.
  SampledSoftmax(const Network<T>& network, const Parameters<T>& parameters, std::uint64_t seed, Team& team,
                 std::size_t memory_limit = 0);

  void set_parameters(const Parameters<T>& parameters) { full_ = &parameters; }
  void set_dropout_seed(std::uint64_t seed) { pass_.set_dropout_seed(seed); }
  /// As BatchPass::gradient, of the estimated loss; `number` of the batch chooses what is drawn.
  double gradient(const Batch& batch, State<T>& state, Index number, double scale, std::span<T> gradient,
                  bool accumulate);

 private:
  void gather(const Candidates& candidates);
  void scatter(const Candidates& candidates, std::span<T> gradient, bool accumulate);
  bool is_output(int parameter) const { return std::find(output_.begin(), output_.end(), parameter) != output_.end(); }
  static std::size_t index(Index i) { return static_cast<std::size_t>(i); }

  const Parameters<T>* full_;
  Parameters<T> few_;
  Team& team_;
  std::uint64_t seed_;
  std::string field_;
  Index alphabet_, count_;
  std::vector<int> output_;  // parameters whose columns belong to symbols; the last one is the bias
  BatchPass<T> pass_;
  Buffer<T> few_gradient_;
  std::vector<Symbol> place_;  // of each symbol among the candidates
  Batch batch_;
};

}  // namespace unfold
