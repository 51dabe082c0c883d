#include "unfold/graph/cells/pool.h"

namespace unfold {
namespace {

/// Position counters, equal in every component: `before` is 0, 1, 2, ..., `so_far` is 1, 2, 3, ....
struct Count {
  Signal before, so_far;
};

Count count_positions(Circuit& c, Index size) {
  const Signal before = c.link(size);
  const Signal so_far = before + 1;
  c.feed(before, so_far);
  return {before, so_far};
}

/// Running mean (x_1 + ... + x_t) / t.
Signal running_mean(Circuit& c, Signal x) {
  const Signal before = c.link(x.size());
  const Signal sum = before + x;
  c.feed(before, sum);
  return sum * exp(-1 * log(count_positions(c, x.size()).so_far));
}

/// Running maximum m_t = x_t + [t > 1] relu(m_{t-1} - x_t), where [t > 1] = n - relu(n - 1) for the number n of earlier
/// positions.
Signal running_max(Circuit& c, Signal x) {
  const Signal n = count_positions(c, x.size()).before;
  const Signal before = c.link(x.size());
  const Signal most = x + (n - relu(n + -1)) * relu(before - x);
  c.feed(before, most);
  return most;
}

}  // namespace

std::vector<Signal> pool(Circuit& c, std::span<const Signal> layer, Pool how) {
  std::vector<Signal> parts;
  const auto add = [&](Pool one) { return how == one || how == Pool::all; };
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const Signal x = layer[i];
    if (add(Pool::mean)) parts.push_back(running_mean(c, x));
    if (add(Pool::max)) parts.push_back(running_max(c, x));
    if (!add(Pool::last)) continue;
    if (i == 0) {
      parts.push_back(x);
    } else {  // the backward direction ends at the first position
      const Signal end = c.link(x.size(), Delay::first());
      c.feed(end, x);
      parts.push_back(end);
    }
  }
  return parts;
}

}  // namespace unfold
