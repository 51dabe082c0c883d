#include "graph/engine/memory.h"

#include <vector>

#include "graph/engine/packed_weights.h"

namespace unfold {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Returns the size of the packed weights of dense terms, in whole panels, for both directions.
Index packed_numbers(const Plan& plan, std::size_t element_bytes) {
  const Index panel = 128 / static_cast<Index>(element_bytes);
  const auto whole = [&](Index n) { return (n + panel - 1) / panel * panel; };
  std::vector<char> counted(plan.parameters().size(), 0);
  Index numbers = 0;
  for (std::size_t i = 0; i < plan.nodes().size(); ++i) {
    if (!plan.live(static_cast<int>(i))) continue;
    for (const auto& term : plan.nodes()[i].terms()) {
      if (!is_product(plan, term) || counted[at(term.parameter)] != 0) continue;
      counted[at(term.parameter)] = 1;
      const ParameterInfo& p = plan.parameters()[at(term.parameter)];
      numbers += p.rows * whole(p.cols) + p.cols * whole(p.rows);
    }
  }
  return numbers;
}

}  // namespace

PlannedMemory planned_memory(const Plan& plan, std::size_t element_bytes) {
  PlannedMemory memory{.weights = packed_numbers(plan, element_bytes)};
  for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i) {
    if (!plan.live(i)) continue;
    const Index n = plan.nodes()[at(i)].size, history = plan.history(i);
    if (plan.value_place(i).root == i && plan.nodes()[at(i)].kind() != Node::Kind::symbols)
      memory.row += n, memory.chain += history * n;
    if (plan.adjoint_place(i).root != i || !plan.needs_adjoint(i)) continue;
    if (plan.adjoint_buffer(i).ring)
      memory.chain += (1 + history) * n;
    else
      memory.row += n, memory.chain += history * n;
  }
  return memory;
}

std::size_t planned_bytes(const Plan& plan, Index chains, Index length, std::size_t element_bytes) {
  const PlannedMemory memory = planned_memory(plan, element_bytes);
  return static_cast<std::size_t>(chains * (length * memory.row + memory.chain) + memory.weights) * element_bytes;
}

}  // namespace unfold
