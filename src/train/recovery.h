#pragma once
/// Internal: recovery of a training run: snapshots for rolling back a diverged run with a lower learning rate, and
/// checkpoints for resuming an interrupted run.

#include <span>
#include <string>

#include "train/run_context.h"

namespace unfold {

template <class T>
class Recovery {
 public:
  /// `configuration`: settings of the sources that must not change when a run is resumed. Keeps a reference to `run`.
  Recovery(Run<T>& run, const nlohmann::json& configuration);

  /// With several processes, checks that all are about to perform the same run. Throws a UsageError that names the
  /// first difference.
  void require_same_run() const;
  /// Stores the current state as the last good state.
  void start() { capture(last_good_); }
  /// Resumes from the checkpoint. Throws the same exceptions as read_checkpoint.
  void resume();

  /// Called before a long step: stores the current state so that the step can be interrupted.
  void keep_start_of_step() {
    if (!run_.options.checkpoint.empty()) capture(start_of_step_);
  }

  /// Called with the loss and, if available, the gradient norm before a step changes the parameters. Stores a snapshot
  /// of the start of the step if one is due. Returns false if the loss indicates divergence.
  bool entered(double loss, const typename BatchObjective<T>::Norm& norm);
  /// Returns whether all parameters are finite. If not, rolls back as after a divergence. (A step can produce
  /// non-finite weights that neither its batch nor a validation pass reads.)
  bool parameters_are_finite();
  /// Describes what went wrong in the current step.
  std::string explain(const StepReport& report);
  /// Rolls back to the last good state, with a lower learning rate. Throws DivergedError after too many attempts.
  void roll_back(const std::string& cause);

  /// Writes the last snapshot to the checkpoint if this is due, so that a resumed run can roll back to the same
  /// snapshot. Returns whether it was written.
  bool write_if_due();
  /// Stores and writes the current state at the end of a run.
  void finish();
  /// Writes the current state and throws InterruptedError.
  [[noreturn]] void interrupt();
  /// Like the function above, with the state at the start of the interrupted step. REQUIRES keep_start_of_step.
  [[noreturn]] void interrupt_from_start_of_step() { interrupt(start_of_step_); }

 private:
  /// Returns the name and the index within the tensor of a parameter.
  std::string name_of(Index parameter) const;
  using Tensors = std::vector<std::pair<std::string, Buffer<T>>>;
  /// Collective: gathers the optimizer state that each process holds for its slices. Returns it in the first process;
  /// empty in the other processes.
  Tensors gather_slices(const Tensors& slices) const;
  /// Reduces the gathered state to the slices of this process.
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
