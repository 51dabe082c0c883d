// Built in the modified copy of the sources: creates the cell added by the recipe by its registered name and checks all
// derivatives.
#include <iostream>

#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/loss/loss.h"

int main() {
  using namespace unfold;
  const CellEntry& leaky = cells().get("leaky");
  Circuit c;
  const Signal y = leaky.add(c, c.symbols("symbols", 4), 3, leaky.options, false);
  c.output(c.affine("output", 4, {{"V", y}}));
  const std::vector<Index> lengths = {4, 1, 3};
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths));
  std::cout << report.text();
  return report.passed() ? 0 : 1;
}
