#pragma once
/// Riemannian training (Ollivier 2015; docs/riemannian.md has every equation): the writing weights move along their
/// quasi-diagonal natural gradient, then the transition weights along M^-1 G with a matrix M for every unit, in turn,
/// each with its own rate. For every circuit of affine maps.
///
///   ruop    Phi = B^2, unit-wise outer product; with `draws` the mean square of B for random errors that have the
///           covariance of the Fisher matrix: the recurrent natural metric, unit by unit; with `own` the mean over
///           sequences that the model writes: the Fisher metric of whole sequences, unit by unit and step by step
///   rbpm    Phi = the backpropagated modulus, seeded with the Fisher matrix of the softmax
///   ascent  no metric: the mean gradient, for comparison under the same control
///
/// Control `backtracking` (for full batches): a step that raises the loss is undone, its rate halved, and tried again;
/// a step that does not is kept and its rate grows by a tenth. `fixed` (for mini-batches): every step is kept.

#include "unfold/optim/control.h"

namespace unfold {

enum class RiemannianMetric { ruop, rbpm, none };
enum class StepControl { backtracking, fixed };
enum class Reduction { full, quasi_diagonal };
enum class SequenceWeights { length, equal };

struct RiemannianOptions {
  RiemannianMetric metric = RiemannianMetric::ruop;  ///< set by the optimiser's name
  Reduction reduction = Reduction::full;
  StepControl control = StepControl::backtracking;
  double damping = 1;          ///< epsilon, added to the diagonal of M
  double writing_damping = 1;  ///< times the frequency of a symbol: added to the diagonal of its Hessian
  Index draws = 0;             ///< of ruop: random errors that B^2 is the mean of; 0: the error made
  Index own = 0;  ///< of ruop: sequences of the model's own that M is summed over, times those read; 0: those read
  SequenceWeights sequences = SequenceWeights::length;  ///< in the metric: as long as it is, or each as much
  double keep = 0;                                      ///< share of the old matrices that is kept from batch to batch
  bool average = false;                                 ///< each direction is the mean of the last two
};
template <class Visitor>
void describe(Visitor& v, RiemannianOptions& o) {
  v("control", o.control, "whether steps that raise the loss are undone",
    {{StepControl::backtracking, "backtracking"}, {StepControl::fixed, "fixed"}});
  if (o.metric != RiemannianMetric::none) {
    v("reduction", o.reduction, "of the matrix of every unit",
      {{Reduction::full, "full"}, {Reduction::quasi_diagonal, "quasi-diagonal"}});
    v("damping", o.damping, "added to the diagonal of the matrices of the units", at_least(0));
    v("writing-damping", o.writing_damping, "of the writing weights, times the frequency of each symbol", at_least(0));
    if (o.metric == RiemannianMetric::ruop)
      v("draws", o.draws,
        "measure with so many random errors of the model's own (the recurrent natural metric); 0: with the error made",
        at_least(0));
    if (o.metric == RiemannianMetric::ruop)
      v("own", o.own,
        "measure on sequences that the model writes itself, so many for each that is read (the Fisher metric of whole "
        "sequences); 0: on those that are read",
        at_least(0));
    v("sequences", o.sequences, "what a sequence counts in the metric: its length, or each the same",
      {{SequenceWeights::length, "length"}, {SequenceWeights::equal, "equal"}});
    v("keep", o.keep, "share of the matrices that is kept from batch to batch; 0 for full batches",
      from_to_below(0, 1));
  }
  v("average", o.average, "move along the mean of the last two directions");
}

/// The whole optimiser: it needs no Direction beside it. The rates start at rate / (number of units read by the
/// output), where `rate` is that of `step`. Throws UsageError for a network it does not fit, at the first step.
template <class T>
std::unique_ptr<Control<T>> riemannian_control(Index parameters, const RiemannianOptions& options);

}  // namespace unfold
