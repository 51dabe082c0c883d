#pragma once
/// Internal: what row losses share when they go through a block of rows.

#include <span>
#include <string>
#include <string_view>

#include "unfold/base/error.h"
#include "unfold/losses/loss.h"

namespace unfold {

/// Memory for one row and thread; contents are lost by the next call for the same `user`. Allocates only when it grows.
template <class T, int user = 0>
T* row_scratch(Index n) {
  thread_local Buffer<T> memory;
  if (memory.size() < n) memory.resize(n);
  return memory.data();
}

template <class T>
std::span<const T> span_of(const T* x, Index n) {
  return {x, static_cast<std::size_t>(n)};
}

template <class T>
void set_row(T* row, Index n, T value) {
  for (Index i = 0; i < n; ++i) row[i] = value;
}

inline void require_same(std::string_view loss, std::string_view what, Index got, Index expected) {
  if (got != expected)
    throw UsageError(std::string(loss) + " loss: " + std::string(what) + " " + std::to_string(got) +
                     ", but the signal asks for " + std::to_string(expected));
}

/// Losses of real vectors: targets are `values`, rows may be left out by `predicted`.
template <class T>
bool is_predicted(const Targets<T>& targets, Index row) {
  return targets.predicted == nullptr || targets.predicted[row] != 0;
}

/// Losses of symbols: kNoSymbol for a row that is not to be predicted. Throws UsageError for one outside the alphabet.
template <class T>
Symbol target_symbol(std::string_view loss, Matrix<const T> signal, const Targets<T>& targets, Index row) {
  const Symbol target = targets.symbols[row];
  if (target != kNoSymbol && (target < 0 || target >= signal.cols))
    throw UsageError(std::string(loss) + " loss: target symbol " + std::to_string(target) + " in row " +
                     std::to_string(row) + " of an alphabet of " + std::to_string(signal.cols));
  return target;
}

template <class T>
void require_values(const Loss<T>& loss, Matrix<const T> signal, const Targets<T>& targets) {
  if (targets.values.data == nullptr) throw UsageError(std::string(loss.name()) + " loss: no target values were given");
  require_same(loss.name(), "target rows", targets.values.rows, signal.rows);
  require_same(loss.name(), "target columns", targets.values.cols, loss.target_size(signal.cols));
}

/// Of distributions of numbers: as many values as the signal predicts.
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
