#include "train/objective/sampled_softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/optim/small_network.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kVocabulary = 23, kHidden = 5;
using WholeCell = SmallNetwork<double>::Cell;

/// A network over kVocabulary symbols restricted to `outputs` outputs.
struct Net {
  explicit Net(Index outputs) : whole(kVocabulary, kHidden, WholeCell::lstm) {
    const Signal x = circuit.symbols("symbols", kVocabulary);
    const Signal logits = circuit.affine("output", outputs, {{"V", lstm(circuit, x, kHidden)}});
    circuit.output(logits);
    network = whole.network;
    network.fewer_outputs =
        std::make_shared<const Network<double>>(text_network<double>(std::make_shared<const Plan>(circuit), x, logits));
    Random random(5, "biases");  // far from uniform
    const Matrix<double> biases = whole.parameters.at("output/bias");
    for (Index i = 0; i < kVocabulary; ++i) biases(0, i) = random.normal();
  }
  SmallNetwork<double> whole;
  Circuit circuit;
  Network<double> network;
};

Batch window_of(Index chains, Index length) {
  Batch window;
  window.structure = Structure::chains(chains, length);
  for (Index c = 0; c < chains; ++c) window.carry.slots.push_back(c);
  for (Index r = 0; r < chains * length; ++r) {
    read_symbols(window).push_back(static_cast<Symbol>(r * 5 % kVocabulary));
    predicted_symbols(window).push_back(r == 2 ? kNoSymbol : static_cast<Symbol>(r * r % 7));
  }
  return window;
}

struct Sums {
  double nats = 0;
  std::vector<double> gradient;
};

Sums sampled(Net& net, const Batch& window, Index number, Team& team) {
  SampledSoftmax<double> pass(net.network, net.whole.parameters, 1, team);
  State<double> state(*net.network.plan, window.structure.sequences());
  Sums found{.nats = 0, .gradient = std::vector<double>(static_cast<std::size_t>(net.whole.parameters.size()), 7)};
  found.nats = pass.gradient(window, state, number, 0.25, found.gradient, false);
  return found;
}

TEST(SampledSoftmax, sampled_softmax_over_all_symbols_is_the_softmax) {
  Team team(2);
  Net net(kVocabulary);
  const Batch window = window_of(3, 4);
  const Sums found = sampled(net, window, 3, team);
  BatchPass<double> pass(net.whole.network, team);
  pass.set_parameters(net.whole.parameters);
  State<double> state(*net.network.plan, 3);
  std::vector<double> want(found.gradient.size());
  EXPECT_NEAR(found.nats, pass.gradient(window, state, 0.25, want), 1e-12);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(found.gradient[i], want[i], 1e-14) << i;
}

TEST(SampledSoftmax, sampled_softmax_has_the_gradient_of_its_loss) {
  Team team(1);
  Net net(12);
  const Batch window = window_of(2, 5);
  const Sums found = sampled(net, window, 9, team);
  for (Index i = 0; i < net.whole.parameters.size(); ++i) {
    double& x = net.whole.parameters.flat()[static_cast<std::size_t>(i)];
    const double before = x, step = 1e-6;
    x = before + step;
    const double above = sampled(net, window, 9, team).nats;
    x = before - step;
    const double below = sampled(net, window, 9, team).nats;
    x = before;
    EXPECT_NEAR(found.gradient[static_cast<std::size_t>(i)], 0.25 * (above - below) / (2 * step), 1e-8) << i;
  }
}

TEST(SampledSoftmax, sampled_normalizer_is_unbiased) {
  Team team(1);
  Net net(6), whole(kVocabulary);
  const Batch window = window_of(1, 1);
  const double exact = sampled(whole, window, 0, team).nats;
  constexpr int kDraws = 4000;
  double sum = 0, squares = 0;
  for (int number = 0; number < kDraws; ++number) {
    const double ratio = std::exp(sampled(net, window, number, team).nats - exact);  // Z' / Z: the target is the same
    sum += ratio, squares += ratio * ratio;
  }
  const double mean = sum / kDraws, deviation = std::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_GT(deviation, 1e-3);  // it is an estimate
  EXPECT_NEAR(mean, 1, 4 * deviation);
}

TEST(SampledSoftmax, sampled_softmax_accumulates_gradients_on_request) {
  Team team(1);
  Net net(12);
  const Batch window = window_of(2, 3);
  const Sums once = sampled(net, window, 4, team);
  SampledSoftmax<double> pass(net.network, net.whole.parameters, 1, team);
  State<double> state(*net.network.plan, 2);
  std::vector<double> twice = once.gradient;
  pass.gradient(window, state, 4, 0.25, twice, true);
  for (std::size_t i = 0; i < twice.size(); ++i) EXPECT_DOUBLE_EQ(twice[i], 2 * once.gradient[i]) << i;
}

TEST(Candidates, candidates_are_the_targets_and_distinct_others) {
  const std::vector<Symbol> targets = {4, kNoSymbol, 9, 4, 0};
  const Candidates drawn = Candidates::draw(targets, 50, 20, 1, 7);
  EXPECT_EQ(drawn.predicted, 3);
  EXPECT_EQ(std::vector<Symbol>(drawn.symbols.begin(), drawn.symbols.begin() + 3), (std::vector<Symbol>{0, 4, 9}));
  EXPECT_EQ(std::set<Symbol>(drawn.symbols.begin(), drawn.symbols.end()).size(), 20U);
  EXPECT_DOUBLE_EQ(drawn.each_drawn_counts, 47.0 / 17.0);
  EXPECT_EQ(drawn.symbols, Candidates::draw(targets, 50, 20, 1, 7).symbols);
  EXPECT_NE(drawn.symbols, Candidates::draw(targets, 50, 20, 1, 8).symbols);
  EXPECT_NE(drawn.symbols, Candidates::draw(targets, 50, 20, 2, 7).symbols);
  EXPECT_THROW(Candidates::draw(targets, 50, 3, 1, 7), UsageError);
}

}  // namespace
}  // namespace unfold
