// Built in the modified copy of the sources: creates the loss added by the recipe by its registered name and checks all
// derivatives.
#include <iostream>

#include "unfold/gradcheck/derivative_check.h"
#include "unfold/loss/registry.h"

int main() {
  using namespace unfold;
  Circuit c;
  const Signal h = c.link(3), next = tanh(c.affine("z", 3, {{"W", c.symbols("symbols", 4)}, {"U", h}}));
  c.feed(h, next);
  c.output(c.affine("output", 2, {{"V", next}}));
  const auto loss = losses().get("laplace").make<double>();
  const std::vector<Index> lengths = {4, 1, 3};
  const CheckReport report = check_derivatives(c, *loss, Structure::chains(lengths));
  std::cout << report.text();
  return report.passed() && loss->as<LossFisher<double>>() != nullptr ? 0 : 1;
}
