#pragma once
/// Internal: standard deviations from signals, log d = 10 tanh(s / 10).
///
/// Near 0 this is exp(s), and log d is the parameter in which the Fisher matrix of a Gaussian is constant: a step in s
/// changes d by a factor, regardless of the size of d (softplus has this property only on the lower side). For large
/// |s|, log d is bounded, smoothly and symmetrically: 4.5e-5 < d < 2.2e4. If data can be predicted without error (for
/// example constants), the likelihood has no maximum, and exp(s) alone would shrink until squares of (y - m) / d
/// overflow. Data is standardized, so deviations of interest lie well within the range. All results are finite in float
/// for every finite s and for |y - m| up to 10^14; beyond that, nats become infinite.

#include "numerics/functions.h"
#include "unfold/base/views.h"

namespace unfold {

/// log_d = log deviations, inverse = 1 / d, slope = d log d / d s, for n signals s. The four arrays must not overlap.
template <class T>
void deviations(const T* s, Index n, T* log_d, T* inverse, T* slope) {
  constexpr T kMost = 10;
  for (Index i = 0; i < n; ++i) log_d[i] = s[i] / kMost;
  vector_tanh(log_d, log_d, n);
  for (Index i = 0; i < n; ++i) {
    slope[i] = (1 - log_d[i]) * (1 + log_d[i]);
    log_d[i] *= kMost;
    inverse[i] = -log_d[i];
  }
  vector_exp(inverse, inverse, n);
}

/// Returns d for a single signal, for use by distributions.
inline double deviation(double s) {
  double log_d = 0, inverse = 0, slope = 0;
  deviations(&s, 1, &log_d, &inverse, &slope);
  return 1 / inverse;
}

/// log(2 pi) / 2.
inline constexpr double kHalfLogTwoPi = 0.91893853320467274178;

}  // namespace unfold
