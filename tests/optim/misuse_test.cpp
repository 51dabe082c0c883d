/// Optimizers, directions and passes over batches reject calls in the wrong order and vectors of the wrong length.

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/usage_error.h"
#include "unfold/optim/optimizer.h"
#include "unfold/train/passes/batch_pass.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

using testing_support::usage_error;

/// A quadratic function of the parameters of one matrix.
class MisusedBowl final : public Objective<float> {
 public:
  explicit MisusedBowl(Index size) {
    circuit_.output(circuit_.affine("y", size, {{"W", circuit_.input("x", 1)}}, Init::zero(), false));
    parameters_ = Parameters<float>(circuit_);
    parameters_.initialize(1);
  }
  Parameters<float>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double gradient(std::span<float> gradient) override {
    std::ranges::copy(parameters_.flat(), gradient.begin());
    return 1;
  }
  double loss() override { return 1; }

 private:
  Circuit circuit_;
  Parameters<float> parameters_;
  Team team_{1};
};

struct IgnoredState final : StateVisitor<float> {
  void operator()(std::string_view, std::span<float>) override {}
  void operator()(std::string_view, double&) override {}
};

TEST(OptimizerMisuse, StepsAndStateNeedAttachFirst) {
  for (const OptimizerHelp& entry : optimizers()) {
    SCOPED_TRACE(entry.name);
    MisusedBowl bowl(4);
    const std::vector<float> before(bowl.parameters().flat().begin(), bowl.parameters().flat().end());
    const auto optimizer = make_optimizer<float>(entry.name, 4);
    IgnoredState visitor;
    EXPECT_USAGE_ERROR(optimizer->step(bowl, {}, 1), "call attach with the objective first");
    EXPECT_USAGE_ERROR(optimizer->visit_state(visitor), "call attach with the objective first");
    EXPECT_TRUE(std::ranges::equal(before, bowl.parameters().flat()));
  }
}

TEST(OptimizerMisuse, ParameterCountMismatchIsRefused) {
  MisusedBowl bowl(4), larger(7);
  const auto optimizer = make_optimizer<float>("adam", 4);
  optimizer->attach(bowl);
  EXPECT_USAGE_ERROR(optimizer->attach(bowl), "already attached");
  EXPECT_USAGE_ERROR(optimizer->step(larger, {}, 1), "the vector of parameters has 7");
  for (const double factor : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_USAGE_ERROR(optimizer->step(bowl, {}, factor), "the factor");
  EXPECT_TRUE(optimizer->step(bowl, {}, 1).finite);
  for (const char* spec : {"sgd", "rmsprop", "adam", "adamw"}) {
    const auto small = make_optimizer<float>(spec, 3);
    small->attach(bowl);
    EXPECT_USAGE_ERROR(small->step(bowl, {}, 1), "elements");
  }
  EXPECT_USAGE_ERROR(make_optimizer<float>("adam", 0), "at least 1");
  EXPECT_USAGE_ERROR(make_optimizer<float>("adam", -4), "at least 1");
}

TEST(OptimizerMisuse, CustomOptimizersAreChecked) {
  MisusedBowl bowl(4);
  const auto made = [&](double rate) {
    return Optimizer<float>(sgd_direction<float>(4, {}, 0), fixed_control<float>(4, 1), {.rate = rate}, {}, "own");
  };
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_USAGE_ERROR(made(rate), "the learning rate");
  Optimizer<float> empty(nullptr, nullptr, {.rate = 1}, {}, "own");
  empty.attach(bowl);
  EXPECT_USAGE_ERROR(empty.step(bowl, {}, 1), "no direction or no control");
  Team team(1);
  std::vector<float> four(4), three(3);
  for (const auto& direction :
       {sgd_direction<float>(4, {}, 0), rmsprop_direction<float>(4, {}, 0), adam_direction<float>(4, {}, 0, false)}) {
    EXPECT_USAGE_ERROR(direction->move(team, four, three, 1, 0.1), "the gradient has 3");
    EXPECT_USAGE_ERROR(direction->move(team, three, three, 1, 0.1), "the vector of parameters has 3");
  }
}

/// A network over one field of symbols that predicts another.
struct MisusedNetwork {
  MisusedNetwork() {
    const Signal h = c.link(3), x = c.symbols("x", 4), next = tanh(c.affine("z", 3, {{"W", x}, {"U", h}}));
    c.feed(h, next);
    const Signal y = c.affine("y", 4, {{"V", next}});
    c.output(y);
    network = Network<float>::of(std::make_shared<const Plan>(c), {"x", x}, {"y", y, softmax_loss<float>()});
    batch.structure = Structure::chains(2, 3);
    for (const char* field : {"x", "y"}) batch.symbol_field(field).symbols.assign(6, 1);
    batch.reset_all_chains();
  }
  Circuit c;
  Network<float> network;
  Batch batch;
};

TEST(BatchPassMisuse, MismatchedBatchesAreRefused) {
  MisusedNetwork of;
  Team team(1);
  BatchPass<float> pass(of.network, team);
  State<float> state(*of.network.plan, 2), none;
  Parameters<float> parameters(of.c);
  parameters.initialize(1);
  std::vector<float> gradient(static_cast<std::size_t>(parameters.size())), longer(gradient.size() + 1);
  EXPECT_USAGE_ERROR(pass.forward(of.batch, state), "call set_parameters first");
  pass.set_parameters(parameters);
  EXPECT_USAGE_ERROR(pass.forward(of.batch, none), "belongs to a different plan");
  EXPECT_USAGE_ERROR(pass.gradient(of.batch, state, 1, longer), "the gradient has");
  EXPECT_USAGE_ERROR(pass.gradient(of.batch, state, 1, {}), "an empty gradient requires a device");
  EXPECT_GT(pass.gradient(of.batch, state, 1, gradient), 0);
  const auto fault = [&](const std::function<void(Batch&)>& change) {
    Batch changed = of.batch;
    change(changed);
    pass.gradient(changed, state, 1, gradient);
  };
  EXPECT_USAGE_ERROR(fault([](Batch& b) { b.carry.slots.clear(); }), "the list of state slots has 0");
  EXPECT_USAGE_ERROR(fault([](Batch& b) { b.carry.slots[0] = 2; }), "state slot 2 does not exist; the state has 2");
  EXPECT_USAGE_ERROR(fault([](Batch& b) { b.symbol_field("x").symbols[3] = 4; }), "is not in an alphabet of 4");
  EXPECT_NE(usage_error([&] { fault([](Batch& b) { b.symbol_field("y").symbols[3] = 4; }); }), "");
  EXPECT_USAGE_ERROR(fault([](Batch& b) { b.symbol_field("x").symbols.resize(5); }), "has 5 rows");
  EXPECT_USAGE_ERROR(fault([](Batch& b) { b.symbol_field("y").symbols.resize(5); }), "out of range");
  EXPECT_USAGE_ERROR(fault([](Batch& b) { b.fields.erase("y"); }), "no field");
  EXPECT_USAGE_ERROR(fault([](Batch& b) { b.value_field("x").clear(6, 4); }), "contains vectors,");
}

TEST(TrainerMisuse, InvalidOptionsAndPartsAreRefused) {
  MisusedNetwork of, other;
  Parameters<float> parameters(of.c), foreign;
  Team team(1);
  const auto trainer = [&](const Network<float>& network, Parameters<float>& values, const TrainerOptions& options) {
    Trainer<float>(network, values, TrainingSources<float>{}, options, team);
  };
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1}), "no sources of batches");
  EXPECT_USAGE_ERROR(trainer(Network<float>(), parameters, {.steps = 1}), "at least one head");
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {}), "needs a budget");
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1, .validate_every = -1}), "at least 0");
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1, .patience = -1}), "at least 0");
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1, .sample_every = -1}), "at least 0");
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1, .log_every = 0}), "at least 1");
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1, .shards = 0}), "at least 1 shard");
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1, .attempts = -1}), "at least 0");
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1, .epochs = no_number}), "must be numbers");
  EXPECT_USAGE_ERROR(trainer(of.network, parameters, {.steps = 1, .checkpoint_seconds = -1}), "at least 0");
}

}  // namespace
}  // namespace unfold
