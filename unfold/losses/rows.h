#pragma once
/// Internal: helper functions of row losses.

#include <span>
#include <string>
#include <string_view>

#include "unfold/base/error.h"
#include "unfold/densities/scratch.h"
#include "unfold/losses/loss.h"

namespace unfold {

inline void require_same(std::string_view loss, std::string_view what, Index got, Index expected) {
  if (got != expected)
    throw UsageError(std::string(loss) + " loss: " + std::string(what) + " " + std::to_string(got) +
                     ", but the signal asks for " + std::to_string(expected));
}

/// For losses of numeric vectors: targets are `values`; `predicted` may mark rows without a target.
template <class T>
bool is_predicted(const Targets<T>& targets, Index row) {
  return targets.predicted == nullptr || targets.predicted[row] != 0;
}

[[noreturn]] inline void refuse_symbol(std::string_view loss, Symbol target, Index row, Index alphabet) {
  throw UsageError(std::string(loss) + " loss: target symbol " + std::to_string(target) + " in row " +
                   std::to_string(row) + " of an alphabet of " + std::to_string(alphabet));
}

/// For losses of symbols: returns kNoSymbol for a row without a target. Throws UsageError for a symbol outside the
/// alphabet.
template <class T>
Symbol target_symbol(std::string_view loss, Matrix<const T> signal, const Targets<T>& targets, Index row) {
  const Symbol target = targets.symbols[row];
  if (target != kNoSymbol && (target < 0 || target >= signal.cols)) refuse_symbol(loss, target, row, signal.cols);
  return target;
}

template <class T>
void require_values(const Loss<T>& loss, Matrix<const T> signal, const Targets<T>& targets) {
  if (targets.values.data == nullptr) throw UsageError(std::string(loss.name()) + " loss: no target values were given");
  require_same(loss.name(), "target rows", targets.values.rows, signal.rows);
  require_same(loss.name(), "target columns", targets.values.cols, loss.target_size(signal.cols));
}

/// For distributions of numbers: requires as many values as the signal predicts.
template <class T, class U>
void require_size(const Loss<T>& loss, std::span<const T> signal, std::span<U> values) {
  require_same(loss.name(), "values", static_cast<Index>(values.size()),
               loss.target_size(static_cast<Index>(signal.size())));
}

inline void require_level(double level) {
  if (!(level > 0 && level < 1))
    throw UsageError("a quantile is asked for at " + std::to_string(level) + ", which must be above 0 and below 1");
}

}  // namespace unfold
