/// Calls with arguments out of range, of the wrong length or in the wrong order raise UsageError, in release builds
/// too.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "graph/engine/pass_timing.h"
#include "tests/support/usage_error.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/engine/stepper.h"
#include "unfold/graph/engine/stored_activations.h"
#include "unfold/graph/engine/unfolding.h"

namespace unfold {
namespace {

using testing_support::usage_error;

constexpr Index kAlphabet = 5, kUnits = 3;

/// A recurrent circuit over symbols and one number.
struct MisusedNet {
  MisusedNet() {
    h = c.link(kUnits, Delay::previous(), true);
    z = c.affine("z", kUnits, {{"W", x}, {"V", number}, {"U", h}});
    next = tanh(z);
    c.feed(h, next);
    logits = c.affine("logits", kAlphabet, {{"O", next}});
    c.output(logits);
  }
  Circuit c;
  Signal x = c.symbols("x", kAlphabet), number = c.input("number", 1);
  Signal h, z, next, logits;
};

class EngineMisuse : public ::testing::Test {
 protected:
  EngineMisuse() { parameters_.initialize(3); }

  /// An unfolding over chains, with parameters and inputs.
  void ready(const Structure& structure = Structure::chains({4, 2})) {
    u_.lay(structure);
    u_.set_parameters(parameters_);
    for (Symbol& symbol : u_.symbols(net_.x)) symbol = 1;
  }
  void pass() {
    u_.forward();
    Matrix<double> seed = u_.adjoint(net_.logits);
    std::fill_n(seed.data, seed.rows * seed.cols, 1.0);
    u_.backward(gradient_);
  }

  MisusedNet net_, other_;
  std::shared_ptr<const Plan> plan_ = std::make_shared<const Plan>(net_.c);
  Parameters<double> parameters_{net_.c};
  Team team_{1};
  Unfolding<double> u_{plan_, team_};
  std::vector<double> gradient_ = std::vector<double>(static_cast<std::size_t>(parameters_.size()));
};

TEST_F(EngineMisuse, SymbolsOutsideTheAlphabetAreRefusedByEveryPass) {
  for (const Symbol wrong : {Symbol{-2}, Symbol{kAlphabet}, Symbol{1000000}, std::numeric_limits<Symbol>::min(),
                             std::numeric_limits<Symbol>::max()}) {
    ready();
    u_.symbols(net_.x)[5] = wrong;
    EXPECT_USAGE_ERROR(u_.forward(), "x, row 5: symbol " + std::to_string(wrong) + " is not in an alphabet of 5");
    StoredActivations<double> kept;
    u_.symbols(net_.x)[5] = kNoSymbol;
    u_.forward();
    u_.keep(kept);
    u_.symbols(net_.x)[5] = wrong;
    EXPECT_USAGE_ERROR(u_.recall(kept), "is not in an alphabet of 5");
    Stepper<double> stepper(plan_, parameters_, team_);
    stepper.step();
    stepper.symbols(net_.x)[0] = wrong;
    EXPECT_USAGE_ERROR(stepper.step(), "is not in an alphabet of 5");
    stepper.symbols(net_.x)[0] = kNoSymbol;
    stepper.step();
  }
}

TEST_F(EngineMisuse, CallsOutOfOrderAreRefused) {
  EXPECT_USAGE_ERROR(u_.input(net_.number), "lay it over a structure first");
  EXPECT_USAGE_ERROR(u_.symbols(net_.x), "lay it over a structure first");
  EXPECT_USAGE_ERROR(u_.value(net_.logits), "lay it over a structure first");
  EXPECT_USAGE_ERROR(u_.adjoint(net_.logits), "lay it over a structure first");
  EXPECT_USAGE_ERROR(u_.clear_adjoints(), "lay it over a structure first");
  EXPECT_USAGE_ERROR(u_.forward(), "lay it over a structure first");
  EXPECT_USAGE_ERROR(u_.symbols_read(net_.x.id), "lay it over a structure first");
  State<double> state(*plan_, 2);
  EXPECT_USAGE_ERROR(u_.step(state), "lay it over a structure first");
  u_.lay(Structure::chains({4, 2}));
  EXPECT_USAGE_ERROR(u_.forward(), "set its parameters first");
  EXPECT_USAGE_ERROR(u_.step(state), "set its parameters first");
  ready();
  const std::vector<double> direction(gradient_.size());
  StoredActivations<double> kept;
  const auto before_forward = [&] {
    EXPECT_USAGE_ERROR(u_.value(net_.logits), "call forward first");
    EXPECT_USAGE_ERROR(u_.backward(gradient_), "call forward first");
    EXPECT_USAGE_ERROR(u_.tangent(direction), "call forward first");
    EXPECT_USAGE_ERROR(u_.keep(kept), "call forward first");
    EXPECT_USAGE_ERROR(u_.first_non_finite(), "call forward first");
    EXPECT_USAGE_ERROR(u_.source_row(net_.next.id, 0, 0), "call forward first");
    EXPECT_USAGE_ERROR(u_.affine_adjoint(net_.z), "call backward first");
    EXPECT_USAGE_ERROR(u_.squares_at_starts(gradient_), "call backward first");
    EXPECT_USAGE_ERROR(u_.tangent_of(net_.logits), "call tangent first");
  };
  before_forward();
  EXPECT_USAGE_ERROR(u_.forward(nullptr, true), "only after a complete forward pass");
  EXPECT_USAGE_ERROR(u_.recall(kept), "were not kept");
  u_.forward();
  EXPECT_USAGE_ERROR(u_.backward(gradient_), "fill the adjoint of output logits first");
  pass();
  u_.affine_adjoint(net_.z);
  u_.set_parameters(parameters_);
  before_forward();
  pass();
  u_.lay(Structure::chains({4, 2}));
  before_forward();
}

TEST_F(EngineMisuse, VectorsOfTheWrongLengthAreRefused) {
  ready();
  pass();
  for (const int change : {-1, 1}) {
    std::vector<double> wrong(gradient_.size() + static_cast<std::size_t>(change));
    EXPECT_USAGE_ERROR(u_.tangent(wrong), "the direction has");
    EXPECT_USAGE_ERROR(u_.backward(wrong), "the gradient has");
    EXPECT_USAGE_ERROR(u_.squares_at_starts(wrong), "the result has");
    EXPECT_USAGE_ERROR(gauss_newton<double>(
                           u_, wrong, [](auto&) {}, gradient_),
                       "the direction has");
    EXPECT_USAGE_ERROR(gauss_newton<double>(
                           u_, gradient_, [](auto&) {}, wrong),
                       "the gradient has");
  }
  EXPECT_USAGE_ERROR(u_.backward({}, {.keep_gradient_on_device = true}), "keep_gradient_on_device requires a device");
}

TEST_F(EngineMisuse, SignalsOfOtherCircuitsAreRefused) {
  ready();
  pass();
  for (const Signal wrong : {Signal{}, Signal{&net_.c, -1}, Signal{&net_.c, 1000}, other_.logits, other_.x}) {
    EXPECT_NE(usage_error([&] { u_.input(wrong); }), "");
    EXPECT_NE(usage_error([&] { u_.symbols(wrong); }), "");
    EXPECT_NE(usage_error([&] { u_.value(wrong); }), "");
    EXPECT_NE(usage_error([&] { u_.adjoint(wrong); }), "");
    EXPECT_NE(usage_error([&] { u_.affine_adjoint(wrong); }), "");
    EXPECT_NE(usage_error([&] { u_.tangent_of(wrong); }), "");
    EXPECT_NE(usage_error([&] { Plan(net_.c, {}, {wrong}); }), "");
  }
  EXPECT_USAGE_ERROR(u_.symbols(net_.number), "does not contain symbols");
  EXPECT_USAGE_ERROR(u_.input(net_.x), "is not an input");
  EXPECT_USAGE_ERROR(u_.value(net_.x), "is not kept");
  EXPECT_USAGE_ERROR(u_.adjoint(net_.number), "is not an output");
  EXPECT_USAGE_ERROR(u_.affine_adjoint(net_.next), "is not an affine map");
}

TEST_F(EngineMisuse, NodesAndRowsOutOfRangeAreRefused) {
  ready();
  pass();
  for (const int node : {-1, 1000}) {
    EXPECT_USAGE_ERROR(u_.source_row(node, 0, 0), "out of range");
    EXPECT_USAGE_ERROR(u_.symbols_read(node), "out of range");
  }
  EXPECT_USAGE_ERROR(u_.symbols_read(net_.logits.id), "does not contain symbols");
  EXPECT_USAGE_ERROR(u_.source_row(net_.next.id, 4, 0), "out of range");
  EXPECT_USAGE_ERROR(u_.source_row(net_.next.id, 0, 6), "out of range");
  EXPECT_USAGE_ERROR(u_.source_row(net_.next.id, 0, -1), "out of range");
  const Node& z = plan_->nodes()[static_cast<std::size_t>(net_.z.id)];
  EXPECT_USAGE_ERROR(u_.rows_read(z, z.terms()[0], 0, 6), "out of range");
  EXPECT_USAGE_ERROR(u_.rows_read(z, z.terms()[0], 9, 0), "out of range");
  EXPECT_USAGE_ERROR(Plan(net_.c, std::vector<int>{}), "no output");
  EXPECT_USAGE_ERROR(Plan(net_.c, std::vector<int>{1000}), "out of range");
  EXPECT_USAGE_ERROR(Plan(net_.c, std::vector<int>{net_.x.id}), "cannot be an output");
}

TEST_F(EngineMisuse, StatesOfOtherPlansAndSlotsOutOfRangeAreRefused) {
  ready();
  Circuit wide;
  const Signal h = wide.link(kUnits + 4);
  wide.feed(h, tanh(wide.affine("z", kUnits + 4, {{"W", wide.symbols("x", kAlphabet)}, {"U", h}})));
  wide.output(wide.affine("y", 1, {{"V", h}}));
  const Plan wide_plan(wide);
  State<double> foreign(wide_plan, 2), small(*plan_, 1), state(*plan_, 2), none(*plan_, 0);
  EXPECT_USAGE_ERROR(u_.forward(&foreign), "belongs to a different plan");
  EXPECT_USAGE_ERROR(u_.forward(&small), "state slot 1 does not exist; the state has 1");
  u_.forward(&state);
  u_.clear_adjoints();
  EXPECT_USAGE_ERROR(u_.backward(gradient_, {}, &foreign), "belongs to a different plan");
  EXPECT_USAGE_ERROR(u_.backward(gradient_, {}, nullptr, &small), "state slot 1 does not exist; the state has 1");
  EXPECT_USAGE_ERROR(state.copy_slot(foreign, 0, 0), "a different plan");
  for (const Index slot : {Index{-1}, Index{2}}) {
    EXPECT_USAGE_ERROR(state.reset(slot), "out of range");
    EXPECT_USAGE_ERROR(state.fresh(slot), "out of range");
    EXPECT_USAGE_ERROR(state.row(slot), "out of range");
    EXPECT_USAGE_ERROR(state.mark_carried(slot), "out of range");
    EXPECT_USAGE_ERROR(state.copy_slot(state, slot, 0), "out of range");
    EXPECT_USAGE_ERROR(state.copy_slot(state, 0, slot), "out of range");
  }
  EXPECT_USAGE_ERROR(State<double>(*plan_, -1), "slots");
  const std::vector<Index> negative = {0, -1}, twice = {1, 1}, one = {0};
  EXPECT_USAGE_ERROR(u_.lay(Structure::chains({4, 2}), negative), "state slot -1");
  EXPECT_USAGE_ERROR(u_.lay(Structure::chains({4, 2}), twice), "two sequences have the state slot 1");
  EXPECT_USAGE_ERROR(u_.lay(Structure::chains({4, 2}), one), "the list of state slots has 1");
  ready(Structure::chains(1, 1));
  EXPECT_USAGE_ERROR(u_.step(foreign), "belongs to a different plan");
  EXPECT_USAGE_ERROR(u_.step(none), "out of range");
}

TEST_F(EngineMisuse, StepsNeedOneChainOfOnePositionWithoutDropout) {
  State<double> state(*plan_, 2);
  ready();
  EXPECT_USAGE_ERROR(u_.step(state), "one chain of one position");
  ready(Structure::chains(1, 1));
  u_.step(state);
  u_.set_dropout_seed(1);
  EXPECT_USAGE_ERROR(u_.step(state), "dropout");
  EXPECT_USAGE_ERROR(u_.set_dropout_seed(1, -1), "position -1");
}

TEST_F(EngineMisuse, ParametersOfOtherShapesAreRefused) {
  Circuit turned;  // the same number of elements, in blocks of other shapes
  turned.output(turned.affine("a", parameters_.size(), {{"W", turned.input("x", 1)}}, Init::zero(), false));
  const Parameters<double> foreign(turned);
  ASSERT_EQ(foreign.size(), parameters_.size());
  ready();
  EXPECT_USAGE_ERROR(u_.set_parameters(foreign), "the parameters belong to a different circuit");
  EXPECT_USAGE_ERROR(Stepper<double>(plan_, foreign, team_), "the parameters belong to a different circuit");
  EXPECT_USAGE_ERROR(Stepper<double>(nullptr, parameters_, team_), "the plan is null");
  for (const int block : {-1, 1000}) {
    EXPECT_USAGE_ERROR(parameters_[block], "out of range");
    EXPECT_USAGE_ERROR(parameters_.view(gradient_.data(), block), "out of range");
  }
}

TEST_F(EngineMisuse, AccountsAndKeptValuesMustFit) {
  Account account(1);
  Team three(3);
  Unfolding<double> u(plan_, three);
  EXPECT_USAGE_ERROR(u.set_account(&account), "1 entries is too small for a team of 3");
  ready();
  u_.forward();
  StoredActivations<double> kept;
  u_.keep(kept);
  ready(Structure::chains({4, 3}));
  EXPECT_USAGE_ERROR(u_.recall(kept), "were not kept over this structure");
}

TEST(StructureMisuse, SequencesPositionsAndRowsOutOfRangeAreRefused) {
  const Structure chains = Structure::chains({4, 2});
  for (const Index s : {Index{-1}, Index{2}, std::numeric_limits<Index>::max()}) {
    EXPECT_USAGE_ERROR(chains.size(s), "out of range: there are 2, numbered from 0");
    EXPECT_USAGE_ERROR(chains.item(s, 0), "out of range");
    EXPECT_USAGE_ERROR(chains.row(s, 0), "out of range");
    EXPECT_USAGE_ERROR(chains.place(s), "out of range");
    EXPECT_USAGE_ERROR(chains.sequence_at(s), "out of range");
  }
  EXPECT_USAGE_ERROR(chains.row(1, 2), "position 2 is out of range: there are 2");
  EXPECT_USAGE_ERROR(chains.row(0, -1), "position -1 is out of range");
  EXPECT_USAGE_ERROR(chains.sequence_of_item(6), "out of range");
  EXPECT_USAGE_ERROR(chains.order().step(4), "out of range");
  EXPECT_USAGE_ERROR(chains.child_rows(0), "out of range");
  EXPECT_USAGE_ERROR(chains.predecessors({Delay::Along::previous, -1}, Corner::top_left),
                     "needs a number of steps of at least 1");
  EXPECT_USAGE_ERROR(chains.part(1), "have no source");
  EXPECT_USAGE_ERROR(chains.part(-1), "have no source");
}

TEST(StructureMisuse, SizesOutOfRangeAreRefused) {
  EXPECT_USAGE_ERROR(Structure::chains(-1, 4), "-1 chains");
  EXPECT_USAGE_ERROR(Structure::chains(2, 0), "is empty");
  EXPECT_USAGE_ERROR(Structure::chains({4, -2}), "is empty");
  EXPECT_USAGE_ERROR(Structure::chains({std::numeric_limits<Index>::max()}), "positions");
  const std::vector<std::pair<Index, Index>> huge = {{Index{1} << 40, Index{1} << 40}}, small = {{4, 4}};
  EXPECT_USAGE_ERROR(Structure::grids(huge), "a grid of");
  const std::vector<Index> sides = {-2};
  EXPECT_USAGE_ERROR(Structure::grids(small, sides), "blocks of side -2");
  const std::vector<Tree> negative = {{{{-2}, {}}}}, beyond = {{{{2}, {}}}};
  EXPECT_USAGE_ERROR(Structure::trees(negative), "has child -2");
  EXPECT_USAGE_ERROR(Structure::trees(beyond), "has child 2");
  const Structure grid = Structure::grids(small);
  EXPECT_USAGE_ERROR(grid.with_source(grid).rows_seen({Delay::Along::block, 0}, 1), "blocks of side 0");
}

TEST(CircuitMisuse, SignalsThatBelongToNoCircuitAreRefused) {
  MisusedNet net, other;
  const Signal none;
  for (const auto& operation : std::vector<std::function<Signal(Signal)>>{
           sigmoid, [](Signal x) { return tanh(x); }, hard_sigmoid, relu, softplus, [](Signal x) { return exp(x); },
           [](Signal x) { return log(x); }, square, one_minus, [](Signal x) { return x + x; },
           [](Signal x) { return x - x; }, [](Signal x) { return x * x; }, [](Signal x) { return 2 * x; },
           [](Signal x) { return x + 2; }, [](Signal x) { return 1 - x; }}) {
    EXPECT_NE(usage_error([&] { operation(none); }), "");
    EXPECT_NE(usage_error([&] { operation({&net.c, 1000}); }), "");
  }
  for (const Signal wrong : {none, Signal{&net.c, 1000}, Signal{&net.c, -7}, other.next}) {
    EXPECT_NE(usage_error([&] { net.c.output(wrong); }), "");
    EXPECT_NE(usage_error([&] { net.c.slice(wrong, 0, 1); }), "");
    EXPECT_NE(usage_error([&] { net.c.dropout(wrong, 0.5); }), "");
    EXPECT_NE(usage_error([&] { net.c.feed(wrong, net.next); }), "");
    EXPECT_NE(usage_error([&] { net.c.feed(net.h, wrong); }), "");
    EXPECT_NE(usage_error([&] { net.c.join({wrong}); }), "");
    if (wrong.circuit != nullptr) {  // a default signal restores zero
      EXPECT_NE(usage_error([&] { static_cast<void>(net.c.with_initial_state(wrong)); }), "");
    }
    EXPECT_NE(usage_error([&] { net.c.parts(wrong); }) + usage_error([&] { net.c.output(wrong); }), "");
    EXPECT_NE(usage_error([&] { net.c.affine("a", 2, {{"W", wrong}}); }), "");
    EXPECT_FALSE(net.c.is_symbols(wrong));
  }
  EXPECT_USAGE_ERROR(none.size(), "belongs to no circuit");
  EXPECT_USAGE_ERROR((Signal{&net.c, 1000}.size()), "out of range");
}

TEST(CircuitMisuse, SizesOffsetsAndInitialValuesOutOfRangeAreRefused) {
  MisusedNet net;
  constexpr Index kMost = std::numeric_limits<Index>::max();
  EXPECT_USAGE_ERROR(net.c.slice(net.next, 1, kMost), "slice of");
  EXPECT_USAGE_ERROR(net.c.slice(net.next, kMost, 1), "slice of");
  EXPECT_USAGE_ERROR(net.c.input("wide", kMost), "has size");
  EXPECT_USAGE_ERROR(net.c.input("narrow", -1), "has size");
  EXPECT_USAGE_ERROR(net.c.parameter("p", kMost, kMost, Init::zero()), "at most");
  EXPECT_USAGE_ERROR(net.c.in_part(-1), "no part -1");
  Init few = Init::normal_columns({1, 2});
  few.blocks = 1;
  EXPECT_USAGE_ERROR(net.c.parameter("few", 2, 2, few), "2 values for 1 blocks");
  EXPECT_USAGE_ERROR(net.c.parameter("uncut", 2, 3, Init::block_values({1, 2})), "cannot be divided");
  EXPECT_USAGE_ERROR(net.c.parameter("nan", 1, 1, Init::constant(std::numeric_limits<double>::quiet_NaN())), "finite");
  EXPECT_USAGE_ERROR(net.c.parameter("empty", 1, 1, Init{.values = {}}), "0 values");
  EXPECT_USAGE_ERROR(net.c.link_like(net.c.nodes()[static_cast<std::size_t>(net.z.id)], net.c.parameters()),
                     "is not a link");
  EXPECT_USAGE_ERROR(net.c.link_like(net.c.nodes()[static_cast<std::size_t>(net.h.id)], {}), "out of range");
  EXPECT_USAGE_ERROR(net.c.mask_like(net.c.nodes()[static_cast<std::size_t>(net.z.id)]), "is not a mask");
  Circuit reading;
  EXPECT_USAGE_ERROR(path_reading(net.c, reading, 1000), "out of range");
  EXPECT_USAGE_ERROR(path_reading(net.c, reading, net.x.id), "only an affine map");
}

}  // namespace
}  // namespace unfold
