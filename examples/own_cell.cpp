/// A cell of your own: written as its equation, with all its derivatives checked, and used in a network of two layers.
///
///   own_cell

#include <iostream>

#include "unfold/cells/cells.h"
#include "unfold/losses/loss.h"
#include "unfold/verify/derivative_check.h"

using namespace unfold;

namespace {

/// Leaky units whose time scales are learnt, and may differ from symbol to symbol:
///   r_t = sigmoid(x_t W_r + b_r)
///   h_t = (1 - r_t) h_{t-1} + r_t tanh(x_t W + h_{t-1} U + b)
Signal leaky(Circuit& c, Signal x, Index n) {
  const Signal h = c.link(n);                               // what will be fed to it, one position before
  const Signal z = c.affine("z", n, {{"W", x}, {"U", h}});  // all terms of a sum in one list: their order is fixed
  const Signal r = sigmoid(c.affine("r", n, {{"W", x}}));
  const Signal next = h + r * (tanh(z) - h);
  c.feed(h, next);
  return next;
}

}  // namespace

int main() {
  // One step of the network as data. There is no loop over time here: the plan makes one, and takes x_t W and x_t W_r
  // out of it.
  Circuit c;
  const Signal x = c.symbols("x", 5);
  Signal h = x;
  for (const char* layer : {"layer1", "layer2"}) {
    const auto scope = c.scope(layer);  // parameters are called layer1/z/W, ...
    h = leaky(c, h, 4);
  }
  c.output(c.affine("logits", 5, {{"V", h}}));
  for (const ParameterInfo& p : c.parameters()) std::cout << p.name << " " << p.rows << " x " << p.cols << "\n";

  // Sequences of several lengths side by side. The checks compare every pass with finite differences, with the other
  // passes and with a graph of scalars; what has no meaning for a circuit is listed as not run, with the reason.
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains({4, 1, 3}));
  std::cout << report.text();
  return report.passed() ? 0 : static_cast<int>(ExitCode::verification);
}
