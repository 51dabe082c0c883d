#pragma once
/// ar: the last N values of every channel as features of a linear autoregression. Only the readout is fitted, by ridge
/// regression on standardized features, and predicts the difference from the current value
/// (model/network/fitting/readout.h). With a large lambda the prediction is therefore the current value (persistence).
///
///   x_t, c_t, c_{t-1}, ..., c_{t-N+2}     c_t = x_t - x_{t-1}; 0 at the first `ahead` + 1 positions of a sequence
///   m_t^k = (1 - 2^-k) (m_{t-1}^k + c_t)  distance from the exponential average with the rate 2^-k, k = 1 .. averages
///
/// x is the latest known value, from `ahead` positions earlier; it is therefore unknown at the first `ahead` positions.
///
/// The features span the same functions as the last N values, but a sequence needs no values before its first position:
/// it is continued into the past with its first value.
///
/// The entry is not in the registry of cells, because it has no parameters.

#include "unfold/graph/cells/cell.h"

namespace unfold {

struct AutoregressionOptions {
  Index averages = 0;
  Index ahead = 1;
  double ridge = 0;  ///< lambda; 0: selected automatically
  Index blocks = 0;  ///< like EsnOptions::blocks
};
/// x [channels] -> features [channels x (n + averages)]; the first `channels` features are x.
Signal autoregression(Circuit& c, Signal x, Index n, const AutoregressionOptions& options = {});

const CellEntry& autoregression_model();

}  // namespace unfold
