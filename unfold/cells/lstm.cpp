#include "unfold/cells/cell.h"
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

template <class Visitor>
void describe(Visitor& v, LstmOptions& o) {
  v("forget-bias", o.forget_bias, "start of the forget gate's bias", range(-100, 100));
  v("chrono", o.chrono, "start the gates from time scales up to so many steps; 0: off", at_least(0));
}

CellEntry lstm_cell() {
  return CellOf<LstmOptions>{.name = "lstm",
                             .help = "long short-term memory with forget gate",
                             .add = lstm,
                             .fault = [](const StackOptions&, const LstmOptions& o) -> std::string {
                               return o.chrono > 0 && !(o.chrono > 2) ? "chrono must be 0 or above 2 steps" : "";
                             }};
}

}  // namespace unfold
