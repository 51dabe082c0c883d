#pragma once
/// Hessian-free optimisation and the natural gradient: the same direction, a linear system with the Gauss-Newton matrix
/// solved by conjugate gradients, under two controls. Martens 2010; Martens & Sutskever 2011; docs/hessian-free.md.

#include <vector>

#include "unfold/optim/conjugate_gradient.h"
#include "unfold/optim/optimizer.h"

namespace unfold {

/// The direction: (G + lambda (I / P + mu S)) d = -g, P predicted symbols of a sequence: I weighs against nats of a
/// sequence, however many of its symbols are predicted.
struct NewtonOptions {
  Index windows = 16;        ///< of a step: gradient and losses
  double curvature = 0.125;  ///< share of them for curvature products
  double lambda = 0.03;      ///< damping; of hf: at the start and, while steps are found, at most
  double structural = 1;     ///< mu
  Distance distance = Distance::matching;
  Index iterations = 50;
  double tolerance = 5e-4;
  double warm = 0.95;  ///< share of the last solution that conjugate gradients start from
  Index probes = 8;    ///< random vectors from which the preconditioner is estimated; 0: none
};
template <class Visitor>
void describe(Visitor& v, NewtonOptions& o) {
  v("windows", o.windows, "windows of a step", at_least(1));
  v("curvature", o.curvature, "share of the windows for products with the curvature", range(0, 1));
  v("lambda", o.lambda, "damping (hf: at the start, and at most)", above(0));
  v("structural", o.structural, "structural damping, times lambda; 0: none", at_least(0));
  v("distance", o.distance, "of structural damping, between activities",
    {{Distance::matching, "matching"}, {Distance::squared, "squared"}});
  v("iterations", o.iterations, "of conjugate gradients, at most", at_least(1));
  v("tolerance", o.tolerance, "progress per iteration at which conjugate gradients stop", at_least(0));
  v("warm", o.warm, "share of the last solution to start from", range(0, 1));
  v("probes", o.probes, "random vectors for the preconditioner; 0: none", at_least(0));
}

/// hf: `refuse` and `reset` follow the text to the letter (docs/hessian-free.md compares).
struct HessianFreeOptions {
  NewtonOptions newton;
  bool refuse = false;  ///< a step with rho < 1/4 is not taken: lambda rises and the system is solved again
  bool reset = false;   ///< every step begins with the first lambda
};
template <class Visitor>
void describe(Visitor& v, HessianFreeOptions& o) {
  describe(v, o.newton);
  v("refuse", o.refuse, "take no step with rho < 1/4, but solve again with more damping; no line search");
  v("reset", o.reset, "begin every step with the first damping");
}

struct NaturalOptions {
  double rate = 0.5;
  NewtonOptions newton = {.lambda = 0.1, .structural = 0, .iterations = 30};
  ScheduleOptions schedule;
};
template <class Visitor>
void describe(Visitor& v, NaturalOptions& o) {
  v("rate", o.rate, "step size", above(0));
  describe(v, o.newton);
  describe(v, o.schedule);
}

/// Solves for the direction. Preconditioner (diag(G + lambda mu S) + lambda)^0.75, the diagonal estimated from random
/// vectors (curvature.h); Martens takes the sum of squared gradients of single cases in its place.
template <class T>
class NewtonDirection {
 public:
  NewtonDirection(Index parameters, const NewtonOptions& options);
  /// REQUIRES Objective::gradient of this batch, which is given. The last iterate is where the next solution starts.
  CgResult<T> solve(Objective<T>& objective, std::span<const T> gradient, double lambda);
  void visit_state(StateVisitor<T>& visitor);

 private:
  NewtonOptions options_;
  Buffer<T> last_, start_, right_side_, preconditioner_, sample_;
  double solved_ = 0;  // systems so far: the seed of the random vectors
};

/// lambda by the rule of Levenberg and Marquardt: rho > 3/4: times 2/3; rho < 1/4, or no number: times 3/2.
double next_damping(double lambda, double rho);

/// hf: takes the iterate with the lowest loss, going back from the last one while the loss falls or is still above that
/// of the start; then a line search that goes back to the first length with f <= f_0 + 0.01 length g'd; no step where
/// there is none. rho is that of the last iterate, where q is least: it is what the damping has to make true. Lambda
/// rises above its start only where no step was found: under a curriculum every longer stage makes some steps fail, and
/// a damping that has risen for them keeps the net where short sequences have put it. `factor` of the trainer raises
/// the damping: a run that diverged goes on with lambda / factor. With `refuse` the last iterate is taken, or after 20
/// systems without rho >= 1/4 nothing.
template <class T>
std::unique_ptr<Optimizer<T>> hessian_free(Index parameters, const HessianFreeOptions& options, std::string spec);

/// natural: p += rate d with fixed lambda. The Fisher matrix of the outputs is their Gauss-Newton matrix for the
/// losses here (softmax, Bernoulli, Gaussian, Poisson).
template <class T>
std::unique_ptr<Optimizer<T>> natural_gradient(Index parameters, const NaturalOptions& options, std::string spec);

}  // namespace unfold
