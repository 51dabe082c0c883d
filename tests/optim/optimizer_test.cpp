#include "unfold/optim/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kEntries = 300;

/// Returns a fixed sequence of gradients, regardless of the parameters.
template <class T>
class GivenGradients final : public Objective<T> {
 public:
  explicit GivenGradients(Team& team) : team_(team) {
    const Signal x = circuit_.symbols("x", 50);
    circuit_.output(circuit_.affine("z", kEntries, {{"W", x}}));
    parameters_ = Parameters<T>(circuit_);
    parameters_.initialize(5);
  }
  Parameters<T>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double gradient(std::span<T> gradient) override {
    Random random(9, static_cast<std::uint64_t>(step++));
    for (T& g : gradient) g = random.uniform(0, 1) < 0.3 ? T{0} : static_cast<T>(random.uniform(-1, 1));
    return loss();
  }
  double loss() override { return 1; }

  int step = 0;

 private:
  Circuit circuit_;
  Parameters<T> parameters_;
  Team& team_;
};

/// One parameter, one step: p, g, t (from 1) and two memories.
using Reference = std::function<void(double& p, double g, int t, double& m, double& v)>;

void expect_follows(const std::string& spec, double clip, const Reference& reference) {
  Team team(2);
  GivenGradients<double> objective(team);
  const auto n = objective.parameters().flat().size();
  std::vector<double> p(objective.parameters().flat().begin(), objective.parameters().flat().end());
  std::vector<double> g(n), m(n, 0.0), v(n, 0.0);
  const auto optimizer = make_optimizer<double>(spec, static_cast<Index>(n));
  optimizer->attach(objective);
  for (int t = 1; t <= 6; ++t) {
    GivenGradients<double> same(team);
    same.step = t - 1;
    same.gradient(g);
    const double norm = std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
    const double scale = clip > 0 && norm > clip ? clip / norm : 1;
    const StepReport report = optimizer->step(objective, {.step = t - 1, .fraction = 0}, 1);
    EXPECT_NEAR(report.gradient_norm, norm, 1e-9);
    for (std::size_t i = 0; i < n; ++i) reference(p[i], scale * g[i], t, m[i], v[i]);
  }
  for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(objective.parameters().flat()[i], p[i], 1e-12) << spec << " at " << i;
}

TEST(Optimizer, sgd_follows_its_definition) {
  expect_follows("sgd:rate=0.1,momentum=0.9,clip=0", 0, [](double& p, double g, int, double& m, double&) {
    m = 0.9 * m + g;
    p -= 0.1 * m;
  });
  expect_follows("sgd:rate=0.1,momentum=0,clip=0,decay=0.01", 0,
                 [](double& p, double g, int, double&, double&) { p -= 0.1 * (g + 0.01 * p); });
  expect_follows("sgd:rate=0.05,momentum=0.8,nesterov=true,clip=0", 0,
                 [](double& p, double g, int, double& m, double&) {
                   m = 0.8 * m + g;
                   p -= 0.05 * (g + 0.8 * m);
                 });
}

TEST(Optimizer, rmsprop_follows_its_definition) {
  expect_follows("rmsprop:rate=0.01,rho=0.9,epsilon=1e-6,clip=0", 0, [](double& p, double g, int, double&, double& v) {
    v = 0.9 * v + 0.1 * g * g;
    p -= 0.01 * g / (std::sqrt(v) + 1e-6);
  });
}

void adam(double& p, double g, int t, double& m, double& v, double decoupled) {
  m = 0.9 * m + 0.1 * g;
  v = 0.99 * v + 0.01 * g * g;
  const double mean = m / (1 - std::pow(0.9, t)), square = v / (1 - std::pow(0.99, t));
  const double before = p;
  p -= 0.01 * mean / (std::sqrt(square) + 1e-7);
  p -= 0.01 * decoupled * before;
}

TEST(Optimizer, adam_follows_its_definition) {
  expect_follows("adam:rate=0.01,beta2=0.99,epsilon=1e-7,clip=0", 0,
                 [](double& p, double g, int t, double& m, double& v) { adam(p, g, t, m, v, 0); });
}

TEST(Optimizer, adam_puts_weight_decay_into_the_gradient_and_adamw_does_not) {
  expect_follows("adam:rate=0.01,beta2=0.99,epsilon=1e-7,clip=0,decay=0.2", 0,
                 [](double& p, double g, int t, double& m, double& v) { adam(p, g + 0.2 * p, t, m, v, 0); });
  expect_follows("adamw:rate=0.01,beta2=0.99,epsilon=1e-7,clip=0,decay=0.2", 0,
                 [](double& p, double g, int t, double& m, double& v) { adam(p, g, t, m, v, 0.2); });
}

TEST(Optimizer, lazy_adam_keeps_rows_without_gradient) {
  expect_follows("adam:rate=0.01,beta2=0.99,epsilon=1e-7,clip=0,lazy=true", 0,
                 [](double& p, double g, int t, double& m, double& v) {
                   if (g != 0) adam(p, g, t, m, v, 0);
                 });
  EXPECT_THROW(make_optimizer<float>("adam:lazy=true,decay=0.1", 8), UsageError);
}

TEST(Optimizer, component_clipping_limits_each_number_after_the_norm) {
  const auto clipped = [](double g) { return std::fmin(std::fmax(g, -0.25), 0.25); };
  expect_follows("sgd:rate=0.1,momentum=0,clip=0,component-clip=0.25", 0,
                 [=](double& p, double g, int, double&, double&) { p -= 0.1 * clipped(g); });
  expect_follows("sgd:rate=0.1,momentum=0.9,clip=30,component-clip=0.25", 30,
                 [=](double& p, double g, int, double& m, double&) {
                   m = 0.9 * m + clipped(g);
                   p -= 0.1 * m;
                 });
  EXPECT_FALSE(canonical_optimizer("adam").find("component-clip") != std::string::npos);
  EXPECT_THROW(make_optimizer<float>("ruop:component-clip=1", 8), UsageError);
}

TEST(Optimizer, clipping_scales_the_gradient_to_the_given_norm) {
  expect_follows("sgd:rate=0.1,momentum=0,clip=2.5", 2.5,
                 [](double& p, double g, int, double&, double&) { p -= 0.1 * g; });
  expect_follows("adam:rate=0.01,beta2=0.99,epsilon=1e-7,clip=1,decay=0.2", 1,
                 [](double& p, double g, int t, double& m, double& v) { adam(p, g + 0.2 * p, t, m, v, 0); });
}

TEST(Optimizer, conjugate_gradient_has_the_same_bits_for_every_team) {
  for (const char* spec : {"sgd:nesterov=true", "rmsprop", "adam:decay=0.1", "adamw", "adam:lazy=true"}) {
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      Team team(threads);
      GivenGradients<float> objective(team);
      const auto optimizer = make_optimizer<float>(spec, objective.parameters().size());
      optimizer->attach(objective);
      for (int t = 0; t < 5; ++t) optimizer->step(objective, {.step = t, .fraction = 0}, 1);
      const auto flat = objective.parameters().flat();
      results.emplace_back(flat.begin(), flat.end());
    }
    EXPECT_EQ(results[0], results[1]) << spec;
    EXPECT_EQ(results[0], results[2]) << spec;
  }
}

/// A gradient with one NaN.
class Poisoned final : public Objective<float> {
 public:
  explicit Poisoned(Objective<float>& inner) : inner_(inner) {}
  Parameters<float>& parameters() override { return inner_.parameters(); }
  Team& team() override { return inner_.team(); }
  double gradient(std::span<float> g) override {
    const double loss = inner_.gradient(g);
    g[4321] = std::nanf("");
    return loss;
  }
  double loss() override { return inner_.loss(); }

 private:
  Objective<float>& inner_;
};

TEST(Optimizer, non_finite_gradient_changes_nothing) {
  Team team(1);
  GivenGradients<float> objective(team);
  const auto optimizer = make_optimizer<float>("adam", objective.parameters().size());
  optimizer->attach(objective);
  const std::vector<float> before(objective.parameters().flat().begin(), objective.parameters().flat().end());
  Poisoned poisoned(objective);
  EXPECT_FALSE(optimizer->step(poisoned, {}, 1).finite);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), objective.parameters().flat().begin()));
}

std::string message_of(const char* spec) {
  try {
    canonical_optimizer(spec);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(OptimizerSpec, errors_suggest_the_nearest_name) {
  EXPECT_NE(message_of("adma").find("did you mean \"adam\""), std::string::npos);
  EXPECT_NE(message_of("adam:rte=1").find("did you mean \"rate\""), std::string::npos);
  EXPECT_NE(message_of("adam:rate=0").find("above 0"), std::string::npos);
  EXPECT_NE(message_of("adam:0.1").find("rate=0.1"), std::string::npos);
  EXPECT_NE(message_of("sgd:beta1=0.5"), "");
}

TEST(OptimizerSpec, canonical_text_is_complete_and_stable) {
  const std::string canonical = canonical_optimizer("adam:clip=2");
  EXPECT_EQ(canonical,
            "adam:rate=0.002,clip=2,decay=0,beta1=0.9,beta2=0.999,epsilon=1e-08,schedule=constant,warmup=0,floor=0.01,"
            "plateau-patience=1");
  EXPECT_EQ(canonical_optimizer(canonical), canonical);
  for (const OptimizerHelp& entry : optimizers()) {
    const std::string text = canonical_optimizer(entry.name);
    EXPECT_EQ(canonical_optimizer(text), text);
  }
}

TEST(OptimizerSpec, help_lists_every_optimizer_with_its_defaults) {
  const auto all = optimizers();
  ASSERT_EQ(all.size(), 14u);
  for (const OptimizerHelp& entry : all) {
    EXPECT_FALSE(entry.help.empty());
    EXPECT_GT(std::stod(entry.options.at(0).value), 0) << entry.name;
  }
}

/// Merity, Keskar & Socher 2018, algorithm 1: the trigger, over a list of all validations.
TEST(AveragedSgd, averaging_starts_when_validation_stops_improving) {
  for (const int nonmono : {0, 1, 3}) {
    Team team(2);
    GivenGradients<double> objective(team);
    const auto n = objective.parameters().flat().size();
    const auto optimizer =
        make_optimizer<double>("asgd:rate=0.1,clip=0,nonmono=" + std::to_string(nonmono), static_cast<Index>(n));
    optimizer->attach(objective);
    Random random(3, "validations");
    std::vector<double> logs, mean(n, 0.0);
    bool on = false;
    int count = 0, began = -1;
    for (int t = 0; t < 25; ++t) {
      EXPECT_EQ(optimizer->average().empty(), count == 0);
      optimizer->step(objective, {.step = t, .fraction = 0}, 1);
      if (on) {
        ++count;
        for (std::size_t i = 0; i < n; ++i) mean[i] += (objective.parameters().flat()[i] - mean[i]) / count;
        for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(optimizer->average()[i], mean[i], 1e-13);
      }
      const double v = 2 - 0.1 * t + random.uniform(0, 0.6);
      optimizer->judged(v);
      const auto old = static_cast<int>(logs.size()) - nonmono;
      if (old > 0 && v > *std::min_element(logs.begin(), logs.begin() + old) && !on) on = true, began = t;
      logs.push_back(v);
    }
    EXPECT_GE(began, nonmono);
  }
}

TEST(AveragedSgd, takes_plain_steps_and_from_a_given_step_on_their_mean) {
  expect_follows("asgd:rate=0.1,clip=0.5", 0.5, [](double& p, double g, int, double&, double&) { p -= 0.1 * g; });
  Team team(1);
  GivenGradients<float> objective(team);
  const auto optimizer = make_optimizer<float>("asgd:t0=2", kEntries * 51);
  optimizer->attach(objective);
  optimizer->step(objective, {.step = 0, .fraction = 0}, 1);
  EXPECT_TRUE(optimizer->average().empty());
  optimizer->step(objective, {.step = 1, .fraction = 0}, 1);
  ASSERT_FALSE(optimizer->average().empty());
  EXPECT_EQ(optimizer->average()[7], objective.parameters().flat()[7]);
}

}  // namespace
}  // namespace unfold
