/// Sums over shards compared with the undivided pass, up to rounding; identical bits for any number of processes.

#include "train/passes/sharded_pass.h"

#include <gtest/gtest.h>

#include "optim/riemannian/metric_shards.h"
#include "tests/optim/small_network.h"
#include "tests/support/simulated_processes.h"
#include "unfold/optim/direction/step_control.h"

namespace unfold {
namespace {

constexpr Index kAlphabetSize = 5, kShardCount = 6;

/// A ragged batch with carried state, over a network with the given dropout.
struct ShardedProblem {
  explicit ShardedProblem(double dropout = 0, Index units = 4)
      : small(kAlphabetSize, units, SmallNetwork<double>::Cell::lstm, dropout, true) {
    batch.structure = Structure::chains({5, 3, 6, 2, 6, 4, 1, 3});
    batch.reset_all_chains();
    batch.whole = false;
    Random random(5, "batch");
    for (Index r = 0; r < batch.structure.positions(); ++r) {
      read_symbols(batch).push_back(static_cast<Symbol>(random.below(kAlphabetSize)));
      const bool predicted = random.below(3) != 0;
      predicted_symbols(batch).push_back(predicted ? static_cast<Symbol>(random.below(kAlphabetSize)) : kNoSymbol);
      batch.predicted += predicted;
    }
    before = State<double>(*small.network.plan, batch.structure.sequences());
    for (double& v : before.values()) v = random.uniform(-0.5, 0.5);
    for (Index slot = 2; slot < before.slots(); ++slot) before.mark_carried(slot);
    for (double& p : small.parameters.flat()) p += 0.3 * random.normal();
  }
  double scale() const { return 1 / static_cast<double>(batch.predicted); }
  std::size_t size() const { return small.parameters.flat().size(); }

  SmallNetwork<double> small;
  Batch batch;
  State<double> before;
};

void expect_near(std::span<const double> a, std::span<const double> b, double tolerance = 1e-12) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << i;
}

struct PassResult {
  double nats = 0, forward = 0;
  std::vector<double> gradient;
};

PassResult pass_in(ShardedProblem& p, Team& team, const Sharding& sharding, std::optional<std::uint64_t> seed = {}) {
  ShardedPass<double> pass(p.small.network, team, 0, {}, sharding);
  pass.set_parameters(p.small.parameters);
  if (seed) pass.set_dropout_seed(*seed);
  PassResult result;
  result.gradient.resize(p.size());
  State<double> state = p.before;
  result.nats = pass.gradient(p.batch, state, p.scale(), result.gradient, false);
  pass.gradient(p.batch, state = p.before, p.scale(), result.gradient, true);
  for (double& g : result.gradient) g /= 2;
  result.forward = pass.forward(p.batch, state = p.before);
  return result;
}

TEST(ShardedPass, shards_sum_to_the_gradient_of_the_whole_batch) {
  for (const double dropout : {0.0, 0.4}) {
    ShardedProblem p(dropout);
    Team team(1);
    const PassResult whole = pass_in(p, team, {}, 7);
    for (const Index shards : {2, 6, 11}) {
      const PassResult divided = pass_in(p, team, {.shards = shards}, 7);
      EXPECT_NEAR(divided.nats, whole.nats, 1e-12 * whole.nats);
      EXPECT_NEAR(divided.forward, whole.forward, 1e-12 * whole.nats);
      expect_near(divided.gradient, whole.gradient);
    }
  }
}

TEST(ShardedPass, sharded_pass_has_the_same_bits_for_any_number_of_processes) {
  Team team(1);
  ShardedProblem problem(0.3);
  const PassResult expected = pass_in(problem, team, {.shards = kShardCount}, 7);
  for (int count = 2; count <= kShardCount; ++count)
    run_in_processes(count, [&](Processes& processes) {
      ShardedProblem own(0.3);
      Team threads(1 + processes.number() % 2);
      const PassResult found = pass_in(own, threads, {.shards = kShardCount, .processes = &processes}, 7);
      EXPECT_EQ(found.nats, expected.nats);
      EXPECT_EQ(found.forward, expected.forward);
      EXPECT_EQ(found.gradient, expected.gradient);
    });
}

TEST(ShardedPass, slices_equal_the_gradient_with_its_norm) {
  constexpr Index kWide = 64;  // several chunks of the norm
  Team team(1);
  ShardedProblem problem(0.3, kWide);
  ShardedPass<double> whole(problem.small.network, team, 0, {}, {.shards = kShardCount});
  whole.set_parameters(problem.small.parameters);
  std::vector<double> gradient(problem.size());
  State<double> carried = problem.before;
  const double nats = whole.gradient(problem.batch, carried, problem.scale(), gradient, false);
  const double norm = global_norm<double>(team, gradient);
  for (const int count : {2, 3, 4})
    run_in_processes(count, [&](Processes& processes) {
      ShardedProblem own(0.3, kWide);
      Team threads(1 + processes.number() % 2);
      ShardedPass<double> pass(own.small.network, threads, 0, {}, {.shards = kShardCount, .processes = &processes});
      pass.set_parameters(own.small.parameters);
      std::vector<double> slices(at(pass.slices().own_size())), expected(slices.size()), together(own.size());
      State<double> state = own.before;
      const SliceGradient found = pass.gradient_of_slices(own.batch, state, own.scale(), slices);
      EXPECT_EQ(found.loss, nats);
      EXPECT_EQ(found.norm, norm);
      gather_ranges<double>(gradient, pass.slices().own(), expected);
      EXPECT_EQ(slices, expected);
      EXPECT_LT(slices.size(), own.size());
      scatter_ranges<double>(slices, pass.slices().own(), together);
      pass.spread(together);
      EXPECT_EQ(together, gradient);
    });
}

TEST(ShardedPass, each_process_carries_the_state_of_its_lanes) {
  ShardedProblem whole_problem;
  Team one(1);
  BatchPass<double> pass(whole_problem.small.network, one);
  pass.set_parameters(whole_problem.small.parameters);
  State<double> expected = whole_problem.before;
  pass.forward(whole_problem.batch, expected);
  run_in_processes(3, [&](Processes& processes) {
    ShardedProblem p;
    Team team(1);
    const Sharding sharding{.shards = kShardCount, .processes = &processes};
    ShardedPass<double> divided(p.small.network, team, 0, {}, sharding);
    divided.set_parameters(p.small.parameters);
    State<double> state = p.before;
    divided.forward(p.batch, state);
    for (Index slot = 0; slot < state.slots(); ++slot) {
      const Index shard = shard_of_slot(slot, kShardCount);
      if (shard < sharding.own().begin || shard >= sharding.own().end) continue;
      EXPECT_FALSE(state.fresh(slot));
      for (Index i = 0; i < state.width(); ++i) EXPECT_EQ(state.row(slot)[i], expected.row(slot)[i]);
    }
  });
}

TEST(ShardedPass, shard_with_a_nonfinite_value_is_named) {
  run_in_processes(2, [](Processes& processes) {
    ShardedProblem p;
    Team team(1);
    ShardedPass<double> pass(p.small.network, team, 0, {}, {.shards = 2, .processes = &processes});
    pass.set_parameters(p.small.parameters);
    EXPECT_EQ(pass.find_non_finite(p.batch, p.before), "");
    p.before.row(3)[0] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(pass.find_non_finite(p.batch, p.before).find("counted in shard 2 of 2"), std::string::npos);
  });
}

TEST(ShardedPass, penalties_on_shards_are_rejected) {
  ShardedProblem p;
  Team team(1);
  EXPECT_THROW(ShardedPass<double>(p.small.network, team, 0, {.activity = 1}, {.shards = 2}), UsageError);
}

struct CurvatureResult {
  std::vector<double> product, sample;
};

CurvatureResult curvature_in(ShardedProblem& p, Team& team, const Sharding& sharding) {
  ShardedCurvature<double> curvature(p.small.network, Distance::squared, team, sharding);
  const std::vector<CurvaturePart<double>> parts = {{&p.batch, &p.before}, {&p.batch, &p.before}};
  curvature.start(p.small.parameters, parts);
  std::vector<double> v(p.size());
  Random random(4, "direction");
  for (double& x : v) x = random.normal();
  CurvatureResult result{std::vector<double>(p.size()), std::vector<double>(p.size())};
  curvature.product(v, 0.2, result.product);
  curvature.sample(9, 0.2, result.sample);
  return result;
}

TEST(ShardedCurvature, sharded_curvature_sums_to_the_whole_product) {
  ShardedProblem p;
  Team team(1);
  const CurvatureResult whole = curvature_in(p, team, {});
  for (const Index shards : {2, 6, 11})
    expect_near(curvature_in(p, team, {.shards = shards}).product, whole.product, 1e-11);
}

TEST(ShardedCurvature, sharded_curvature_has_the_same_bits_for_any_number_of_processes) {
  ShardedProblem problem;
  Team team(1);
  const CurvatureResult expected = curvature_in(problem, team, {.shards = kShardCount});
  for (const int count : {2, 3, 4})
    run_in_processes(count, [&](Processes& processes) {
      ShardedProblem own;
      Team threads(1);
      const CurvatureResult found = curvature_in(own, threads, {.shards = kShardCount, .processes = &processes});
      EXPECT_EQ(found.product, expected.product);
      EXPECT_EQ(found.sample, expected.sample);
    });
}

/// The mean of squared samples is the diagonal of the curvature for any division into shards: their noise is
/// independent.
TEST(ShardedCurvature, samples_of_shards_are_independent) {
  ShardedProblem p;
  Team team(1);
  const std::vector<CurvaturePart<double>> parts = {{&p.batch, &p.before}};
  std::vector<double> means[2];
  for (const Index shards : {1, 4}) {
    ShardedCurvature<double> curvature(p.small.network, Distance::none, team, {.shards = shards});
    curvature.start(p.small.parameters, parts);
    std::vector<double> sample(p.size()), &mean = means[shards == 1 ? 0 : 1];
    mean.resize(p.size());
    constexpr int kSamples = 4000;
    for (std::uint64_t seed = 0; seed < kSamples; ++seed) {
      curvature.sample(seed, 0, sample);
      for (std::size_t i = 0; i < sample.size(); ++i) mean[i] += sample[i] * sample[i] / kSamples;
    }
  }
  double largest = 0;
  for (const double m : means[0]) largest = std::max(largest, m);
  for (std::size_t i = 0; i < means[0].size(); ++i) EXPECT_NEAR(means[0][i], means[1][i], 0.1 * largest) << i;
}

}  // namespace
}  // namespace unfold
