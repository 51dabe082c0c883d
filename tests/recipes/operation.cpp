// Built in the modified copy of the sources: uses the operation added by the recipe inside and outside a loop and
// checks all derivatives.
#include <iostream>

#include "unfold/gradcheck/derivative_check.h"
#include "unfold/loss/loss.h"

int main() {
  using namespace unfold;
  Circuit c;
  const Signal h = c.link(3), x = squared_relu(c.affine("x", 3, {{"W", c.symbols("symbols", 4)}}));
  const Signal next = squared_relu(c.affine("z", 3, {{"W", x}, {"U", h}}));
  c.feed(h, next);
  c.output(c.affine("output", 4, {{"V", next}}));
  const std::vector<Index> lengths = {4, 1, 3};
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths));
  std::cout << report.text();
  return report.passed() ? 0 : 1;
}
