/// Defines a custom cell by its equation, checks all of its derivatives, and uses it in a two-layer network.
///
///   own_cell

#include <iostream>

#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/loss/loss.h"

using namespace unfold;

namespace {

/// Leaky units with learned time scales that depend on the input:
///   r_t = sigmoid(x_t W_r + b_r)
///   h_t = (1 - r_t) h_{t-1} + r_t tanh(x_t W + h_{t-1} U + b)
Signal leaky(Circuit& c, Signal x, Index n) {
  const Signal h = c.link(n);                               // the value at the previous position; it is defined below
  const Signal z = c.affine("z", n, {{"W", x}, {"U", h}});  // all terms of a sum in one list, which fixes their order
  const Signal r = sigmoid(c.affine("r", n, {{"W", x}}));
  const Signal next = h + r * (tanh(z) - h);
  c.feed(h, next);
  return next;
}

}  // namespace

int main() {
  // The circuit describes one step of the network as data. It contains no loop over time: the plan creates the loop and
  // moves x_t W and x_t W_r out of it.
  Circuit c;
  const Signal x = c.symbols("x", 5);
  Signal h = x;
  for (const char* layer : {"layer1", "layer2"}) {
    const auto scope = c.scope(layer);  // parameters are named layer1/z/W, ...
    h = leaky(c, h, 4);
  }
  c.output(c.affine("logits", 5, {{"V", h}}));
  for (const ParameterInfo& p : c.parameters()) std::cout << p.name << " " << p.rows << " x " << p.cols << "\n";

  // The batch contains sequences of different lengths. The checks compare every pass with finite differences, with
  // other passes and with a graph of scalars. Checks that do not apply to a circuit are listed as not run, with the
  // reason.
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains({4, 1, 3}));
  std::cout << report.text();
  return report.passed() ? 0 : static_cast<int>(ExitCode::verification);
}
