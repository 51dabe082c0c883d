#pragma once
/// Internal: the budget in minutes. It is kept within 5 % or one step, the last validation and saving included: what
/// they cost is measured where they happened and estimated from the steps before.

#include "unfold/training/run.h"

namespace unfold {

template <class T>
class MinutesBudget {
 public:
  /// Both are referred to.
  MinutesBudget(const TrainingSources<T>& sources, const Run<T>& run) : sources_(sources), run_(run) {}

  bool exists() const { return run_.options.minutes > 0; }
  /// Of the run, without what was spent before it.
  double total() const { return 60 * run_.options.minutes - run_.options.spent_seconds; }

  void step_took(double seconds);
  void saving_took(double seconds) { saving_seconds_ = seconds; }
  /// Whether enough steps were seen to estimate anything.
  bool knows_steps() const { return steps_ >= kFewSteps; }

  /// Of one validation: the last one, or an estimate.
  double validation_seconds() const;
  /// Rows that a validation may read. A whole one that would take more than a tenth of the budget is cut to a
  /// twentieth.
  Index validation_rows() const;
  /// What must still happen after the last step.
  double reserve() const;
  /// Whether one now would leave time for a step and the last one.
  bool has_time_for_validation() const {
    return run_.state.seconds + validation_seconds() + step_seconds_ + reserve() < total();
  }
  /// Whether the next step would end nearer to the end of the budget without it than with it.
  bool is_used_up() const { return run_.state.seconds + step_seconds_ / 2 + reserve() >= total(); }

 private:
  static constexpr Index kFewSteps = 2;  // the first one makes room for the activities

  double row_seconds() const;

  const TrainingSources<T>& sources_;
  const Run<T>& run_;
  double step_seconds_ = 0, saving_seconds_ = 0;
  Index steps_ = 0;
};

}  // namespace unfold
