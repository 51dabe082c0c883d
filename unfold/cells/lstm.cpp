#include "unfold/cells/cells.h"

namespace unfold {

/// i, f, o = sigmoid(x_t W + h_{t-1} U + b)    g = tanh(...)      (one product, columns i | f | o | g)
/// c_t = f * c_{t-1} + i * g
/// h_t = o * tanh(c_t)                                        Hochreiter & Schmidhuber 1997; forget gate: Gers et al.
/// 2000
Signal lstm(Circuit& c, Signal x, Index n, const LstmOptions& options) {
  auto h = c.link(n, {}, options.trained_initial), cell = c.link(n, {}, options.trained_initial);
  const Init bias = options.chrono > 1 ? Init::chrono({-1, 1, 0, 0}, options.chrono)
                                       : Init::block_values({0, options.forget_bias, 0, 0});
  auto z = c.affine("z", 4 * n, {{"W", x, Init::glorot(4)}, {"U", h, Init::orthogonal(4)}}, bias);
  auto [i, f, o, g] = c.split<4>(z);
  auto next = sigmoid(f) * cell + sigmoid(i) * tanh(g);
  auto y = sigmoid(o) * tanh(next);
  c.feed(cell, next);
  c.feed(h, y);
  return y;
}

}  // namespace unfold
