#pragma once
/// Internal: how a training run survives: snapshots that a diverged run goes back to, with a lower rate, and
/// checkpoints that an interrupted one goes on from.

#include <span>
#include <string>

#include "unfold/training/run.h"

namespace unfold {

template <class T>
class Recovery {
 public:
  /// `configuration`: of the sources; what must be the same when a run is resumed. `run` is referred to.
  Recovery(Run<T>& run, const nlohmann::json& configuration);

  /// Of several processes: whether all are about to do the same. UsageError naming the first difference.
  void require_same_run() const;
  /// Keeps the present state as the last good one.
  void start() { capture(last_good_); }
  /// Goes on from the checkpoint. Throws as read_checkpoint.
  void resume();

  /// Before a step that takes long: keeps the present state, so that the step can be broken off.
  void keep_start_of_step() {
    if (!run_.options.checkpoint.empty()) capture(start_of_step_);
  }

  /// Told the loss, and the norm of the gradient if there is one, before the parameters of a step move: keeps a
  /// snapshot of where the step began, when one is due. False: the loss is not to be believed.
  bool entered(double loss, const typename BatchObjective<T>::Norm& norm);
  /// A step may leave weights that are not finite, and that neither its batch nor a validation reads: goes back as
  /// from a divergence, and is false then.
  bool parameters_are_finite();
  /// What went wrong in the present step.
  std::string explain(const StepReport& report);
  /// Back to the last good state, with a lower rate. Throws DivergedError when that has been tried often enough.
  void roll_back(const std::string& cause);

  /// Writes the last snapshot to the checkpoint, when that is due: a resumed run has then the same snapshot to go back
  /// to. Whether it was.
  bool write_if_due();
  /// Keeps and writes the present state, at the end of a run.
  void finish();
  /// Writes the present state and throws InterruptedError.
  [[noreturn]] void interrupt();
  /// The same with the state at the start of the step that was broken off. REQUIRES keep_start_of_step.
  [[noreturn]] void interrupt_step() { interrupt(start_of_step_); }

 private:
  /// A parameter by name and place.
  std::string name_of(Index parameter) const;
  using Tensors = std::vector<std::pair<std::string, Buffer<T>>>;
  /// By all processes: the state of an optimiser that each has for its slices, whole in the first; empty in the others.
  Tensors gather_slices(const Tensors& slices) const;
  /// Back to the slices of this process.
  void take_slices(Tensors& whole) const;
  void capture(Snapshot<T>& s);
  void restore(const Snapshot<T>& s);
  bool is_due() const;
  void write(Snapshot<T>& s, Snapshot<T>* rollback);
  void gather_carried(State<T>& carried) const;
  [[noreturn]] void interrupt(Snapshot<T>& present);

  Run<T>& run_;
  JsonBox configuration_;
  Snapshot<T> last_good_, start_of_step_;
  double uniform_loss_;
  Index snapshot_interval_, written_step_ = -1;
  double checkpoint_mark_ = 0;
};

}  // namespace unfold
