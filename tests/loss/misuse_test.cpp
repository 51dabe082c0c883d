/// Losses, fields and networks reject targets, matrices and vectors that do not match their signal.

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/usage_error.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/loss/network.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

/// A signal of `cols` numbers at each of three positions, and all arguments of a loss with the right sizes.
struct MisusedLoss {
  explicit MisusedLoss(std::unique_ptr<Loss<double>> made, Index size) : loss(std::move(made)), cols(size) {
    signal = circuit.affine("o", cols, {{"W", circuit.input("x", 1)}});
    circuit.output(signal);
    loss->declare(circuit, signal);
    values = Parameters<double>(circuit);
    o.resize(static_cast<std::size_t>(3 * cols));
    adjoint = o;
  }
  Observed<double> seen(const Targets<double>& targets) const {
    return {structure, {o.data(), 3, cols, cols}, targets, std::as_const(values).flat()};
  }
  void gradient(const Targets<double>& targets, Index rows, Index columns, std::size_t own) {
    std::vector<double> all(own);
    loss->gradient(seen(targets), 1, team, nats.data(), {adjoint.data(), rows, columns, columns}, all);
  }

  std::unique_ptr<Loss<double>> loss;
  Index cols;
  Circuit circuit;
  Signal signal;
  Parameters<double> values;
  Structure structure = Structure::chains({3});
  Team team{1};
  std::vector<double> o, adjoint, nats = std::vector<double>(3);
};

TEST(LossMisuse, TargetsOutsideTheAlphabetAreRefused) {
  for (const char* name : {"softmax", "crf", "ctc"}) {
    SCOPED_TRACE(name);
    MisusedLoss of(choose_loss(name).make<double>(), 4);
    for (const Symbol wrong : {Symbol{-2}, Symbol{4}, std::numeric_limits<Symbol>::max()}) {
      const std::vector<Symbol> symbols = {1, wrong, 2};
      const Targets<double> targets{.symbols = symbols.data(), .values = {}};
      EXPECT_NE(testing_support::usage_error(
                    [&] { of.loss->negative_log_likelihood(of.seen(targets), of.team, of.nats.data()); }),
                "");
    }
    EXPECT_USAGE_ERROR(of.loss->negative_log_likelihood(of.seen({}), of.team, of.nats.data()), "no target symbols");
  }
}

TEST(LossMisuse, AdjointsAndGradientsOfTheWrongSizeAreRefused) {
  const std::vector<Symbol> symbols = {1, 0, 2};
  const Targets<double> targets{.symbols = symbols.data(), .values = {}};
  for (const char* name : {"softmax", "crf", "ctc"}) {
    SCOPED_TRACE(name);
    MisusedLoss of(choose_loss(name).make<double>(), 4);
    const auto all = static_cast<std::size_t>(of.values.size());
    of.gradient(targets, 3, 4, all);
    EXPECT_USAGE_ERROR(of.gradient(targets, 2, 4, all), "the adjoint is 2 x 4, but the signal is 3 x 4");
    EXPECT_USAGE_ERROR(of.gradient(targets, 3, 3, all), "the adjoint is 3 x 3");
    if (!of.loss->parameter_indices().empty()) {
      EXPECT_USAGE_ERROR(of.gradient(targets, 3, 4, 0), "out of range");
    }
  }
  MisusedLoss crf(choose_loss("crf").make<double>(), 4);
  crf.structure = Structure::chains({4});  // one position more than the signal has rows
  EXPECT_USAGE_ERROR(crf.loss->negative_log_likelihood(crf.seen(targets), crf.team, crf.nats.data()), "positions");
}

TEST(LossMisuse, TangentsAndResultsOfCurvaturesMustFit) {
  const std::vector<Symbol> symbols = {1, 0, 2};
  const Targets<double> targets{.symbols = symbols.data(), .values = {}};
  for (const char* name : {"softmax", "crf"}) {
    MisusedLoss of(choose_loss(name).make<double>(), 4);
    const auto& curvature = of.loss->need<LossCurvature<double>>("test");
    std::vector<double> all(static_cast<std::size_t>(of.values.size())), t(12);
    const Matrix<double> right{t.data(), 3, 4, 4}, low{t.data(), 2, 4, 4}, thin{t.data(), 3, 2, 2};
    const auto run = [&](Matrix<double> tangent, Matrix<double> result) {
      curvature.curvature(of.seen(targets), 1, of.team, tangent, all, result, all);
    };
    run(right, {of.adjoint.data(), 3, 4, 4});
    EXPECT_USAGE_ERROR(run(low, right), "the tangent is 2 x 4");
    EXPECT_USAGE_ERROR(run(right, thin), "the result is 3 x 2");
    EXPECT_USAGE_ERROR(curvature.curvature_sample(of.seen(targets), 1, of.team, 1, 1, low, all), "the result is 2 x 4");
  }
}

TEST(FieldMisuse, RowsAndColumnsOutOfRangeAreRefused) {
  SymbolRows symbols{{0, 1, 2}};
  ValueRows values;
  values.clear(3, 2);
  for (const Index row : {Index{-1}, Index{3}}) {
    EXPECT_USAGE_ERROR(symbols.present(row), "out of range");
    EXPECT_USAGE_ERROR(values.present(row), "out of range");
    EXPECT_USAGE_ERROR(values.set(row, 0, 1.0F), "out of range");
    EXPECT_USAGE_ERROR(values.values<float>(row, 1), "out of range");
  }
  EXPECT_USAGE_ERROR(values.set(0, 2, 1.0F), "column 2 is out of range");
  EXPECT_USAGE_ERROR(values.values<double>(0, 4), "out of range");
  EXPECT_USAGE_ERROR(values.clear(-1, 2), "out of range");
  EXPECT_USAGE_ERROR(values.clear(2, -1), "out of range");
  EXPECT_USAGE_ERROR(symbols.clear(-1), "out of range");
  EXPECT_USAGE_ERROR(targets_of<float>(Field(symbols), 1, 3), "out of range");
  EXPECT_USAGE_ERROR(targets_of<double>(Field(values), -1, 1), "out of range");
}

TEST(NetworkMisuse, IncompleteNetworksAreRefused) {
  Circuit c, other;
  const Signal x = c.input("x", 2), y = c.affine("y", 2, {{"W", x}}), foreign = other.input("x", 2);
  c.output(y);
  const auto plan = std::make_shared<const Plan>(c);
  const std::shared_ptr<const Loss<float>> loss = gaussian_loss<float>();
  const auto valid = [&] { return Network<float>::of(plan, {"x", x}, {"y", y, loss}); };
  valid().validate();
  const auto fault = [&](const std::function<void(Network<float>&)>& change) {
    Network<float> network = valid();
    change(network);
    network.validate();
  };
  EXPECT_USAGE_ERROR(fault([](auto& n) { n.heads.clear(); }), "at least one head");
  EXPECT_USAGE_ERROR(fault([](auto& n) { n.plan = nullptr; }), "needs a plan");
  EXPECT_USAGE_ERROR(fault([](auto& n) { n.heads[0].loss = nullptr; }), "needs a signal and a loss");
  EXPECT_USAGE_ERROR(fault([](auto& n) { n.heads[0].signal = {}; }), "needs a signal and a loss");
  EXPECT_USAGE_ERROR(fault([](auto& n) { n.heads[0].weight = std::numeric_limits<double>::quiet_NaN(); }), "finite");
  EXPECT_USAGE_ERROR(fault([&](auto& n) { n.heads[0].signal = x; }), "is not an output");
  EXPECT_USAGE_ERROR(fault([&](auto& n) { n.inputs[0].signal = foreign; }), "is not a signal of the circuit");
  EXPECT_USAGE_ERROR(fault([&](auto& n) { n.inputs[0].signal = y; }), "is not an input");
  EXPECT_USAGE_ERROR(Network<float>().circuit(), "at least one head");
}

}  // namespace
}  // namespace unfold
