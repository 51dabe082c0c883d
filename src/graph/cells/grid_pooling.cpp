#include "unfold/graph/cells/grid_pooling.h"

#include <algorithm>
#include <charconv>

#include "unfold/base/error.h"

namespace unfold {

std::vector<Index> parse_patches(const std::string& text) {
  constexpr Index kMostSide = 64;
  std::vector<Index> sides;
  for (const char *at = text.data(), *end = at + text.size(); at <= end;) {
    Index side = 0;
    const auto [stopped, error] = std::from_chars(at, end, side);
    if (error != std::errc() || side < 1 || side > kMostSide || (stopped != end && *stopped != '+')) return {};
    sides.push_back(side);
    if (stopped == end) return sides;
    at = stopped + 1;
  }
  return {};
}

std::string grid_fault(const StackOptions& stack, const GridStackOptions& options) {
  const std::vector<Index> sides = parse_patches(options.patch);
  if (sides.empty())
    return "patch must be a side from 1 to 64, or one side per layer, such as 2+2; \"" + options.patch + "\" is not";
  if (static_cast<Index>(sides.size()) > stack.layers)
    return "patch has " + std::to_string(sides.size()) + " sides for " + std::to_string(stack.layers) +
           (stack.layers == 1 ? " layer" : " layers") + "; write layers=" + std::to_string(sides.size());
  if (options.directions == 3) return "directions must be 1, 2 or 4, not 3";
  if (options.lines && stack.units < 2)
    return "lines= requires at least two units, one along rows and one along columns";
  if (stack.both_directions) return "grids do not support \"bi\"; use directions=2 or directions=4";
  if (stack.trained_initial) return "cells over grids do not support trained-initial=; leave it out";
  const bool patched = std::ranges::any_of(sides, [](Index side) { return side > 1; });
  if (stack.direct > (patched ? 0 : 1))
    return patched ? "direct= cannot be combined with patch=; leave one of them out"
                   : "grids support only direct=0 and direct=1";
  return "";
}

GridStack grid_stack(const GridStackOptions& options) {
  return {.directions = options.directions, .patches = parse_patches(options.patch)};
}

namespace {

Signal running_sum(Circuit& c, Signal x, Delay along) {
  const Signal before = c.link(x.size(), along);
  const Signal sum = before + x;
  c.feed(before, sum);
  return sum;
}

/// Signals that depend on the position in the grid, created on first use, with the same value in every component.
class Places {
 public:
  Places(Circuit& c, Index size) : circuit_(c), size_(size) {}

  /// Returns 1 if there is an earlier position, else 0: n - relu(n - 1), where n is the number of earlier positions.
  Signal has_before(Delay along) {
    Signal& known = along.along == Delay::Along::left ? has_left_ : has_up_;
    if (known.valid()) return known;
    const Signal n = so_far(along) + -1;
    return known = n - relu(n + -1);
  }
  /// Returns 1 / (number of positions that are neither to the right of nor below this one).
  Signal inverse_area() {
    if (!area_.valid()) area_ = exp(-1 * (log(so_far(Delay::left())) + log(so_far(Delay::up()))));
    return area_;
  }

 private:
  /// Returns 1, 2, 3, ... along a row or a column.
  Signal so_far(Delay along) {
    Signal& known = along.along == Delay::Along::left ? column_ : row_;
    if (known.valid()) return known;
    const Signal before = circuit_.link(size_, along);
    known = before + 1;
    circuit_.feed(before, known);
    return known;
  }

  Circuit& circuit_;
  Index size_;
  Signal row_ = {}, column_ = {}, has_left_ = {}, has_up_ = {}, area_ = {};
};

/// Running maximum of x along a direction.
Signal running_largest(Circuit& c, Signal x, Delay along, Places& places) {
  const Signal has = places.has_before(along), before = c.link(x.size(), along);
  const Signal most = x + has * relu(before - x);
  c.feed(before, most);
  return most;
}

/// Returns x at the first position, carried along to the last one.
Signal carried(Circuit& c, Signal x, Delay along, Places& places) {
  const Signal has = places.has_before(along), before = c.link(x.size(), along);
  const Signal first = x + has * (before - x);
  c.feed(before, first);
  return first;
}

}  // namespace

std::vector<Signal> grid_pool(Circuit& c, std::span<const Signal> layer, Pool how) {
  std::vector<Signal> parts;
  Places places(c, layer.front().size());
  const auto add = [&](Pool one) { return how == one || how == Pool::all; };
  for (std::size_t corner = 0; corner < layer.size(); ++corner) {
    const Signal x = layer[corner];
    if (add(Pool::mean))
      parts.push_back(running_sum(c, running_sum(c, x, Delay::left()), Delay::up()) * places.inverse_area());
    if (add(Pool::max))
      parts.push_back(running_largest(c, running_largest(c, x, Delay::left(), places), Delay::up(), places));
    if (!add(Pool::last)) continue;
    Signal end = x;  // a scan from the right ends at the left, a scan from below ends at the top
    if ((corner & 1U) != 0) end = carried(c, end, Delay::left(), places);
    if ((corner & 2U) != 0) end = carried(c, end, Delay::up(), places);
    parts.push_back(end);
  }
  return parts;
}

}  // namespace unfold
