#pragma once
/// tdnn, time-delay network: layers of windows over time with shared weights. Waibel et al. 1989. Layer i reads `width`
/// positions that are d_i steps apart,
///
///   z_t = sum over k < width of x_{t - k d_i} W_k + b,   h_t = s(z_t) in the first layer, x_t + s(z_t) in the others,
///
/// where x is the input of the layer. Positions before the first one are zero. With the dilations 1, 2, 4, 8 and width
/// 3, an output depends on the last 31 positions.

#include <string>

#include "unfold/graph/cells/cell.h"

namespace unfold {

struct TdnnOptions {
  Index width = 3;
  std::string dilations = "1+2+4+8";  ///< one layer per dilation, ascending
  Map activation = Map::relu;
};
Signal tdnn(Circuit& c, Signal x, Index n, const TdnnOptions& options = {});

}  // namespace unfold
