#pragma once
/// Directions convert a gradient to a parameter update. A direction transforms the gradient with its metric and its
/// state (such as momentum), and moves the parameters; the control decides the step length (step_control.h).

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "unfold/base/options/options.h"
#include "unfold/base/state_visitor.h"
#include "unfold/base/threads/team.h"

namespace unfold {

template <class T>
class Objective;
template <class T>
class Parameters;
template <class T>
class Resident;

template <class T>
class Direction {
 public:
  virtual ~Direction() = default;
  /// Called once, before the first step. Throws UsageError if the direction does not support the objective.
  virtual void attach(Objective<T>&) {}
  /// Called after the gradient and before `move`, with the current parameters: computes the metric from the circuit.
  virtual void prepare(Objective<T>&) {}
  /// parameters -= rate * d, where d is computed from `scale * gradient` and the state, which advances by one step.
  /// This takes one pass over memory, divided among the team; the result does not depend on the team size.
  virtual void move(Team& team, std::span<T> parameters, std::span<const T> gradient, double scale, double rate) = 0;
  /// Like `move`, but runs on the device that holds the parameters, with the last gradient computed there. REQUIRES
  /// can_update_on_device.
  virtual bool can_update_on_device() const { return false; }
  virtual void update_on_device(Resident<T>& /*there*/, Parameters<T>& /*parameters*/, double /*scale*/,
                                double /*rate*/) {}
  virtual void visit_state(StateVisitor<T>& visitor) = 0;
  /// Called after `attach`. If each number of the state belongs to one parameter, returns true and from then on keeps
  /// state only for `own` parameters; `move` is then called with these parameters.
  virtual bool keep_slices(Index /*own*/) { return false; }
};

/// Sgd: velocity = momentum * velocity + g; p -= rate * velocity (Polyak 1964), or Nesterov's look-ahead form (1983).
struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = false;
};
template <class Visitor>
void describe(Visitor& v, SgdOptions& o) {
  v("momentum", o.momentum, "share of the velocity that is kept", half_open_range(0, 1));
  v("nesterov", o.nesterov, "Nesterov momentum");
}

/// RMSProp: v = rho v + (1 - rho) g^2; p -= rate * g / (sqrt(v) + epsilon). Tieleman & Hinton 2012.
struct RmsPropOptions {
  double rho = 0.99, epsilon = 1e-8;
};
template <class Visitor>
void describe(Visitor& v, RmsPropOptions& o) {
  v("rho", o.rho, "share of the mean square that is kept", half_open_range(0, 1));
  v("epsilon", o.epsilon, "added to the root of the mean square", above(0));
}

/// Adam: moments m and v with bias correction; p -= rate * m' / (sqrt(v') + epsilon). Kingma & Ba 2015.
/// `decoupled` (adamw): weight decay acts on the parameters, not through the gradient. Loshchilov & Hutter 2019.
/// `lazy`: parameters whose gradient is exactly zero are skipped, including their moments. The cost of a large
/// embedding then depends only on the rows that a batch reads, and a symbol that occurs once is updated once, not again
/// by its moments in later steps.
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool lazy = false;
};
template <class Visitor>
void describe(Visitor& v, AdamOptions& o) {
  v("beta1", o.beta1, "share of the mean gradient that is kept", half_open_range(0, 1));
  v("beta2", o.beta2, "share of the mean square that is kept", half_open_range(0, 1));
  v("epsilon", o.epsilon, "added to the root of the mean square", above(0));
  v("lazy", o.lazy, "skip parameters whose gradient is zero, such as embedding rows that a batch does not read");
}

/// Path: divides the gradient by the path metric kappa (docs/path.md) of log gamma^2 and passes it to plain
/// descent, momentum or Adam. In coordinates in which the metric is one, q_i = p_i sqrt(kappa_i) / gamma, the gradient
/// is u_i = gamma g_i / sqrt(kappa_i). The direction is u_i; in each matrix and bias where it is longer than `clip`, it
/// is scaled down to this length. In terms of p this is gamma u_i / sqrt(kappa_i), which without clipping equals
/// gamma^2 g_i / kappa_i. If the share of the paths through a unit is less than `least` times the mean of its layer,
/// the kappa of its incoming weights is raised by that ratio, because the metric does not account for steps that change
/// incoming and outgoing weights at once. The direction is invariant to rescaling of units. Neyshabur, Wu,
/// Salakhutdinov & Srebro 2016, without gamma, `least` and clipping.
enum class PathKappa { first, both };
enum class PathOutputs { task, every, last };
struct PathMetricOptions {
  PathKappa kappa = PathKappa::first;
  PathOutputs outputs = PathOutputs::task;
  Index refresh = 4, length = 0;
  double least = 0.1;
};
template <class Visitor>
void describe(Visitor& v, PathMetricOptions& o) {
  v("kappa", o.kappa, "1: only the first term of the metric; both: also the second term, slow for many units",
    {{PathKappa::first, "1"}, {PathKappa::both, "both"}});
  v("outputs", o.outputs,
    "outputs in which paths end: at the positions with targets, at every step or at the last step",
    {{PathOutputs::task, "task"}, {PathOutputs::every, "every"}, {PathOutputs::last, "last"}});
  v("refresh", o.refresh, "steps from one computation of the metric to the next", at_least(1));
  v("length", o.length, "length of the paths in steps; 0: the length of the sequences that are read", at_least(0));
  v("least", o.least, "minimum share of the paths per unit, relative to the mean of its layer", range(0, 1));
}

/// Returns a direction for controls that do not use one.
template <class T>
std::unique_ptr<Direction<T>> no_direction();
/// `decay`: weight decay, added to the gradient as decay * p; for adamw: p -= rate * decay * p.
template <class T>
std::unique_ptr<Direction<T>> sgd_direction(Index parameters, const SgdOptions& options, double decay);
template <class T>
std::unique_ptr<Direction<T>> rmsprop_direction(Index parameters, const RmsPropOptions& options, double decay);
template <class T>
std::unique_ptr<Direction<T>> adam_direction(Index parameters, const AdamOptions& options, double decay,
                                             bool decoupled);
/// Wraps `inner`, which then moves along the normalized gradient.
template <class T>
std::unique_ptr<Direction<T>> path_direction(Index parameters, const PathMetricOptions& options, double clip,
                                             std::unique_ptr<Direction<T>> inner);

}  // namespace unfold
