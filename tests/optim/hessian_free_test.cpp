#include "optim/hessian_free.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

/// f = 1/2 (p - goal)'A(p - goal) with a diagonal A, whose curvature it reports; `lie` changes the loss at trial
/// points.
class Bowl final : public Objective<double> {
 public:
  explicit Bowl(Team& team) : team_(team) {
    const Signal x = circuit_.symbols("x", 4);
    circuit_.output(circuit_.affine("z", 2, {{"W", x}}));
    parameters_ = Parameters<double>(circuit_);
    parameters_.initialize(5);
    for (Index i = 0; i < parameters_.size(); ++i) {
      a.push_back(0.5 + static_cast<double>(i));
      goal.push_back(std::sin(static_cast<double>(i)));
    }
  }
  Parameters<double>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double gradient(std::span<double> g) override {
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = a[i] * (parameters_.flat()[i] - goal[i]);
    return true_loss();
  }
  double loss() override { return lie ? lie(true_loss()) : true_loss(); }
  double symbols_per_sequence() const override { return symbols; }
  void start_curvature(double, Distance) override {}
  void curvature_product(std::span<const double> v, double structural, std::span<double> result) override {
    for (std::size_t i = 0; i < v.size(); ++i) result[i] = (a[i] + structural * damping) * v[i];
  }
  void curvature_sample(std::uint64_t seed, double structural, std::span<double> result) override {
    Random random(seed, "signs");
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = std::sqrt(a[i] + structural * damping) * (random.below(2) == 0 ? 1 : -1);
  }
  double true_loss() const {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += 0.5 * a[i] * std::pow(parameters_.flat()[i] - goal[i], 2);
    return sum;
  }

  Vector a, goal;
  double damping = 0, symbols = 1;
  std::function<double(double)> lie;

 private:
  Circuit circuit_;
  Parameters<double> parameters_;
  Team& team_;
};

Vector flat(Objective<double>& objective) {
  const auto p = objective.parameters().flat();
  return {p.begin(), p.end()};
}

TEST(HessianFree, damping_follows_the_rule) {
  EXPECT_DOUBLE_EQ(next_damping(6, 0.76), 4);
  EXPECT_DOUBLE_EQ(next_damping(6, 0.75), 6);
  EXPECT_DOUBLE_EQ(next_damping(6, 0.25), 6);
  EXPECT_DOUBLE_EQ(next_damping(6, 0.24), 9);
  EXPECT_DOUBLE_EQ(next_damping(6, -3), 9);
  EXPECT_DOUBLE_EQ(next_damping(6, std::nan("")), 9);
}

TEST(HessianFree, CostsAtLeastOneGradientPerStep) {
  for (const char* spec :
       {"hf:windows=1,iterations=6", "hf:curvature=0.001", "hf:curvature=0", "natural:windows=1,iterations=3"})
    EXPECT_EQ(make_optimizer<float>(spec, 1)->gradients(), 1) << spec;
  EXPECT_EQ(make_optimizer<float>("hf:windows=16,iterations=50,curvature=0.125", 1)->gradients(), 102);
  EXPECT_GE(make_optimizer<float>("natural:iterations=9000000000000000000", 1)->gradients(), 1);
}

TEST(HessianFree, trusts_a_true_quadratic_more_and_more_and_reaches_its_minimum) {
  Team team(1);
  Bowl bowl(team);
  const auto optimizer = make_optimizer<double>("hf:lambda=3,tolerance=0,structural=0", bowl.parameters().size());
  optimizer->attach(bowl);
  double lambda = 3;
  for (int step = 0; step < 40; ++step) {
    const StepReport report = optimizer->step(bowl, {}, 1);
    ASSERT_TRUE(report.curvature);
    EXPECT_NEAR(report.curvature->damping, lambda, 1e-12 * lambda);
    if (report.loss < 1e-20) break;
    EXPECT_GT(report.curvature->ratio, 0.75);
    EXPECT_EQ(report.curvature->length, 1);
    EXPECT_LT(report.curvature->loss_after, report.loss);
    lambda *= 2.0 / 3;
  }
  for (std::size_t i = 0; i < bowl.goal.size(); ++i) EXPECT_NEAR(bowl.parameters().flat()[i], bowl.goal[i], 1e-8);
}

/// On a true quadratic, each iteration is better than q predicts, so lambda falls at each one, and the solution is that
/// of ever less damped systems.
TEST(HessianFree, checked_iterations_adapt_the_damping_inside_conjugate_gradients) {
  Team team(1);
  Bowl bowl(team);
  const auto optimizer =
      make_optimizer<double>("hf:lambda=3,tolerance=0,structural=0,adapt=iteration,reset=true,probes=0,iterations=60",
                             bowl.parameters().size());
  optimizer->attach(bowl);
  const StepReport report = optimizer->step(bowl, {}, 1);
  EXPECT_EQ(report.curvature->damping, 3);
  EXPECT_EQ(report.curvature->iterations, 60);
  EXPECT_EQ(report.curvature->kept, 60);
  EXPECT_NEAR(report.curvature->loss_after, bowl.true_loss(), 1e-12);
  for (std::size_t i = 0; i < bowl.goal.size(); ++i) EXPECT_NEAR(bowl.parameters().flat()[i], bowl.goal[i], 1e-3);
  EXPECT_EQ(optimizer->step(bowl, {}, 1).curvature->damping, 3);  // reset
}

TEST(HessianFree, checked_iterations_that_do_not_help_are_rejected) {
  Team team(1);
  Bowl bowl(team);
  const auto optimizer = make_optimizer<double>("hf:lambda=3,tolerance=0,structural=0,adapt=iteration,iterations=4",
                                                bowl.parameters().size());
  optimizer->attach(bowl);
  const Vector start = flat(bowl);
  const double before = bowl.true_loss();
  bowl.lie = [&](double) { return before + 1; };
  const StepReport report = optimizer->step(bowl, {}, 1);
  EXPECT_EQ(report.curvature->kept, 0);
  EXPECT_EQ(report.curvature->length, 0);
  EXPECT_EQ(flat(bowl), start);
  EXPECT_NEAR(optimizer->step(bowl, {}, 1).curvature->damping, 3 * std::pow(1.5, 4), 1e-12);
  EXPECT_THROW(make_optimizer<double>("hf:adapt=iteration,refuse=true", 8), UsageError);
}

/// Where rho stays between 1/4 and 3/4, lambda and the system stay the same: plain conjugate gradients.
TEST(HessianFree, checked_iterations_solve_the_damped_system_where_lambda_stays) {
  Team team(1);
  Bowl bowl(team);
  const Vector start = flat(bowl);
  const double before = bowl.true_loss();
  const double lambda = 3;
  // Half of what q predicts: the loss of a quadratic with the damped curvature, flattened.
  bowl.lie = [&](double) {
    double q = 0;
    for (std::size_t i = 0; i < start.size(); ++i) {
      const double x = bowl.parameters().flat()[i] - start[i], g = bowl.a[i] * (start[i] - bowl.goal[i]);
      q += g * x + (bowl.a[i] + lambda) * x * x / 2;
    }
    return before + q / 2;
  };
  const auto optimizer = make_optimizer<double>("hf:lambda=3,tolerance=0,structural=0,adapt=iteration,iterations=40",
                                                bowl.parameters().size());
  optimizer->attach(bowl);
  optimizer->step(bowl, {}, 1);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double g = bowl.a[i] * (start[i] - bowl.goal[i]);
    EXPECT_NEAR(bowl.parameters().flat()[i], start[i] - g / (bowl.a[i] + lambda), 1e-8);
  }
}

TEST(HessianFree, first_step_solves_the_damped_system) {
  Team team(1);
  Bowl bowl(team);
  bowl.damping = 2;
  const Vector start = flat(bowl);
  const auto optimizer = make_optimizer<double>("hf:lambda=3,tolerance=0,structural=0.5", bowl.parameters().size());
  optimizer->attach(bowl);
  const StepReport report = optimizer->step(bowl, {}, 1);
  double foretold = 0;  // q at the solution: -1/2 g'(G + lambda (I + mu S))^-1 g
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double g = bowl.a[i] * (start[i] - bowl.goal[i]), damped = bowl.a[i] + 3 * (1 + 0.5 * 2);
    EXPECT_NEAR(bowl.parameters().flat()[i], start[i] - g / damped, 1e-10);
    foretold -= g * g / damped / 2;
  }
  EXPECT_NEAR(report.curvature->ratio, (bowl.true_loss() - report.loss) / foretold, 1e-8);
  EXPECT_NEAR(report.curvature->loss_after, bowl.true_loss(), 1e-12);
}

TEST(HessianFree, damping_counts_sequences_and_structural_damping_counts_symbols) {
  Team team(1);
  Bowl bowl(team);
  bowl.damping = 2;
  bowl.symbols = 4;
  const Vector start = flat(bowl);
  const auto optimizer = make_optimizer<double>("hf:lambda=3,tolerance=0,structural=0.5", bowl.parameters().size());
  optimizer->attach(bowl);
  optimizer->step(bowl, {}, 1);
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double g = bowl.a[i] * (start[i] - bowl.goal[i]), damped = bowl.a[i] + 3.0 / 4 + 3 * 0.5 * 2;
    EXPECT_NEAR(bowl.parameters().flat()[i], start[i] - g / damped, 1e-10);
  }
}

/// Losses at trial points decrease by a tenth of the prediction: such steps are taken, but the damping increases.
TEST(HessianFree, lambda_rises_at_most_to_its_initial_value_after_accepted_steps) {
  Team team(1);
  Bowl bowl(team);
  const auto optimizer = make_optimizer<double>("hf:lambda=3,tolerance=0,structural=0", bowl.parameters().size());
  optimizer->attach(bowl);
  EXPECT_DOUBLE_EQ(optimizer->step(bowl, {}, 1).curvature->damping, 3);
  EXPECT_DOUBLE_EQ(optimizer->step(bowl, {}, 1).curvature->damping, 2);
  for (const double lambda : {4.0 / 3, 2.0, 3.0, 3.0}) {
    bowl.lie = [before = bowl.true_loss()](double loss) { return before - (before - loss) / 10; };
    const StepReport report = optimizer->step(bowl, {}, 1);
    EXPECT_NEAR(report.curvature->damping, lambda, 1e-12);
    EXPECT_LT(report.curvature->ratio, 0.25);
    EXPECT_GT(report.curvature->length, 0);
  }
}

TEST(HessianFree, uphill_step_is_rejected_and_damping_grows) {
  Team team(1);
  Bowl bowl(team);
  const double worse = bowl.true_loss() + 1;
  bowl.lie = [&](double) { return worse; };
  const Vector start = flat(bowl);
  const auto optimizer = make_optimizer<double>("hf:lambda=2", bowl.parameters().size());
  optimizer->attach(bowl);
  for (const double lambda : {2.0, 3.0, 4.5}) {
    const StepReport report = optimizer->step(bowl, {}, 1);
    EXPECT_DOUBLE_EQ(report.curvature->damping, lambda);
    EXPECT_EQ(report.curvature->length, 0);
    EXPECT_EQ(report.curvature->loss_after, report.loss);
    EXPECT_EQ(flat(bowl), start);
  }
}

TEST(HessianFree, too_long_step_is_shortened) {
  Team team(1);
  Bowl bowl(team);
  const double start = bowl.true_loss();
  int trials = 0;
  bowl.lie = [&](double loss) { return ++trials <= 4 ? std::nan("") : loss; };  // beyond the domain, then inside it
  const auto optimizer = make_optimizer<double>("hf:iterations=1", bowl.parameters().size());
  optimizer->attach(bowl);
  const StepReport report = optimizer->step(bowl, {}, 1);
  EXPECT_NEAR(report.curvature->length, std::pow(0.8, 4), 1e-12);
  EXPECT_LT(bowl.true_loss(), start);
}

TEST(HessianFree, takes_the_iterate_with_the_lowest_loss) {
  Team team(1);
  Bowl bowl(team);
  int trials = 0;
  // Backward from the last iterate (8, 7, 6, 4, 3, ...): decreases twice, then increases.
  const double base = bowl.true_loss();
  bowl.lie = [&](double) { return base - (Vector{1, 2, 3, 2.5})[static_cast<std::size_t>(std::min(trials++, 3))]; };
  const auto optimizer = make_optimizer<double>("hf:iterations=8,tolerance=0,lambda=0.001", bowl.parameters().size());
  optimizer->attach(bowl);
  const StepReport report = optimizer->step(bowl, {}, 1);
  EXPECT_EQ(report.curvature->iterations, 8);
  EXPECT_EQ(report.curvature->kept, 6);
  EXPECT_DOUBLE_EQ(report.curvature->loss_after, base - 3);
}

TEST(HessianFree, iterates_worse_than_the_start_are_skipped) {
  Team team(1);
  Bowl bowl(team);
  int trials = 0;
  const double base = bowl.true_loss();
  bowl.lie = [&](double) {
    return base + (Vector{3, 5, 4, -1, -0.5})[static_cast<std::size_t>(std::min(trials++, 4))];
  };
  const auto optimizer = make_optimizer<double>("hf:iterations=8,tolerance=0,lambda=0.001", bowl.parameters().size());
  optimizer->attach(bowl);
  const StepReport report = optimizer->step(bowl, {}, 1);
  EXPECT_EQ(report.curvature->kept, 4);
  EXPECT_EQ(report.curvature->length, 1);
  EXPECT_LT(report.curvature->ratio, 0);  // that of the last iterate, although the selected one is good
}

/// Trial points appear worse than the start until the damping has increased three times: no step until then.
TEST(HessianFree, rejected_step_is_solved_again_with_more_damping) {
  Team team(1);
  Bowl bowl(team);
  const Vector start = flat(bowl);
  const double before = bowl.true_loss();
  int trials = 0;
  bowl.lie = [&](double loss) { return ++trials <= 3 ? before + 1 : loss; };
  const auto optimizer =
      make_optimizer<double>("hf:lambda=2,tolerance=0,structural=0,warm=0,refuse=true", bowl.parameters().size());
  optimizer->attach(bowl);
  const StepReport report = optimizer->step(bowl, {}, 1);
  const double damping = 2 * 1.5 * 1.5 * 1.5;
  EXPECT_EQ(trials, 4);
  EXPECT_DOUBLE_EQ(report.curvature->damping, damping);
  EXPECT_GT(report.curvature->ratio, 0.75);
  for (std::size_t i = 0; i < start.size(); ++i)  // from the starting point, not from a rejected step
    EXPECT_NEAR(bowl.parameters().flat()[i], start[i] - bowl.a[i] * (start[i] - bowl.goal[i]) / (bowl.a[i] + damping),
                1e-9);
  EXPECT_NEAR(optimizer->step(bowl, {}, 1).curvature->damping, damping * 2 / 3, 1e-12);  // the step was accepted
}

TEST(HessianFree, parameters_stay_if_no_step_is_accepted) {
  Team team(1);
  Bowl bowl(team);
  const Vector start = flat(bowl);
  int trials = 0;
  bowl.lie = [&, before = bowl.true_loss()](double) {
    return ++trials, before - 1e-9;
  };  // decreases, but far too little
  const auto optimizer = make_optimizer<double>("hf:lambda=2,refuse=true", bowl.parameters().size());
  optimizer->attach(bowl);
  const StepReport report = optimizer->step(bowl, {}, 1);
  EXPECT_EQ(trials, 20);
  EXPECT_EQ(report.curvature->length, 0);
  EXPECT_EQ(report.curvature->loss_after, report.loss);
  EXPECT_EQ(flat(bowl), start);
}

TEST(HessianFree, reset_starts_every_step_with_the_initial_damping) {
  Team team(1);
  Bowl bowl(team);
  for (const char* spec : {"hf:lambda=3,tolerance=0,reset=true", "hf:lambda=3,tolerance=0,reset=true,refuse=true"}) {
    const auto optimizer = make_optimizer<double>(spec, bowl.parameters().size());
    optimizer->attach(bowl);
    for (int step = 0; step < 3; ++step) EXPECT_DOUBLE_EQ(optimizer->step(bowl, {}, 1).curvature->damping, 3) << spec;
  }
}

TEST(NaturalGradient, steps_along_the_damped_inverse_fisher_matrix) {
  Team team(1);
  Bowl bowl(team);
  const Vector start = flat(bowl);
  const auto optimizer =
      make_optimizer<double>("natural:rate=0.25,lambda=0.5,tolerance=0,iterations=100", bowl.parameters().size());
  optimizer->attach(bowl);
  const StepReport report = optimizer->step(bowl, {}, 0.5);
  EXPECT_EQ(report.rate, 0.125);
  for (std::size_t i = 0; i < start.size(); ++i)
    EXPECT_NEAR(bowl.parameters().flat()[i],
                start[i] - 0.125 * bowl.a[i] * (start[i] - bowl.goal[i]) / (bowl.a[i] + 0.5), 1e-10);
}

TEST(HessianFree, needs_an_objective_with_curvature) {
  class Plain final : public Objective<double> {
   public:
    explicit Plain(Bowl& bowl) : bowl_(bowl) {}
    Parameters<double>& parameters() override { return bowl_.parameters(); }
    Team& team() override { return bowl_.team(); }
    double gradient(std::span<double> g) override { return bowl_.gradient(g); }
    double loss() override { return bowl_.loss(); }

   private:
    Bowl& bowl_;
  };
  Team team(1);
  Bowl bowl(team);
  Plain plain(bowl);
  const auto optimizer = make_optimizer<double>("hf", bowl.parameters().size());
  optimizer->attach(plain);
  EXPECT_THROW(optimizer->step(plain, {}, 1), UsageError);
}

}  // namespace
}  // namespace unfold
