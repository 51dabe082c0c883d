#include "train/minutes_budget.h"

#include <algorithm>
#include <cmath>

namespace unfold {

template <class T>
void MinutesBudget<T>::step_took(double seconds) {
  constexpr double kNew = 0.2;  // weight of the new value in the running mean
  step_seconds_ = steps_ < kFewSteps ? seconds : step_seconds_ + kNew * (seconds - step_seconds_);
  ++steps_;
}

/// A gradient requires a forward pass and a backward pass over every row; the backward pass takes about twice as long.
template <class T>
double MinutesBudget<T>::row_seconds() const {
  const auto rows = static_cast<double>(std::max<Index>(1, sources_.step_symbols * run_.optimizer.gradients()));
  return step_seconds_ / (3 * rows);
}

template <class T>
Index MinutesBudget<T>::validation_rows() const {
  constexpr double kMost = 0.1, kThen = 0.05;  // fractions of the budget
  const Index all = sources_.validation_symbols;
  const double whole = row_seconds() * static_cast<double>(all) * (1 + run_.options.validations_after);
  const double budget = std::max(total(), 0.0);  // negative once the budget is exceeded
  if (!(whole > kMost * budget)) return all;
  // The segments must be longer than their warm-up.
  const TrainerOptions& o = run_.options;
  const Index least = std::max(sources_.step_symbols, 2 * o.validation_streams * o.validation_warmup);
  const auto wanted = static_cast<Index>(static_cast<double>(all) * kThen * budget / whole);
  return std::min(all, std::max(least, wanted));
}

template <class T>
double MinutesBudget<T>::validation_seconds() const {
  const RunState& state = run_.state;
  if (!sources_.validation) return 0;
  if (state.validation_seconds > 0) return state.validation_seconds;
  const Index rows = state.validation_rows > 0 ? state.validation_rows : validation_rows();
  return row_seconds() * static_cast<double>(rows);
}

template <class T>
double MinutesBudget<T>::reserve() const {
  const bool known = knows_steps() || run_.state.validation_seconds > 0;
  return (known ? validation_seconds() * (1 + run_.options.validations_after) : 0) + 2 * saving_seconds_;
}

template class MinutesBudget<float>;
template class MinutesBudget<double>;

}  // namespace unfold
