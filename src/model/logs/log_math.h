#pragma once
/// Logarithms and powers of single numbers, with reproducible bits (numerics/functions.h).

#include "numerics/functions.h"
#include "unfold/base/types.h"

namespace unfold {

inline constexpr double kNatsPerBit = 0.69314718055994530942;

inline double log_of(double x) {
  double y = 0;
  vector_log(&x, &y, 1);
  return y;
}
/// ln(a / b)
inline double log_ratio(Index a, Index b) {
  const double x[] = {static_cast<double>(a), static_cast<double>(b)};
  double y[2];
  vector_log(x, y, 2);
  return y[0] - y[1];
}
inline double log2_of(double x) { return log_of(x) / kNatsPerBit; }
inline double exp2_of(double bits) {
  const double x = bits * kNatsPerBit;
  double y = 0;
  vector_exp(&x, &y, 1);
  return y;
}

}  // namespace unfold
