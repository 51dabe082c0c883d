#pragma once
/// Length normalization for sequences of different lengths by `log p / symbols^normalization`. With 0, sequences are
/// compared by probability, which favors short sequences; with 1, by probability per symbol.

#include <fmt/format.h>

#include <cmath>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/base/types.h"

namespace unfold {

/// Throws UsageError unless it is finite and at least 0.
inline void require_length_normalization(double normalization) {
  if (!(normalization >= 0) || !std::isfinite(normalization))
    throw UsageError(fmt::format("`normalization` is {}; it must be at least 0", normalization));
}

/// `length^-normalization`, computed with the vector functions (invariant 2); 1 for length 0.
inline double length_factor(Index length, double normalization) {
  if (length == 0) return 1;
  auto x = static_cast<double>(length);
  vector_log(&x, &x, 1);
  x *= -normalization;
  vector_exp(&x, &x, 1);
  return x;
}

}  // namespace unfold
