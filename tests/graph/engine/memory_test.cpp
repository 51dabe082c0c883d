#include "graph/engine/memory.h"

#include <gtest/gtest.h>

#include "unfold/graph/engine/unfolding.h"

namespace unfold {
namespace {

/// Two layers, a lookup, an input, delays of one and three steps, a gate, and partially filled panels.
void build_loop(Circuit& c, Index n) {
  const Signal s = c.symbols("s", 7), x = c.input("x", 3);
  const Signal h = c.link(n), far = c.link(n, Delay::previous(3));
  const auto [z, g] = c.split<2>(c.affine("a", 2 * n, {{"S", s}, {"X", x}, {"U", h}, {"F", far}}));
  const Signal y = h + sigmoid(g) * (tanh(z) - h);
  c.feed(h, y), c.feed(far, y);
  const Signal m = c.link(n);
  const Signal top = tanh(c.affine("b", n, {{"W", y}, {"U", m}}));
  c.feed(m, top);
  c.output(c.affine("o", 7, {{"V", top}}));
}

template <class T>
std::size_t allocated(const Circuit& circuit, Index chains, Index length) {
  Team team(1);
  const auto plan = std::make_shared<const Plan>(circuit);
  Parameters<T> parameters(circuit);
  Unfolding<T> unfolding(plan, team);
  unfolding.lay(Structure::chains(chains, length));
  unfolding.set_parameters(parameters);
  unfolding.forward(nullptr);
  unfolding.clear_adjoints();
  std::vector<T> gradient(static_cast<std::size_t>(parameters.size()));
  unfolding.backward(gradient);
  EXPECT_EQ(planned_bytes(*plan, chains, length, sizeof(T)), unfolding.memory_bytes()) << chains << " x " << length;
  return unfolding.memory_bytes();
}

TEST(PlannedMemory, planned_memory_equals_allocated_memory) {
  for (const Index n : {5, 32, 40}) {
    Circuit c;
    build_loop(c, n);
    for (const Index chains : {1, 3, 16})
      for (const Index length : {1, 2, 9, 64}) {
        allocated<float>(c, chains, length);
        allocated<double>(c, chains, length);
      }
  }
}

TEST(PlannedMemory, planned_memory_is_linear_in_length_and_chains) {
  Circuit c;
  build_loop(c, 16);
  EXPECT_EQ(allocated<float>(c, 4, 80) - allocated<float>(c, 4, 40),
            allocated<float>(c, 4, 120) - allocated<float>(c, 4, 80));
  EXPECT_EQ(allocated<float>(c, 20, 30) - allocated<float>(c, 10, 30),
            allocated<float>(c, 30, 30) - allocated<float>(c, 20, 30));
}

/// Counts the maps whose values have separate memory.
Index own_memory(const Circuit& circuit, const PlanOptions& options) {
  const Plan plan(circuit, options);
  Index count = 0;
  for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i)
    count += plan.nodes()[static_cast<std::size_t>(i)].kind() == Node::Kind::pointwise && plan.value_place(i).root == i;
  return count;
}

TEST(PlannedMemory, maps_reuse_memory_that_is_no_longer_read) {
  Circuit c;  // a GRU, linear before reset
  const Index n = 8;
  const Signal h = c.link(n);
  const auto [uz, ur, ug] = c.split<3>(c.affine("u", 3 * n, {{"U", h}}));
  const auto [wz, wr, wg] = c.split<3>(c.affine("w", 3 * n, {{"W", c.symbols("s", 7)}}));
  const Signal g = tanh(wg + sigmoid(wr + ur) * ug);
  const Signal y = h + sigmoid(wz + uz) * (g - h);
  c.feed(h, y);
  c.output(c.affine("o", 7, {{"V", y}}));
  EXPECT_EQ(own_memory(c, {}), 1);                   // y, which products read
  EXPECT_EQ(own_memory(c, {.in_place = false}), 5);  // plus both gates, g, g - h
}

}  // namespace
}  // namespace unfold
