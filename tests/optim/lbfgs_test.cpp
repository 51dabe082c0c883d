#include "optim/lbfgs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using Point = std::vector<double>;

/// A function of the first parameters, the same at every step; the others have no effect.
class Landscape final : public Objective<double> {
 public:
  /// Sets the gradient, returns the value.
  using Function = std::function<double(std::span<const double> p, std::span<double> g)>;

  Landscape(Team& team, Function function, const Point& start) : team_(team), function_(std::move(function)) {
    const Signal x = circuit_.symbols("x", static_cast<Index>(start.size()));
    circuit_.output(circuit_.affine("z", 1, {{"W", x}}, Init::zero(), false));
    parameters_ = Parameters<double>(circuit_);
    std::ranges::copy(start, parameters_.flat().begin());
  }
  Parameters<double>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double gradient(std::span<double> g) override {
    ++gradients;
    return function_(parameters_.flat(), g);
  }
  double loss() override {
    Point g(parameters_.flat().size());
    return function_(parameters_.flat(), g);
  }
  double predicted() const override { return symbols; }
  bool repeats() const override { return same; }

  int gradients = 0;
  double symbols = 1;
  bool same = true;

 private:
  Circuit circuit_;
  Parameters<double> parameters_;
  Team& team_;
  Function function_;
};

/// 1/2 sum a_i (p_i - goal_i)^2, a_i = 1, 4, 9, ...
double bowl(std::span<const double> p, std::span<double> g) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double a = static_cast<double>((i + 1) * (i + 1)), away = p[i] - std::sin(static_cast<double>(i + 1));
    g[i] = a * away;
    sum += 0.5 * a * away * away;
  }
  return sum;
}

/// A narrow curved valley (Rosenbrock 1960) with its minimum at (1, 1).
double valley(std::span<const double> p, std::span<double> g) {
  const double bend = p[1] - p[0] * p[0], left = 1 - p[0];
  g[0] = -400 * p[0] * bend - 2 * left;
  g[1] = 200 * bend;
  return 100 * bend * bend + left * left;
}

/// Runs until convergence; returns the number of steps.
int converge(Landscape& landscape, const std::string& spec, int most = 500) {
  const auto optimizer = make_optimizer<double>(spec, landscape.parameters().size());
  optimizer->attach(landscape);
  double before = std::numeric_limits<double>::infinity();
  for (int step = 0; step < most; ++step) {
    const StepReport report = optimizer->step(landscape, {.step = step}, 1);
    if (spec.find("l1") == std::string::npos && spec.find("l2") == std::string::npos) {
      EXPECT_LE(report.loss, before + 1e-12);
    }
    before = report.loss;
    EXPECT_TRUE(report.finite);
    if (report.converged) return step;
  }
  return most;
}

TEST(Lbfgs, quadratic_is_minimized) {
  Team team(2);
  Landscape landscape(team, bowl, Point(8, 0.0));
  EXPECT_LT(converge(landscape, "lbfgs:tolerance=1e-9,change=0"), 40);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(landscape.parameters().flat()[i], std::sin(static_cast<double>(i + 1)), 1e-8);
}

TEST(Lbfgs, follows_a_bent_valley_to_its_end) {
  Team team(1);
  Landscape landscape(team, valley, {-1.2, 1});
  EXPECT_LT(converge(landscape, "lbfgs:tolerance=1e-9,change=0"), 60);
  EXPECT_NEAR(landscape.parameters().flat()[0], 1, 1e-7);
  EXPECT_NEAR(landscape.parameters().flat()[1], 1, 1e-7);
  EXPECT_LT(landscape.gradients, 130);  // most steps try one length
}

TEST(Lbfgs, l2_is_relative_to_the_nats_of_all_data) {
  Team team(1);
  Landscape landscape(team, bowl, Point(5, 0.0));
  landscape.symbols = 4;
  converge(landscape, "lbfgs:l2=6,tolerance=1e-10,change=0");
  for (std::size_t i = 0; i < 5; ++i) {
    const double a = static_cast<double>((i + 1) * (i + 1));
    EXPECT_NEAR(landscape.parameters().flat()[i], a * std::sin(static_cast<double>(i + 1)) / (a + 6.0 / 4), 1e-8);
  }
}

TEST(Lbfgs, l1_leaves_parameters_exactly_at_zero) {
  Team team(2);
  Landscape landscape(team, bowl, Point(6, 0.3));
  landscape.symbols = 2;
  converge(landscape, "lbfgs:l1=3,tolerance=1e-10,change=0");
  for (std::size_t i = 0; i < 6; ++i) {
    const double a = static_cast<double>((i + 1) * (i + 1)), goal = std::sin(static_cast<double>(i + 1));
    const double left = std::max(0.0, std::fabs(goal) - 1.5 / a), x = landscape.parameters().flat()[i];
    EXPECT_NEAR(x, std::copysign(left, goal), 1e-7);
    if (left == 0) {
      EXPECT_EQ(x, 0);
    }
  }
}

TEST(Lbfgs, accepted_steps_satisfy_the_wolfe_conditions) {
  Team team(1);
  Landscape landscape(team, valley, {-1.2, 1});
  const auto optimizer = make_optimizer<double>("lbfgs:change=0", 2);
  optimizer->attach(landscape);
  for (int step = 0; step < 25; ++step) {
    const Point from(landscape.parameters().flat().begin(), landscape.parameters().flat().end());
    Point before(2), after(2);
    const double start = valley(from, before);
    optimizer->step(landscape, {.step = step}, 1);
    const std::span<const double> to = landscape.parameters().flat();
    const double end = valley(to, after);
    double slope = 0, slope_there = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      slope += before[i] * (to[i] - from[i]);
      slope_there += after[i] * (to[i] - from[i]);
    }
    EXPECT_LT(slope, 0);
    EXPECT_LE(end, start + 1e-4 * slope + 1e-12);
    EXPECT_LE(std::fabs(slope_there), -0.9 * slope + 1e-12);
  }
}

TEST(Lbfgs, full_batch_evaluates_no_point_twice) {
  for (const bool same : {true, false}) {
    Team team(1);
    std::map<Point, int> visits;
    const auto counting = [&](std::span<const double> p, std::span<double> g) {
      ++visits[Point(p.begin(), p.end())];
      return valley(p, g);
    };
    Landscape landscape(team, counting, {-1.2, 1});
    landscape.same = same;
    const auto optimizer = make_optimizer<double>("lbfgs:change=0", 2);
    optimizer->attach(landscape);
    for (int step = 0; step < 20; ++step) optimizer->step(landscape, {.step = step}, 1);
    const auto twice = std::ranges::count_if(visits, [](const auto& visit) { return visit.second > 1; });
    EXPECT_EQ(twice, same ? 0 : 19);  // if batches differ, each starting point is evaluated again
    // Parameters that were changed from outside are evaluated again.
    landscape.parameters().flat()[0] += 0.125;
    const Point moved(landscape.parameters().flat().begin(), landscape.parameters().flat().end());
    optimizer->step(landscape, {.step = 20}, 1);
    EXPECT_EQ(visits[moved], 1);
  }
}

TEST(Lbfgs, converged_optimizer_stops_moving) {
  Team team(1);
  Landscape landscape(team, bowl, Point(4, 0.0));
  const auto optimizer = make_optimizer<double>("lbfgs", 4);
  optimizer->attach(landscape);
  StepReport report;
  for (int step = 0; step < 200 && !report.converged; ++step) report = optimizer->step(landscape, {.step = step}, 1);
  ASSERT_TRUE(report.converged);
  const Point there(landscape.parameters().flat().begin(), landscape.parameters().flat().end());
  EXPECT_TRUE(optimizer->step(landscape, {}, 1).converged);
  EXPECT_EQ(there, Point(landscape.parameters().flat().begin(), landscape.parameters().flat().end()));
}

TEST(Lbfgs, failed_line_search_keeps_the_parameters) {
  Team team(1);
  const auto lies = [](std::span<const double> p, std::span<double> g) {  // uphill in every direction from the start
    g[0] = 1;
    return p[0] == 0.5 ? 1.0 : 2.0;
  };
  Landscape landscape(team, lies, {0.5});
  const auto optimizer = make_optimizer<double>("lbfgs", 1);
  optimizer->attach(landscape);
  EXPECT_TRUE(optimizer->step(landscape, {}, 1).converged);
  EXPECT_EQ(landscape.parameters().flat()[0], 0.5);
}

TEST(Lbfgs, not_a_number_shortens_the_step) {
  Team team(1);
  const auto cliff = [](std::span<const double> p, std::span<double> g) {  // -log p, which has no value below 0
    g[0] = -1 / p[0] + 1;
    return p[0] > 0 ? -std::log(p[0]) + p[0] : std::nan("");
  };
  Landscape landscape(team, cliff, {30});
  EXPECT_LT(converge(landscape, "lbfgs:tolerance=1e-9,change=0"), 60);
  EXPECT_NEAR(landscape.parameters().flat()[0], 1, 1e-7);
}

/// Copies of all state.
class StoredState final : public StateVisitor<double> {
 public:
  void operator()(std::string_view name, std::span<double> values) override { visit(name, values); }
  void operator()(std::string_view name, double& value) override { visit(name, {&value, 1}); }
  bool restoring = false;

 private:
  void visit(std::string_view name, std::span<double> values) {
    Point& kept = kept_[std::string(name)];
    if (restoring)
      std::ranges::copy(kept, values.begin());
    else
      kept.assign(values.begin(), values.end());
  }
  std::map<std::string, Point> kept_;
};

TEST(Lbfgs, lbfgs_resumes_with_the_same_bits_on_every_team) {
  for (const char* spec : {"lbfgs:history=3,change=0,l2=0.1", "lbfgs:history=3,change=0,l1=0.1"}) {
    Team one(1), three(3);
    Landscape whole(one, valley, {-1.2, 1}), cut(three, valley, {-1.2, 1});
    const auto through = make_optimizer<double>(spec, 2);
    through->attach(whole);
    for (int step = 0; step < 14; ++step) through->step(whole, {.step = step}, 1);
    StoredState keeper;
    {
      const auto first = make_optimizer<double>(spec, 2);
      first->attach(cut);
      for (int step = 0; step < 8; ++step) first->step(cut, {.step = step}, 1);
      first->visit_state(keeper);
    }
    const auto second = make_optimizer<double>(spec, 2);
    second->attach(cut);
    keeper.restoring = true;
    second->visit_state(keeper);
    for (int step = 8; step < 14; ++step) second->step(cut, {.step = step}, 1);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(whole.parameters().flat()[i], cut.parameters().flat()[i]) << spec;
  }
}

/// Overwrites one number of the state with `value`.
class Forger final : public StateVisitor<double> {
 public:
  Forger(std::string name, double value) : name_(std::move(name)), value_(value) {}
  void operator()(std::string_view, std::span<double>) override {}
  void operator()(std::string_view name, double& value) override {
    if (name == name_) value = value_;
  }

 private:
  std::string name_;
  double value_;
};

std::unique_ptr<Optimizer<double>> optimizer_in_valley(Landscape& landscape) {
  auto optimizer = make_optimizer<double>("lbfgs:history=3", 2);
  optimizer->attach(landscape);
  return optimizer;
}

TEST(Lbfgs, checkpoint_with_counts_out_of_range_is_refused) {
  Team team(1);
  Landscape landscape(team, valley, {-1.2, 1});
  for (const char* name : {"remembered", "next", "taken"})
    for (const double value : {-1.0, 0.5, 1e30, std::nan("")}) {
      Forger forger(name, value);
      EXPECT_THROW(optimizer_in_valley(landscape)->visit_state(forger), ModelError) << name << value;
    }
  Forger beyond("next", 3);
  EXPECT_THROW(optimizer_in_valley(landscape)->visit_state(beyond), ModelError);
}

}  // namespace
}  // namespace unfold
