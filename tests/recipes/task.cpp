// Built in the modified copy of the sources: generates an example of the task added by the recipe.
#include <iostream>

#include "unfold/data/tasks/task_spec.h"

int main() {
  using namespace unfold;
  const auto task = make_task("parity:6", "");
  Example example;
  task->example(TaskSplit::training, 1, 0, example);
  Symbol parity = 0;
  for (std::size_t t = 0; t < example.symbols.size(); ++t) {
    parity = static_cast<Symbol>((parity + example.symbols[t]) % 2);
    if (example.target_symbols[t] != parity) return 1;
  }
  std::cout << canonical_task("parity:6") << "\n";
  return example.length == 6 ? 0 : 1;
}
