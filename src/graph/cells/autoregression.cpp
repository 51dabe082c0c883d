#include "graph/cells/autoregression.h"

#include <cmath>

#include "graph/circuit/concatenation.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kMostLags = 1024;
constexpr double kMostAverages = 16, kMostAhead = 10'000;

/// x_t - x_{t-1}; 0 at the first positions, where x is not known or has no predecessor.
Signal change_of(Circuit& c, Signal x, Index ahead) {
  const Signal before = c.link(x.size());
  c.feed(before, x);
  const Signal is_preceded = c.link(x.size(), Delay::previous(ahead + 1));
  c.feed(is_preceded, 0.0 * x + 1.0);
  return is_preceded * (x - before);
}

Signal earlier_change(Circuit& c, Signal change, Index back) {
  const Signal link = c.link(change.size(), Delay::previous(back));
  c.feed(link, change);
  return link;
}

Signal distance_from_average(Circuit& c, Signal change, double rate) {
  const Signal before = c.link(change.size());
  const Signal distance = (1 - rate) * (before + change);
  c.feed(before, distance);
  return distance;
}

std::string autoregression_fault(const StackOptions& stack, const AutoregressionOptions&) {
  if (stack.needs_layers())
    return "an autoregression has no layers; it supports only the options averages, ridge and blocks";
  if (stack.units > kMostLags) return "an autoregression reads at most " + std::to_string(kMostLags) + " values";
  return {};
}

}  // namespace

Signal autoregression(Circuit& c, Signal x, Index n, const AutoregressionOptions& options) {
  if (c.is_symbols(x)) throw UsageError("model ar reads numbers, not symbols; use another model, such as gru:128");
  std::vector<Signal> parts = {x};
  if (n > 1 || options.averages > 0) {
    const Signal change = change_of(c, x, options.ahead);
    for (Index back = 0; back + 1 < n; ++back) parts.push_back(back == 0 ? change : earlier_change(c, change, back));
    for (Index k = 1; k <= options.averages; ++k)
      parts.push_back(distance_from_average(c, change, std::ldexp(1.0, -static_cast<int>(k))));
  }
  return concatenate(c, "features", parts);
}

template <class Visitor>
void describe(Visitor& v, AutoregressionOptions& o) {
  v("averages", o.averages, "number of exponential averages that are read as well, over 2, 4, 8, ... positions",
    range(0, kMostAverages));
  v("ahead", o.ahead, "number of positions from the last input to the predicted value, as in --ahead",
    range(0, kMostAhead));
  v("ridge", o.ridge, "ridge parameter lambda; 0: selected automatically", at_least(0));
  v("blocks", o.blocks, "cross-validation folds to select lambda; 0: generalized cross-validation", range(0, 100));
}

const CellEntry& autoregression_model() {
  static const CellEntry entry =
      CellOf<AutoregressionOptions>{.name = "ar",
                                    .help =
                                        "linear autoregression of numbers on their last values, with a fitted "
                                        "ridge readout",
                                    .add = autoregression,
                                    .fault = autoregression_fault,
                                    .accepts_joined_input = false};
  return entry;
}

}  // namespace unfold
