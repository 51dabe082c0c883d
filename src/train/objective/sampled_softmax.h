#pragma once
/// Sampled softmax: computes the training gradient for a large vocabulary from a subset of it; evaluation uses the full
/// vocabulary.
///
/// Of the V symbols, only C candidates get a logit z in a batch: the T target symbols of the batch and C - T other
/// symbols, drawn uniformly without replacement. Each drawn symbol represents (V - T) / (C - T) symbols:
///   Z' = sum_predicted exp(z) + (V - T) / (C - T) sum_drawn exp(z),   loss = log Z' - z_target
/// The expectation of Z' is Z (Horvitz & Thompson 1952). The gradient is exactly the gradient of the estimated loss.
/// Because the logarithm is concave, the estimated loss is too low on average, by about half the relative variance of
/// Z'. With C = V it is the full softmax. For sampling the normalizer, see Bengio & Senecal 2003.
///
/// The circuit with C outputs is an ordinary circuit: its output weights are columns of the full weights, log((V - T) /
/// (C - T)) is added to the biases of the drawn symbols, and its gradient is scattered back to the original columns.
/// The head takes C / V of the time of the full head, plus the time for copying parameters.

#include <algorithm>
#include <span>
#include <vector>

#include "unfold/train/passes/batch_pass.h"

namespace unfold {

/// The candidates of a batch.
struct Candidates {
  std::vector<Symbol> symbols;  ///< the target symbols in ascending order, then the drawn symbols
  Index predicted = 0;          ///< number of target symbols
  double each_drawn_counts = 1;

  /// Draws candidates as a function of the targets, V = `alphabet`, C = `count`, the seed and the number of the batch.
  /// Throws UsageError if `count` leaves no symbol to draw.
  static Candidates draw(std::span<const Symbol> targets, Index alphabet, Index count, std::uint64_t seed, Index batch);
};

template <class T>
class SampledSoftmax {
 public:
  /// `network.fewer_outputs` has the same parameters in the same order, but C output columns. Keeps a reference to the
  /// full parameters.
  SampledSoftmax(const Network<T>& network, const Parameters<T>& parameters, std::uint64_t seed, Team& team,
                 std::size_t memory_limit = 0);

  void set_parameters(const Parameters<T>& parameters) { full_ = &parameters; }
  void set_dropout_seed(std::uint64_t seed) { pass_.set_dropout_seed(seed); }
  /// Like BatchPass::gradient, for the estimated loss; the batch `number` determines the drawn symbols.
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
  std::vector<int> output_;  // parameters whose columns belong to symbols; the last parameter is the bias
  BatchPass<T> pass_;
  Buffer<T> few_gradient_;
  std::vector<Symbol> place_;  // index of each symbol among the candidates
  Batch batch_;
};

}  // namespace unfold
