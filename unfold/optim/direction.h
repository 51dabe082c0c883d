#pragma once
/// Directions: where to go. A direction turns a gradient by its metric and memory, and moves the parameters along it;
/// how far is the control's decision (control.h).

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "unfold/base/options.h"
#include "unfold/base/state_visitor.h"
#include "unfold/base/team.h"

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
  /// Called once, before the first step: throws UsageError when the direction does not fit what is trained.
  virtual void attach(Objective<T>&) {}
  /// Called after the gradient and before `move`, with the present parameters: what a metric reads from the circuit.
  virtual void prepare(Objective<T>&) {}
  /// parameters -= rate * d, where d is made from `scale * gradient` and the memory, which advances by one step.
  /// One pass over memory, divided over the team; the result does not depend on its size.
  virtual void move(Team& team, std::span<T> parameters, std::span<const T> gradient, double scale, double rate) = 0;
  /// The same where the parameters are (engine/backend.h), along the last gradient there. REQUIRES can_move_there.
  virtual bool can_move_there() const { return false; }
  virtual void move_there(Resident<T>& /*there*/, Parameters<T>& /*parameters*/, double /*scale*/, double /*rate*/) {}
  virtual void visit_state(StateVisitor<T>& visitor) = 0;
  /// After `attach`: whether each number of the state belongs to one parameter. Then it is kept for so many from now
  /// on, which `move` gets in the place of all.
  virtual bool keep_slices(Index /*own*/) { return false; }
};

/// Sgd: velocity = momentum * velocity + g; p -= rate * velocity (Polyak 1964), or the look-ahead form of Nesterov
/// (1983).
struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = false;
};
template <class Visitor>
void describe(Visitor& v, SgdOptions& o) {
  v("momentum", o.momentum, "share of the velocity that is kept", from_to_below(0, 1));
  v("nesterov", o.nesterov, "look ahead along the velocity");
}

/// RMSProp: v = rho v + (1 - rho) g^2; p -= rate * g / (sqrt(v) + epsilon). Tieleman & Hinton 2012.
struct RmsPropOptions {
  double rho = 0.99, epsilon = 1e-8;
};
template <class Visitor>
void describe(Visitor& v, RmsPropOptions& o) {
  v("rho", o.rho, "share of the mean square that is kept", from_to_below(0, 1));
  v("epsilon", o.epsilon, "added to the root of the mean square", above(0));
}

/// Adam: moments m and v with bias correction; p -= rate * m' / (sqrt(v') + epsilon). Kingma & Ba 2015.
/// `decoupled` (adamw): weight decay acts on the parameters, not through the gradient. Loshchilov & Hutter 2019.
/// `lazy`: parameters whose gradient is exactly zero wait, moments and all. An embedding of many symbols then costs
/// what a batch reads of it, and a symbol seen once moves once, not again with what its moments keep for the next
/// steps.
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool lazy = false;
};
template <class Visitor>
void describe(Visitor& v, AdamOptions& o) {
  v("beta1", o.beta1, "share of the mean gradient that is kept", from_to_below(0, 1));
  v("beta2", o.beta2, "share of the mean square that is kept", from_to_below(0, 1));
  v("epsilon", o.epsilon, "added to the root of the mean square", above(0));
  v("lazy", o.lazy, "parameters whose gradient is zero wait, as rows of embeddings that a batch does not read");
}

/// Path: the gradient divided by the path metric kappa (engine/path_pass.h) of log gamma^2, then given to plain
/// descent, momentum or Adam. In coordinates where the metric is one, q_i = p_i sqrt(kappa_i) / gamma, the gradient is
/// u_i = gamma g_i / sqrt(kappa_i), and the direction is u_i, in each matrix and bias scaled down to a length of `clip`
/// where it is longer: back in p, gamma u_i / sqrt(kappa_i), which is gamma^2 g_i / kappa_i without a bound. Where
/// fewer paths than `least` of the mean of its layer pass a unit, kappa of what enters it is raised by that ratio: the
/// metric knows no step that changes it and what leaves it at once. Nothing here changes when units are rescaled.
/// Neyshabur, Wu, Salakhutdinov & Srebro 2016, who have neither gamma nor `least` nor a bound.
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
  v("kappa", o.kappa, "1: the first term of the metric; both: with the second, slow for many units",
    {{PathKappa::first, "1"}, {PathKappa::both, "both"}});
  v("outputs", o.outputs, "outputs that paths end in: where the task predicts, at every step or at the last",
    {{PathOutputs::task, "task"}, {PathOutputs::every, "every"}, {PathOutputs::last, "last"}});
  v("refresh", o.refresh, "steps from one computation of the metric to the next", at_least(1));
  v("length", o.length, "steps of the paths; 0: of the sequences that are read", at_least(0));
  v("least", o.least, "least share of the paths that a unit counts with, against the mean of its layer", range(0, 1));
}

/// For controls that need none.
template <class T>
std::unique_ptr<Direction<T>> no_direction();
/// `decay`: weight decay; added to the gradient as decay * p, except for adamw: p -= rate * decay * p.
template <class T>
std::unique_ptr<Direction<T>> sgd_direction(Index parameters, const SgdOptions& options, double decay);
template <class T>
std::unique_ptr<Direction<T>> rmsprop_direction(Index parameters, const RmsPropOptions& options, double decay);
template <class T>
std::unique_ptr<Direction<T>> adam_direction(Index parameters, const AdamOptions& options, double decay,
                                             bool decoupled);
/// `inner` moves along the normalised gradient.
template <class T>
std::unique_ptr<Direction<T>> path_direction(Index parameters, const PathMetricOptions& options, double clip,
                                             std::unique_ptr<Direction<T>> inner);

}  // namespace unfold
