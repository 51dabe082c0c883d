#pragma once
/// An optimizer: a direction, a control and a schedule, created from a SPEC such as
/// `adam:rate=0.002,clip=1,schedule=cosine`. The registry is an explicit list of entries, each of which describes its
/// options.
///
///   auto optimizer = make_optimizer<float>("adam:rate=0.002,clip=1", parameters.size());
///   optimizer->attach(objective);
///   StepReport report = optimizer->step(objective, {.step = step, .fraction = fraction}, 1);

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options/registry.h"
#include "unfold/optim/direction/step_control.h"
#include "unfold/optim/schedule.h"

namespace unfold {

/// Options common to all optimizers.
struct CommonOptions {
  double rate = 0;  ///< each optimizer has a different default
  double clip = 0;
  double decay = 0;
};
template <class Visitor>
void describe(Visitor& v, CommonOptions& o) {
  v("rate", o.rate, "step size", above(0));
  v("clip", o.clip, "largest norm of the gradient over all parameters; 0: no limit", at_least(0));
  v("decay", o.decay, "weight decay", at_least(0));
}

template <class T>
class Optimizer {
 public:
  Optimizer(std::unique_ptr<Direction<T>> direction, std::unique_ptr<Control<T>> control, const CommonOptions& common,
            const ScheduleOptions& schedule, std::string spec);
  virtual ~Optimizer() = default;

  /// Must be called once, before the first step and before `visit_state`. Throws UsageError if the optimizer does not
  /// support the objective.
  void attach(Objective<T>& objective);
  /// `factor` is applied in addition to the schedule: halvings on a plateau and after a divergence. Throws UsageError
  /// before `attach`, and for an objective with a different number of parameters.
  StepReport step(Objective<T>& objective, const Progress& progress, double factor);
  /// Visits all state that a checkpoint must contain. Throws UsageError before `attach`.
  void visit_state(StateVisitor<T>& visitor);
  /// After `attach`: returns whether every visited vector contains only the concatenated slices of this process
  /// (Objective::slices) instead of an entry for each parameter.
  bool in_slices() const { return in_slices_; }
  /// Returns the parameters to be evaluated and saved if they differ from the parameters that are updated; otherwise
  /// empty.
  virtual std::span<const T> average() const { return {}; }
  /// Called after every validation with its loss.
  virtual void judged(double /*nats*/) {}
  virtual Index batches() const { return 1; }    ///< number of data batches per step
  virtual Index gradients() const { return 1; }  ///< approximate cost of a step, in gradients of one batch

  const ScheduleOptions& schedule() const { return schedule_; }
  double rate() const { return rate_; }
  const std::string& spec() const { return spec_; }  ///< canonical form with every option

 protected:
  /// Implementations of `step` and `visit_state`, called after the order of calls has been checked.
  virtual StepReport take_step(Objective<T>& objective, const Progress& progress, double factor);
  virtual void visit(StateVisitor<T>& visitor);
  /// Returns whether only the direction and the control have state per parameter; a process can then keep only a slice
  /// of this state.
  virtual bool may_keep_slices() const { return true; }

 private:
  std::unique_ptr<Direction<T>> direction_;
  std::unique_ptr<Control<T>> control_;
  double rate_;
  ScheduleOptions schedule_;
  std::string spec_;
  bool in_slices_ = false;
  Index attached_ = -1;  // number of parameters of the attached objective
};

/// Throws UsageError for an unknown optimizer or option (suggesting the nearest name) and for a value out of range.
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(std::string_view spec, Index parameters);

/// Checks a SPEC and returns it with every option set. Throws like make_optimizer.
std::string canonical_optimizer(std::string_view spec);
/// Like canonical_optimizer, for a SPEC stored by an earlier version: options added since then get their defaults. A
/// SPEC that cannot be parsed is returned unchanged.
std::string canonical_stored_optimizer(const std::string& spec);
/// Returns whether the optimizer accepts a step only if the loss of all data did not increase. Late in training, this
/// depends on the last digits of a float. Throws like make_optimizer.
bool compares_losses(std::string_view spec);

/// Returns whether every step should use the complete data. Throws like make_optimizer.
bool needs_full_batch(std::string_view spec);

using OptimizerHelp = EntryHelp;
/// Returns all optimizers, for help texts.
std::vector<OptimizerHelp> optimizers();

}  // namespace unfold
