#pragma once
/// Length normalization for sequences of different lengths by `log p / symbols^normalisation`. 0: by probability,
/// which favors short sequences; 1: by probability per symbol.

#include <fmt/format.h>

#include <cmath>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/base/types.h"

namespace unfold {

/// Throws UsageError unless it is finite and at least 0.
inline void require_length_normalization(double normalisation) {
  if (!(normalisation >= 0) || !std::isfinite(normalisation))
    throw UsageError(fmt::format("`normalisation` is {}; it must be at least 0", normalisation));
}

/// `length^-normalisation`, computed with the vector functions (invariant 2); 1 for length 0.
inline double length_factor(Index length, double normalisation) {
  if (length == 0) return 1;
  auto x = static_cast<double>(length);
  vector_log(&x, &x, 1);
  x *= -normalisation;
  vector_exp(&x, &x, 1);
  return x;
}

}  // namespace unfold
