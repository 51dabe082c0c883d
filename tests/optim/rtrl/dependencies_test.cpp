/// Reachability compared with values: if a step does not reach an entry, its derivative is zero for all values.

#include "optim/rtrl/dependencies.h"

#include <gtest/gtest.h>

#include "optim/rtrl/influence_pattern.h"
#include "optim/rtrl/step_pass.h"
#include "tests/optim/rtrl/windows.h"
#include "unfold/graph/cells/cell.h"

namespace unfold {
namespace {

/// Entries of the Jacobian of a step at random nonzero values.
struct Numbers {
  std::vector<std::vector<char>> states, parameters;  // [row][column]
};

Numbers numbers_of(const Network<double>& network, const OpenCircuit& open, const Parameters<double>& like,
                   std::uint64_t seed, const Batch& batch) {
  Parameters<double> parameters = like;
  Random random(seed, "values");
  for (double& x : parameters.flat()) x = random.uniform(-1, 1);
  std::vector<double> state(at(open.state));
  for (double& x : state) x = random.uniform(-1, 1);
  StepPass<double> pass(network, open);
  pass.set_parameters(parameters);
  pass.forward(batch, static_cast<Index>(seed) % batch.structure.positions(), state.data());
  Numbers result;
  for (Index i = 0; i < open.state; ++i) {
    const double one = 1;
    pass.seed(std::span(&i, 1), std::span(&one, 1));
    const auto row = pass.backward();
    result.states.emplace_back();
    for (Index j = 0; j < open.state; ++j) result.states.back().push_back(row[at(open.parameters + j)] != 0);
    result.parameters.emplace_back();
    for (Index p = 0; p < open.parameters; ++p) result.parameters.back().push_back(row[at(p)] != 0);
  }
  return result;
}

void expect_reached(const std::string& spec) {
  const auto model = test::small_model<double>(spec);
  const auto open = open_circuit(model.network(), "test");
  const Network<double> network = open_network(model.network(), *open);
  const Reach reach = reach_of(*open);
  std::vector<IndexSet> of_parameter(at(open->parameters));
  for (const Reaching& within : reach.within)
    for (const ParameterRange& range : within.parameters)
      for (Index k = 0; k < range.count; ++k) of_parameter[at(range[k])] = within.states;
  const Batch batch = test::random_batch({8}, 0, 8, 4);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Numbers found = numbers_of(network, *open, model.parameters(), seed, batch);
    for (Index i = 0; i < open->state; ++i) {
      for (Index j = 0; j < open->state; ++j)
        EXPECT_LE(found.states[at(i)][at(j)], reach.from_state[at(j)].has(i)) << spec << " " << j << " to " << i;
      for (Index p = 0; p < open->parameters; ++p)
        EXPECT_LE(found.parameters[at(i)][at(p)], of_parameter[at(p)].has(i)) << spec << " " << p << " to " << i;
    }
  }
}

TEST(Reach, reach_includes_everything_that_affects_the_next_state) {
  for (const CellEntry& cell : cells())
    if (cell.reads_sequences()) expect_reached(cell.name + ":8");
  for (const char* spec : {"rnn:4,delays=1+3", "rnn:4,leak=learned", "rnn:4,leak=fixed", "lstm:3,layers=2",
                           "lstm:4,norm=layer", "gru:4,reset=after,biases=2", "rnn:3,embedding=2"})
    expect_reached(spec);
}

TEST(Reach, reach_separates_independent_units) {
  const auto units_reached = [](const std::string& spec) {
    const auto model = test::small_model<double>(spec);
    const Reach reach = reach_of(*open_circuit(model.network(), "test"));
    Index most = 0;
    for (const IndexSet& set : reach.from_state) most = std::max(most, set.count());
    return most;
  };
  EXPECT_EQ(units_reached("indrnn:8"), 1);
  EXPECT_EQ(units_reached("lru:8"), 2);  // real and imaginary part
  EXPECT_EQ(units_reached("rnn:8"), 8);
  EXPECT_LT(units_reached("gnn:16"), 16);
}

TEST(InfluencePattern, rows_without_a_common_column_share_backward_passes) {
  const auto passes = [](const std::string& spec) {
    const auto model = test::small_model<double>(spec);
    const Reach reach = reach_of(*open_circuit(model.network(), "test"));
    InfluencePattern pattern(reach, 1);
    pattern.lay(reach);
    return pattern.passes().size();
  };
  EXPECT_EQ(passes("indrnn:32"), 1U);
  EXPECT_EQ(passes("lru:32"), 2U);
  EXPECT_EQ(passes("rnn:8"), 8U);
}

TEST(IndexSet, index_set_contains_numbers) {
  IndexSet set(100), other(100);
  EXPECT_TRUE(set.empty());
  set.add(3), set.add(64), set.add(99);
  EXPECT_EQ(set.elements(), (std::vector<Index>{3, 64, 99}));
  EXPECT_EQ(set.count(), 3);
  EXPECT_FALSE(set.meets(other));
  other.add(64);
  EXPECT_TRUE(set.meets(other));
  EXPECT_FALSE(set.take(other));
  other.add(5);
  EXPECT_TRUE(set.take(other));
  EXPECT_TRUE(set.has(5));
  EXPECT_FALSE(set.has(6));
  EXPECT_FALSE(IndexSet().has(6));
}

}  // namespace
}  // namespace unfold
