/// Invariant 2 for every registered cell: identical bits alone, in a ragged batch, on any number of threads, in windows
/// with carried state, and one position at a time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "tests/support/runner.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

constexpr Index kBitSymbols = 7;
const Index kBitLengths[] = {5, 12, 1, 7, 2};

struct Tested {
  std::string name;
  std::function<Signal(Circuit&, Signal x, Index n, bool trained_initial)> add;
  bool stacks = true;  ///< also reads vectors
};

void PrintTo(const Tested& cell, std::ostream* out) { *out << cell.name; }

template <class Options>
Tested tested_with(const char* name, Signal (*add)(Circuit&, Signal, Index, const Options&), const Options& options) {
  return {name, [=](Circuit& c, Signal x, Index n, bool trained) {
            Options mine = options;
            mine.trained_initial = trained;
            return add(c, x, n, mine);
          }};
}

/// Every registered cell with its defaults, and variants whose options change the code path.
std::vector<Tested> tested() {
  std::vector<Tested> list = {
      tested_with<RnnOptions>("rnn with delays", rnn, {.delays = {1, 2, 4}}),
      tested_with<RnnOptions>("leaky rnn", rnn, {.leak = TimeConstants::fixed}),
      tested_with<RnnOptions>("leaky rnn, learned", rnn, {.leak = TimeConstants::learned}),
      tested_with<LstmOptions>("layer-normed lstm with delays", lstm, {.delays = "1+3", .layer_norm = true}),
      tested_with<GruOptions>("layer-normed gru", gru, {.layer_norm = true}),
      tested_with<GruOptions>("gru with a gated state", gru, {.reset_after = true, .gated_state = true}),
      tested_with<GruOptions>("layer-normed gru with a gated state", gru, {.layer_norm = true, .gated_state = true}),
      tested_with<QrnnOptions>("qrnn, width 3", qrnn, {.width = 3}),
  };
  StackOptions stack;
  stack.units = 8, stack.layers = 2;
  for (const CellEntry& cell : cells())
    if (cell.reads_sequences())
      list.push_back(
          {cell.name,
           [&cell](Circuit& c, Signal x, Index n, bool trained) { return cell.add(c, x, n, cell.options, trained); },
           cell.fault(stack, cell.options).empty()});
  return list;
}

/// Two layers, or one if the cell reads only symbols.
void build(Circuit& c, const Tested& cell) {
  const Signal x = c.symbols("x", kBitSymbols);
  Signal top;
  {
    const auto scope = c.scope("layer1");
    top = cell.add(c, x, 8, true);
  }
  if (cell.stacks) {
    const auto scope = c.scope("layer2");
    top = cell.add(c, top, 8, false);
  }
  c.output(c.affine("o", kBitSymbols, {{"V", top}}));
}

bool same_bits(std::span<const float> x, std::span<const float> y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
}

class BitsOf : public testing::TestWithParam<Tested> {
 protected:
  const Tested& cell() const { return GetParam(); }
  void SetUp() override { build(circuit_, cell()); }
  Circuit circuit_;
};

TEST_P(BitsOf, cell_bits_do_not_depend_on_threads) {
  const auto one = test::Runner<float>(circuit_).run(Structure::chains(kBitLengths));
  test::Runner<float> runner(circuit_, {}, 3);
  for (int pass = 0; pass < 6; ++pass) {
    const auto many = runner.run(Structure::chains(kBitLengths));
    EXPECT_TRUE(same_bits(many.outputs, one.outputs)) << cell().name;
    EXPECT_TRUE(same_bits(many.tangents, one.tangents)) << cell().name;
    EXPECT_TRUE(same_bits(many.gradient, one.gradient)) << cell().name;
  }
}

TEST_P(BitsOf, cell_bits_are_the_same_alone_and_in_a_batch) {
  const Structure structure = Structure::chains(kBitLengths);
  const auto all = test::Runner<float>(circuit_).run(structure);
  test::Runner<float> alone(circuit_);
  for (Index s = 0; s < structure.sequences(); ++s) {
    const auto one = alone.run(Structure::chains(1, structure.size(s)), {.sequences = {s}});
    const auto part = [&](const std::vector<float>& x) {
      return std::span(x).subspan(at(structure.item(s, 0) * kBitSymbols), at(structure.size(s) * kBitSymbols));
    };
    EXPECT_TRUE(same_bits(one.outputs, part(all.outputs))) << cell().name;
    EXPECT_TRUE(same_bits(one.tangents, part(all.tangents))) << cell().name;
  }
}

TEST_P(BitsOf, stepped_cell_has_the_bits_of_the_unfolding) {
  test::Runner<float> runner(circuit_);
  const auto expected = runner.run(Structure::chains(1, 9)).outputs;
  Team team(1);
  Stepper<float> stepper(std::make_shared<const Plan>(circuit_), runner.parameters(), team);
  const Signal x{&circuit_, 0};
  for (Index t = 0; t < 9; ++t) {
    stepper.symbols(x)[0] = runner.unfolding().symbols(x)[at(t)];
    stepper.step();
    const Matrix<const float> row = stepper.value({&circuit_, circuit_.outputs()[0]});
    EXPECT_TRUE(
        same_bits({row.data, at(kBitSymbols)}, std::span(expected).subspan(at(t * kBitSymbols), at(kBitSymbols))))
        << cell().name << " at " << t;
  }
}

TEST_P(BitsOf, windowed_cell_has_the_bits_of_one_long_window) {
  const auto whole = test::Runner<float>(circuit_).run(Structure::chains(2, 10)).outputs;
  test::Runner<float> runner(circuit_);
  State<float> state(runner.unfolding().plan(), 2);
  for (const auto& [begin, length] : {std::pair<Index, Index>{0, 3}, {3, 1}, {4, 6}}) {
    runner.lay(Structure::chains(2, length), {.begin = begin});
    runner.unfolding().forward(&state);
    const auto part = runner.outputs();
    for (Index s = 0; s < 2; ++s)
      EXPECT_TRUE(same_bits(std::span(part).subspan(at(s * length * kBitSymbols), at(length * kBitSymbols)),
                            std::span(whole).subspan(at((s * 10 + begin) * kBitSymbols), at(length * kBitSymbols))))
          << cell().name << " from " << begin;
  }
}

/// The gradients that a segment completes already have their final values after that segment.
TEST_P(BitsOf, cell_bits_do_not_depend_on_gradient_order) {
  for (const int threads : {1, 3}) {
    test::Runner<float> runner(circuit_, {}, threads);
    runner.run(Structure::chains(kBitLengths));
    const std::vector<float> expected = runner.gradient();
    runner.seed(false);
    const Plan& plan = runner.unfolding().plan();
    std::vector<float> gradient(expected.size(), 1234.5F), announced = gradient;
    const auto take = [&](const ParameterInfo& p) {
      std::copy_n(gradient.begin() + p.offset, p.size(), announced.begin() + p.offset);
    };
    const SegmentDone done = [&](int segment) {
      for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i) {
        const Node& node = plan.nodes()[static_cast<std::size_t>(i)];
        if (node.kind() != Node::Kind::affine || !plan.live(i) || plan.last_segment(i) != segment) continue;
        for (const auto& term : node.terms()) take(plan.parameters()[at(term.parameter)]);
        if (node.affine().bias >= 0) take(plan.parameters()[at(node.affine().bias)]);
      }
    };
    runner.unfolding().backward(gradient, {.done = &done});
    EXPECT_TRUE(same_bits(gradient, expected)) << cell().name;
    for (std::size_t i = 0; i < announced.size(); ++i)
      EXPECT_TRUE(announced[i] == 1234.5F || announced[i] == expected[i]) << cell().name << " at " << i;
    EXPECT_LT(std::ranges::count(announced, 1234.5F), static_cast<std::ptrdiff_t>(announced.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(, BitsOf, testing::ValuesIn(tested()));

}  // namespace
}  // namespace unfold
