#pragma once
/// Internal: validation in a training run: when, what it found, whether it is the best so far, what follows from it.

#include <functional>
#include <memory>
#include <string>

#include "unfold/training/budget.h"
#include "unfold/training/evaluate.h"
#include "unfold/training/run.h"

namespace unfold {

template <class T>
class Validation {
 public:
  using OnBest = std::function<void(const Parameters<T>&)>;

  /// `sources` and `run` are referred to.
  Validation(TrainingSources<T>& sources, Run<T>& run, MinutesBudget<T>& budget);

  bool exists() const { return sources_.validation != nullptr; }
  bool is_due() const { return exists() && run_.state.step % interval_ == 0; }
  /// Whether the present parameters have not been measured yet.
  bool is_pending() const { return exists() && run_.state.validated_step != run_.state.step; }
  /// Again after a run was resumed.
  void choose_interval();
  /// With a budget in minutes: decides, once the cost of steps is known, how much is read.
  void settle();
  /// About how much of the validation part is read.
  double share() const;
  /// Measures the present parameters. Returns what is wrong with them when the run has diverged, else nothing.
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
  std::unique_ptr<ChosenPass<T>> chosen_;  // in its place
  Index interval_ = 1;
};

}  // namespace unfold
