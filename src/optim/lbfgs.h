#pragma once
/// L-BFGS and OWL-QN, for losses that are the same at every step: all data, no dropout.
///
///   auto optimizer = make_optimizer<double>("lbfgs:l2=2", parameters.size());
///
/// The objective is the loss with priors on the parameters p, in units of the nats of all N predicted symbols:
///
///   F(p) = loss(p) + (l2 / 2 |p|^2 + l1 |p|_1) / N
///
/// The direction is computed by the two-loop recursion over the last `history` steps and gradient changes (Nocedal
/// 1980; Liu & Nocedal 1989). The step length is the first length that satisfies the strong Wolfe conditions, f <= f_0
/// + 1e-4 t f'_0 and |f'| <= 0.9 |f'_0|, found by bracketing and quadratic interpolation. With l1 > 0 (Andrew & Gao
/// 2007), the direction is restricted to the orthant of the pseudo-gradient, lengths are halved, and parameters that
/// would cross 0 are set to 0; many parameters are therefore exactly 0.
///
/// The optimizer has converged when the gradient of N F is at most `tolerance` max(1, |p|), when the relative decrease
/// of F in ten steps is less than `change`, or when no length along the gradient itself decreases F.

#include "unfold/optim/optimizer.h"

namespace unfold {

struct LbfgsOptions {
  Index history = 6;
  double l2 = 0, l1 = 0;
  double tolerance = 1e-5, change = 1e-5;
  Index trials = 20;
  Index windows = 1;
};
template <class Visitor>
void describe(Visitor& v, LbfgsOptions& o) {
  v("history", o.history, "number of previous steps used for the direction", range(1, 100));
  v("l2", o.l2, "weight of half the squared parameters, added to the total nats of the data", at_least(0));
  v("l1", o.l1, "weight of the magnitudes of the parameters, added to the total nats of the data", at_least(0));
  v("tolerance", o.tolerance, "norm of the gradient relative to the parameters at which the run has converged",
    at_least(0));
  v("change", o.change, "relative decrease of the loss in ten steps below which the run has converged; 0: never",
    at_least(0));
  v("trials", o.trials, "maximum number of line search trials per step", range(1, 1000));
  v("windows", o.windows, "windows or batches per step", at_least(1));
}

template <class T>
std::unique_ptr<Optimizer<T>> lbfgs(Index parameters, const LbfgsOptions& options, std::string spec);

}  // namespace unfold
