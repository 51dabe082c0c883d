#pragma once
/// Eight numbers that are computed together (SIMD): the objective of a classical model at eight parameter vectors. The
/// compiler maps the operations to the vector instructions of the target; each operation is an IEEE operation per
/// element, so the results are bit-identical on every target.

#include <cmath>

#include "numerics/functions.h"

namespace unfold::forecasting {

inline constexpr Index kLanes = 8;
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));

inline Lanes lanes_of(double x) { return Lanes{x, x, x, x, x, x, x, x}; }

inline Lanes sqrt_of(Lanes x) {
  for (int k = 0; k < kLanes; ++k) x[k] = std::sqrt(x[k]);
  return x;
}
inline Lanes log_of(Lanes x) {
  double y[kLanes];
  for (int k = 0; k < kLanes; ++k) y[k] = x[k];
  vector_log<double>(y, y, kLanes);
  for (int k = 0; k < kLanes; ++k) x[k] = y[k];
  return x;
}

/// exp and log of one number, bit-identical on all machines (numerics/functions.h).
inline double exp_of(double x) {
  vector_exp<double>(&x, &x, 1);
  return x;
}
inline double log_of(double x) {
  vector_log<double>(&x, &x, 1);
  return x;
}

}  // namespace unfold::forecasting
