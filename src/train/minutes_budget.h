#pragma once
/// Internal: the time budget in minutes. The run stays within 5 % or one step of the budget, including the last
/// validation and saving. The durations of both are measured when they occur; before that, they are estimated from
/// previous steps.

#include "train/run_context.h"

namespace unfold {

template <class T>
class MinutesBudget {
 public:
  /// Keeps references to both.
  MinutesBudget(const TrainingSources<T>& sources, const Run<T>& run) : sources_(sources), run_(run) {}

  bool exists() const { return run_.options.minutes > 0; }
  /// Returns the seconds available to the run, without the time spent before it.
  double total() const { return 60 * run_.options.minutes - run_.options.spent_seconds; }

  void step_took(double seconds);
  void saving_took(double seconds) { saving_seconds_ = seconds; }
  /// Returns whether enough steps have been timed for an estimate.
  bool knows_steps() const { return steps_ >= kFewSteps; }

  /// Returns the duration of the last validation, or an estimate if there was none.
  double validation_seconds() const;
  /// Returns the maximum number of rows per validation. A full validation that would take more than a tenth of the
  /// budget is reduced to a twentieth.
  Index validation_rows() const;
  /// Returns the time needed after the last step. The time of a validation is not estimated from the first step alone.
  double reserve() const;
  /// Returns whether a validation now would leave time for another step and the final validation.
  bool has_time_for_validation() const {
    return run_.state.seconds + validation_seconds() + step_seconds_ + reserve() < total();
  }
  /// Returns whether the run would end closer to the budget without the next step than with it.
  bool is_used_up() const { return run_.state.seconds + step_seconds_ / 2 + reserve() >= total(); }

 private:
  static constexpr Index kFewSteps = 2;  // the first step includes memory allocation

  double row_seconds() const;

  const TrainingSources<T>& sources_;
  const Run<T>& run_;
  double step_seconds_ = 0, saving_seconds_ = 0;
  Index steps_ = 0;
};

}  // namespace unfold
