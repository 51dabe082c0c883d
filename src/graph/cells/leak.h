#pragma once
/// Leaky units: the options `leak` and `longest` of cells whose state is replaced at each step. Internal to cells/.
///
///   h_t = h_{t-1} + (next - h_{t-1}) / theta, theta [n]                                          Jaeger et al. 2007

#include <string>
#include <vector>

#include "graph/cells/delays.h"
#include "graph/circuit/cell_maps.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

/// Returns `next` or, with a leak, a step from h toward `next`.
inline Signal leaked(Circuit& c, Signal h, Signal next, TimeConstants constants, double longest) {
  if (constants == TimeConstants::none) return next;
  const Index n = next.size();
  const std::vector<double> times = initial_time_constants(n, longest);
  Term leak{.parameter = "rho", .source = next - h};
  if (constants == TimeConstants::learned) {
    leak.init = Init::block_values(initial_leaks(times));
    leak.op = learned_leak(n);
  } else {
    std::vector<double> rates(times);
    for (double& rate : rates) rate = 1 / rate;
    leak.op = fixed_leak(std::move(rates));
  }
  return h + c.affine("leak", n, {leak}, Init::zero(), false);
}

template <class Visitor>
void describe_leak(Visitor& v, TimeConstants& leak, double& longest) {
  v("leak", leak, "time constants of leaky units, spread over 1 .. longest steps",
    {{TimeConstants::none, "none"}, {TimeConstants::fixed, "fixed"}, {TimeConstants::learned, "learned"}});
  v("longest", longest, "longest time constant of leaky units, in steps", above(1));
}

/// Returns why a leak cannot be combined with these delays, or an empty string.
inline std::string leak_fault(TimeConstants leak, const std::string& delays) {
  return leak != TimeConstants::none && parse_delays(delays).front() != 1
             ? "leaky units need the delay 1; delays must begin with 1"
             : "";
}

}  // namespace unfold
