#pragma once
/// Riemannian training (Ollivier 2015; docs/riemannian.md has all equations): the output weights move along their
/// quasi-diagonal natural gradient, then the transition weights along M^-1 G with a matrix M for every unit. The two
/// groups alternate and have separate learning rates. Supports every circuit of affine maps.
///
///   ruop    Phi = B^2, unit-wise outer product; with `draws` the mean square of B for random errors that have the
///           covariance of the Fisher matrix: the recurrent natural metric, unit by unit; with `own` the mean over
///           sequences sampled from the model: the Fisher metric of whole sequences, unit by unit and step by step
///   rbpm    Phi = the backpropagated modulus, seeded with the Fisher matrix of the softmax; with `own` over sequences
///           sampled from the model
///   ascent  no metric: the mean gradient, for comparison under the same control
///
/// Control `backtracking` (for full batches): a step that increases the loss is undone and retried with half the
/// learning rate; otherwise the step is kept and the learning rate grows by a tenth. `fixed` (for mini-batches): every
/// step is kept.

#include "unfold/optim/direction/step_control.h"

namespace unfold {

enum class RiemannianMetric { ruop, rbpm, none };
enum class StepControl { backtracking, fixed };
enum class Reduction { full, quasi_diagonal, diagonal };
enum class SequenceWeights { length, equal };

struct RiemannianOptions {
  RiemannianMetric metric = RiemannianMetric::ruop;  ///< set by the optimizer's name
  Reduction reduction = Reduction::full;
  StepControl control = StepControl::backtracking;
  double damping = 1;                             ///< epsilon, added to the diagonal of M
  Reduction writing = Reduction::quasi_diagonal;  ///< approximation of the matrix of the output weights, not diagonal
  double writing_damping = 1;  ///< multiplied by the frequency of a symbol, added to the diagonal of its Hessian
  Index draws = 0;             ///< ruop: number of random errors over which B^2 is averaged; 0: the actual error
  Index own = 0;               ///< sampled sequences per data sequence over which M is summed; 0: the data
  SequenceWeights sequences =
      SequenceWeights::length;  ///< weight of a sequence in the metric: its length, or the same weight for all
  double keep = 0;              ///< weight of earlier matrices in the running average over batches
  bool average = false;         ///< each direction is the mean of the last two
  double writing_factor = 1;    ///< learning rate of the output weights, relative to that of the transition weights
};
template <class Visitor>
void describe(Visitor& v, RiemannianOptions& o) {
  v("control", o.control, "whether steps that raise the loss are undone",
    {{StepControl::backtracking, "backtracking"}, {StepControl::fixed, "fixed"}});
  if (o.metric != RiemannianMetric::none) {
    v("reduction", o.reduction, "approximation of the matrix of each unit",
      {{Reduction::full, "full"}, {Reduction::quasi_diagonal, "quasi-diagonal"}, {Reduction::diagonal, "diagonal"}});
    v("damping", o.damping, "added to the diagonal of the matrices of the units", at_least(0));
    v("writing-damping", o.writing_damping, "damping of the output weights, multiplied by the frequency of each symbol",
      at_least(0));
    v("writing", o.writing,
      "matrix of the output weights: quasi-diagonal, or full for heads with at most 2,048 weights",
      {{Reduction::quasi_diagonal, "quasi-diagonal"}, {Reduction::full, "full"}});
    if (o.metric == RiemannianMetric::ruop)
      v("draws", o.draws, "number of random errors for the metric (the recurrent natural metric); 0: the actual error",
        at_least(0));
    v("own", o.own,
      "number of sampled sequences per data sequence for the metric (the Fisher metric of whole sequences); 0: the "
      "data",
      at_least(0));
    v("sequences", o.sequences, "weight of a sequence in the metric: its length, or the same for all",
      {{SequenceWeights::length, "length"}, {SequenceWeights::equal, "equal"}});
    v("keep", o.keep, "weight of the old matrices in the running average over batches; 0 for full batches",
      half_open_range(0, 1));
  }
  v("average", o.average, "move along the mean of the last two directions");
  v("writing-factor", o.writing_factor,
    "learning rate of the output weights, relative to rate; with control=backtracking only its initial value",
    above(0));
}

/// Returns the complete optimizer, which needs no Direction. The learning rates start at rate / (number of units read
/// by the output), where `rate` is the argument of `step`. The first step throws UsageError for an unsupported network.
template <class T>
std::unique_ptr<Control<T>> riemannian_control(Index parameters, const RiemannianOptions& options);

}  // namespace unfold
