// Built in the modified copy of the sources: creates the optimizer added by the recipe from a SPEC.
#include <iostream>

#include "unfold/optim/optimizer.h"

int main() {
  using namespace unfold;
  const std::string spec = canonical_optimizer("signum:momentum=0.5");
  std::cout << spec << "\n";
  return spec.find("momentum=0.5") != std::string::npos && make_optimizer<float>(spec, 10) != nullptr ? 0 : 1;
}
