#pragma once
/// Zoneout (Krueger et al. 2017): in training, a unit keeps its value with a given probability; at inference it takes
/// the expected step. Internal to cells/.
///
///   h_t = h_{t-1} + (1 - rate) m (h'_t - h_{t-1}),   m = 0 with probability `rate`, else 1 / (1 - rate); 1 when not
///                                                    training

#include <string>

#include "graph/cells/delays.h"
#include "unfold/graph/cells/cell.h"

namespace unfold {

inline Signal zoned(Circuit& c, Signal before, Signal after, double rate) {
  return rate > 0 ? before + (1 - rate) * c.dropout(after - before, rate) : after;
}

template <class Visitor>
void describe_zoneout(Visitor& v, double& rate) {
  v("zoneout", rate, "probability that a unit keeps its value at a step, in training", half_open_range(0, 1));
}

/// Returns why zoneout cannot be combined with these delays, or an empty string.
inline std::string zoneout_fault(const std::string& delays) {
  return parse_delays(delays).front() != 1 ? "zoneout requires a delay of 1; the delays must begin with 1" : "";
}

}  // namespace unfold
