#pragma once
/// Hessian-free optimization and the natural gradient: both solve a linear system with the Gauss-Newton matrix by
/// conjugate gradients, but they control the step differently. Martens 2010; Martens & Sutskever 2011;
/// docs/hessian-free.md.

#include <functional>
#include <vector>

#include "optim/direction/conjugate_gradient.h"
#include "unfold/optim/optimizer.h"

namespace unfold {

/// The direction d solves (G + lambda (I / P + mu S)) d = -g, where P is the number of predicted symbols per sequence.
/// I is thus weighed against the nats of a sequence, independently of the number of its predicted symbols.
struct NewtonOptions {
  Index windows = 16;        ///< number of windows per step, for gradient and losses
  double curvature = 0.125;  ///< fraction of the windows used for curvature products
  double lambda = 0.03;      ///< damping; for hf, the initial value and, while steps are found, the maximum
  double structural = 1;     ///< mu
  Distance distance = Distance::matching;
  Index iterations = 50;
  double tolerance = 5e-4;
  double warm = 0.95;  ///< fraction of the previous solution from which conjugate gradients start
  Index probes = 8;    ///< number of random vectors for estimating the preconditioner; 0: no preconditioner
};
template <class Visitor>
void describe(Visitor& v, NewtonOptions& o) {
  v("windows", o.windows, "windows per step", at_least(1));
  v("curvature", o.curvature, "share of the windows that is used for curvature-vector products", range(0, 1));
  v("lambda", o.lambda, "damping (hf: its initial and maximum value)", above(0));
  v("structural", o.structural, "structural damping, times lambda; 0: none", at_least(0));
  v("distance", o.distance, "distance between activations for structural damping",
    {{Distance::matching, "matching"}, {Distance::squared, "squared"}});
  v("iterations", o.iterations, "maximum number of conjugate gradient iterations", at_least(1));
  v("tolerance", o.tolerance, "progress per iteration at which conjugate gradients stop", at_least(0));
  v("warm", o.warm, "fraction of the last solution from which the next one starts", range(0, 1));
  v("probes", o.probes, "random vectors for the preconditioner; 0: none", at_least(0));
}

/// When the damping is adapted: after a solution of the system, or after every iteration of conjugate gradients.
enum class Adaptation { system, iteration };

/// hf: `refuse` and `reset` follow the paper exactly (docs/hessian-free.md compares the variants).
struct HessianFreeOptions {
  NewtonOptions newton;
  bool refuse = false;  ///< a step with rho < 1/4 is rejected: lambda is increased and the system is solved again
  bool reset = false;   ///< every step starts with the initial lambda
  Adaptation adapt = Adaptation::system;
};
template <class Visitor>
void describe(Visitor& v, HessianFreeOptions& o) {
  describe(v, o.newton);
  v("refuse", o.refuse, "reject steps with rho < 1/4 and solve again with more damping; no line search");
  v("reset", o.reset, "start every step with the initial damping");
  v("adapt", o.adapt,
    "adapt the damping once per solution, or after every iteration of conjugate gradients, each of which is checked "
    "and may be rejected",
    {{Adaptation::system, "system"}, {Adaptation::iteration, "iteration"}});
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

/// Result of conjugate gradients whose iterations are checked one by one.
template <class T>
struct CheckedSolution {
  Buffer<T> x;
  double lambda, loss;  ///< after the last iteration
  double ratio = 0;     ///< rho of the last iteration
  Index iterations = 0, accepted = 0;
};

/// Solves for the direction. The preconditioner is (diag(G + lambda mu S) + lambda)^0.75, with the diagonal estimated
/// from random vectors (curvature.h); Martens uses the sum of squared per-case gradients instead.
template <class T>
class NewtonDirection {
 public:
  NewtonDirection(Index parameters, const NewtonOptions& options);
  /// REQUIRES a preceding Objective::gradient of this batch, whose result is passed in. The next solution starts from
  /// the last iterate.
  CgResult<T> solve(Objective<T>& objective, std::span<const T> gradient, double lambda);
  /// Checks every iteration from x to x + dx, starting with x = 0: rho = (change of the loss) / (change of q). The
  /// iteration is taken if rho >= 1/4, and lambda is adapted by `next_damping`. If lambda changes, the system changes,
  /// and conjugate gradients start again from x. `loss_at(x)` is the loss at the parameters moved by x.
  CheckedSolution<T> solve_checked(Objective<T>& objective, std::span<const T> gradient, double lambda, double loss,
                                   const std::function<double(const Buffer<T>&)>& loss_at);
  void visit_state(StateVisitor<T>& visitor);

 private:
  void prepare(Objective<T>& objective, double lambda);
  /// result = (G + lambda (I / P + mu S)) v
  void multiply(Objective<T>& objective, double lambda, std::span<const T> v, std::span<T> result) const;

  NewtonOptions options_;
  Buffer<T> last_, start_, right_side_, preconditioner_, sample_;
  double solved_ = 0;  // number of systems solved: the seed of the random vectors
};

/// Levenberg-Marquardt rule for lambda: multiplied by 2/3 if rho > 3/4, and by 3/2 if rho < 1/4 or NaN.
double next_damping(double lambda, double rho);

/// hf: selects the iterate with the lowest loss, going back from the last iterate while the loss decreases or exceeds
/// the loss at the start. A backtracking line search then finds the first length with f <= f_0 + 0.01 length g'd; if no
/// length qualifies, no step is taken. rho is computed for the last iterate, where q is smallest, because the damping
/// must make this ratio accurate. Lambda exceeds its initial value only after failed steps. (In a curriculum, every
/// increase in length makes some steps fail; permanently higher damping would keep the network at its solution for
/// short sequences.) The trainer's `factor` increases the damping: after a divergence the run continues with lambda /
/// factor. With `refuse`, the last iterate is taken; if 20 systems do not reach rho >= 1/4, no step is taken.
template <class T>
std::unique_ptr<Optimizer<T>> hessian_free(Index parameters, const HessianFreeOptions& options, std::string spec);

/// natural: p += rate d with fixed lambda. For the supported losses (softmax, Bernoulli, Gaussian, Poisson), the Fisher
/// matrix of the outputs equals the Gauss-Newton matrix.
template <class T>
std::unique_ptr<Optimizer<T>> natural_gradient(Index parameters, const NaturalOptions& options, std::string spec);

}  // namespace unfold
