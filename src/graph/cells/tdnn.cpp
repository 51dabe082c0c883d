#include "graph/cells/tdnn.h"
#include "graph/cells/activations.h"

#include <cmath>

#include "graph/cells/delays.h"

namespace unfold {
namespace {

constexpr double kWidest = 64;

/// Scaled so that a sum over `width` matrices has the same variance as a single matrix.
Init tap_init(Index width) { return Init::glorot(1, 1 / std::sqrt(static_cast<double>(width))); }

/// Returns x `back` positions earlier.
Signal earlier(Circuit& c, Signal x, Index back) {
  if (back == 0) return x;
  const Signal link = c.link(x.size(), Delay::previous(back));
  c.feed(link, x);
  return link;
}

/// Returns the sum of a window of symbols. Symbols cannot be delayed, so their lookups are delayed instead.
Signal symbol_window(Circuit& c, Signal x, Index n, Index width, Index dilation) {
  Signal sum = c.affine("z", n, {{"W1", x, tap_init(width)}});
  for (Index k = 1; k < width; ++k) {
    const Signal tap = c.affine("tap" + std::to_string(k + 1), n, {{"W", x, tap_init(width)}}, Init::zero(), false);
    sum = sum + earlier(c, tap, k * dilation);
  }
  return sum;
}

/// z_t = sum over k of x_{t - k d} W_k + b
Signal window(Circuit& c, Signal x, Index n, Index width, Index dilation) {
  if (c.is_symbols(x)) return symbol_window(c, x, n, width, dilation);
  std::vector<Term> terms;
  std::vector<std::string> names;  // terms refer to these strings
  names.reserve(at(width));
  for (Index k = 0; k < width; ++k) {
    names.push_back("W" + std::to_string(k + 1));
    terms.push_back({names.back(), earlier(c, x, k * dilation), tap_init(width)});
  }
  return c.affine("z", n, terms);
}

}  // namespace

Signal tdnn(Circuit& c, Signal x, Index n, const TdnnOptions& options) {
  Signal h = x;
  bool first = true;
  for (const Index dilation : parse_delays(options.dilations)) {
    const auto scope = c.scope("dilation" + std::to_string(dilation));
    const Signal out = activated(c, options.activation, window(c, h, n, options.width, dilation));
    h = first ? out : h + out;
    first = false;
  }
  return h;
}

template <class Visitor>
void describe(Visitor& v, TdnnOptions& o) {
  v("width", o.width, "number of positions that a layer reads", range(1, kWidest));
  v.add({.name = "dilations",
         .target = &o.dilations,
         .help = "steps between these positions, one layer for each, such as 1+2+4",
         .fallback = OptionValue(std::string("1+2+4+8"))});
  describe_all_activations(v, o.activation);
}

namespace {

std::string tdnn_fault(const StackOptions& stack, const TdnnOptions& options) {
  if (parse_delays(options.dilations).empty())
    return "dilations must be ascending integers from 1, such as 1+2+4; \"" + options.dilations + "\" are not";
  return stack.trained_initial ? "a time-delay network has no initial state; leave out trained-initial=" : "";
}

}  // namespace

CellEntry tdnn_cell() {
  return CellOf<TdnnOptions>{.name = "tdnn",
                             .help = "time-delay network: stacked windows over time with dilation",
                             .add = tdnn,
                             .fault = tdnn_fault,
                             .accepts_joined_input = false};
}

}  // namespace unfold
