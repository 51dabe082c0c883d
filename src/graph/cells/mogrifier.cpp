#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

/// Before the LSTM, input and state gate each other in turn, i = 1..rounds:
///   odd i:  x^i = 2 sigmoid(h^{i-1} Q_i + b_i) * x^{i-2}      even i:  h^i = 2 sigmoid(x^{i-1} R_i + b_i) * h^{i-2}
/// The LSTM then reads the last x and h.                                                     Melis et al. 2020
/// Symbols are first embedded in n dimensions.
Signal mogrifier(Circuit& c, Signal x, Index n, const MogrifierOptions& options) {
  auto h = c.link(n, {}, options.trained_initial), cell = c.link(n, {}, options.trained_initial);
  Signal input = c.is_symbols(x) ? c.affine("e", n, {{"W", x, Init::normal(1)}}, Init::zero(), false) : x;
  Signal state = h;
  for (Index i = 1; i <= options.rounds; ++i) {
    const bool odd = i % 2 == 1;
    Signal &gated = odd ? input : state, &by = odd ? state : input;
    const std::string name = (odd ? "q" : "r") + std::to_string(i);
    gated = 2 * sigmoid(c.affine(name, gated.size(), {{"U", by, Init::glorot()}})) * gated;
  }
  auto z = c.affine("z", 4 * n, {{"W", input, Init::glorot(4)}, {"U", state, Init::orthogonal(4)}},
                    Init::block_values({0, options.forget_bias, 0, 0}));
  auto [i, f, o, g] = c.split<4>(z);
  auto next = sigmoid(f) * cell + sigmoid(i) * tanh(g);
  auto y = sigmoid(o) * tanh(next);
  c.feed(cell, next);
  c.feed(h, y);
  return y;
}

template <class Visitor>
void describe(Visitor& v, MogrifierOptions& o) {
  v("rounds", o.rounds, "rounds of mutual gating before the step; 0: plain LSTM", range(0, 64));
  v("forget-bias", o.forget_bias, "initial bias of the forget gate", range(-100, 100));
}

CellEntry mogrifier_cell() {
  return CellOf<MogrifierOptions>{.name = "mogrifier",
                                  .help = "LSTM with mutual gating of input and state before each step",
                                  .add = mogrifier,
                                  .accepts_joined_input = false};
}

}  // namespace unfold
