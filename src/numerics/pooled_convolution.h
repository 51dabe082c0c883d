#pragma once
/// Convolutions of a series with many kernels, each pooled over time to four statistics per threshold. These are the
/// features of MultiRocket (Tan, Dempster, Bergmeir & Webb 2022). For the outputs c_t of a kernel at n centers and a
/// threshold b, let P = {t : c_t > b}, with positions t counted from 0 at the first center:
///
///   share          |P| / n
///   mean excess    mean over P of c_t - b; 0 if P is empty
///   mean position  mean over P of (t + 1) / n; 0 if P is empty
///   longest run    length of the longest run of consecutive positions in P, divided by n
///
/// Kernels are stored side by side in lanes. Determinism (invariant 2): lanes are independent of each other, an output
/// is one chain of fused multiply-adds over taps, then channels, and sums over positions run in ascending order. The
/// vector width therefore does not change a single bit.
///
/// Performance bound: about seven vector instructions per output and threshold; one instruction processes all lanes of
/// a vector.

#include "unfold/base/views.h"

namespace unfold {

/// The number of lanes is a multiple of this number.
inline constexpr Index kConvolutionLanes = 16;
inline constexpr Index kPooledStatistics = 4;

struct DilatedKernels {
  Index taps = 0, dilation = 1;    ///< tap k of center t reads position t + (k - taps / 2) * dilation
  Index lanes = 0;                 ///< number of kernels
  const float* weights = nullptr;  ///< [taps * channels x lanes], the channels of one tap after another
};

/// c [centers x lanes]: the outputs at the centers. Positions of x [positions x channels] outside the series are zero.
void convolve(Matrix<const float> x, const DilatedKernels& kernels, Range centers, float* c);

/// pooled [4 x count x lanes]: the statistics in the order above, for thresholds [count x lanes]. `scratch`:
/// kConvolutionLanes numbers per center. Zero if there are no centers.
void pool_convolution(Matrix<const float> x, const DilatedKernels& kernels, Range centers, const float* thresholds,
                      Index count, float* scratch, float* pooled);

}  // namespace unfold
