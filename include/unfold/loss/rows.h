#pragma once
/// Internal: helper functions of row losses.

#include <span>
#include <string>
#include <string_view>

#include "unfold/base/error.h"
#include "unfold/loss/loss.h"
#include "unfold/loss/scratch.h"

namespace unfold {

inline void require_same(std::string_view loss, std::string_view what, Index got, Index expected) {
  if (got != expected)
    throw UsageError(std::string(loss) + " loss: the number of " + std::string(what) + " is " + std::to_string(got) +
                     ", but the signal requires " + std::to_string(expected));
}

/// Requires one signal row per position, for sequence losses.
inline void require_same_rows(std::string_view loss, Index signal_rows, const Structure& structure) {
  require_same(loss, "positions", structure.positions(), signal_rows);
}

/// Requires the shape of the signal, for the output of a loss and for vectors that its curvature multiplies.
template <class T, class U>
void require_shape(std::string_view loss, std::string_view what, const Matrix<U>& m, Matrix<const T> signal) {
  if (m.data == nullptr || m.rows != signal.rows || m.cols != signal.cols)
    throw UsageError(std::string(loss) + " loss: " + std::string(what) + " is " + std::to_string(m.rows) + " x " +
                     std::to_string(m.cols) + ", but the signal is " + std::to_string(signal.rows) + " x " +
                     std::to_string(signal.cols));
}

/// Checks the targets of losses for real vectors: `values` are the targets, and rows may be omitted with `predicted`.
template <class T>
bool is_predicted(const Targets<T>& targets, Index row) {
  return targets.predicted == nullptr || targets.predicted[row] != 0;
}

/// Sets the row of the result to 0 and returns true if it is not predicted.
template <class T>
bool left_out(const Targets<T>& targets, Index row, Matrix<T> result) {
  if (is_predicted(targets, row)) return false;
  set_row(result.row(row), result.cols, T{0});
  return true;
}

[[noreturn]] inline void throw_invalid_symbol(std::string_view loss, Symbol target, Index row, Index alphabet) {
  throw UsageError(std::string(loss) + " loss: target symbol " + std::to_string(target) + " in row " +
                   std::to_string(row) + " is not in an alphabet of " + std::to_string(alphabet));
}

[[noreturn]] inline void refuse_no_symbols(std::string_view loss) {
  throw UsageError(std::string(loss) + " loss: no target symbols were given");
}

/// Checks the targets of losses for symbols; kNoSymbol marks a row that is not predicted. Throws UsageError for a
/// symbol outside the alphabet.
template <class T>
Symbol target_symbol(std::string_view loss, Matrix<const T> signal, const Targets<T>& targets, Index row) {
  if (targets.symbols == nullptr) [[unlikely]]
    refuse_no_symbols(loss);
  const Symbol target = targets.symbols[row];
  if (target != kNoSymbol && (target < 0 || target >= signal.cols))
    throw_invalid_symbol(loss, target, row, signal.cols);
  return target;
}

template <class T>
void require_values(const Loss<T>& loss, Matrix<const T> signal, const Targets<T>& targets) {
  if (targets.values.data == nullptr) throw UsageError(std::string(loss.name()) + " loss: no target values were given");
  require_same(loss.name(), "target rows", targets.values.rows, signal.rows);
  require_same(loss.name(), "target columns", targets.values.cols, loss.target_size(signal.cols));
}

/// For distributions of numbers: requires the number of values that the signal predicts.
template <class T, class U>
void require_size(const Loss<T>& loss, std::span<const T> signal, std::span<U> values) {
  require_same(loss.name(), "values", static_cast<Index>(values.size()),
               loss.target_size(static_cast<Index>(signal.size())));
}

inline void require_level(double level) {
  if (!(level > 0 && level < 1))
    throw UsageError("quantile level " + std::to_string(level) + " must be above 0 and below 1");
}

}  // namespace unfold
