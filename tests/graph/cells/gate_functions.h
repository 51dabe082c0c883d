#pragma once
/// Gate functions by their definitions.

#include <algorithm>
#include <cmath>

namespace unfold::test {

inline double logistic(double v) { return 1 / (1 + std::exp(-v)); }
inline double cut_off(double v) { return std::clamp(v / 4 + 0.5, 0.0, 1.0); }

}  // namespace unfold::test
