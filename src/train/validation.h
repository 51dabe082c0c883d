#pragma once
/// Internal: validation in a training run: its times, its results, the selection of the best model, and the
/// consequences for the run.

#include <functional>
#include <memory>
#include <string>

#include "train/minutes_budget.h"
#include "train/run_context.h"
#include "unfold/train/evaluate.h"

namespace unfold {

template <class T>
class Validation {
 public:
  using OnBest = std::function<void(const Parameters<T>&)>;

  /// Keeps references to `sources` and `run`.
  Validation(TrainingSources<T>& sources, Run<T>& run, MinutesBudget<T>& budget);

  bool exists() const { return sources_.validation != nullptr; }
  bool is_due() const { return exists() && run_.state.step % interval_ == 0; }
  /// Returns whether the current parameters have not been validated yet.
  bool is_pending() const { return exists() && run_.state.validated_step != run_.state.step; }
  /// Must be called again after a run has been resumed.
  void choose_interval();
  /// With a budget in minutes: determines how much data is read, once the duration of steps is known.
  void settle();
  /// Returns the approximate fraction of the validation part that is read.
  double share() const;
  /// Validates the current parameters. Returns a description of the problem if the run has diverged, otherwise an empty
  /// string.
  std::string run(const OnBest& on_best);

 private:
  Evaluation measure();
  Evaluation measure_chosen(BatchReader& reader);
  bool judge_best(double nats);
  void lower_rate_on_plateau(bool best);

  TrainingSources<T>& sources_;
  Run<T>& run_;
  MinutesBudget<T>& budget_;
  std::unique_ptr<Evaluator<T>> evaluator_;
  std::unique_ptr<SequenceObjectivePass<T>> chosen_;  // replaces the evaluation for a chooser
  Index interval_ = 1;
};

}  // namespace unfold
