/// Metrics of parameters that are not weights of units, compared with networks that have a separate copy of these
/// parameters for each step.

#include "optim/riemannian/map_metric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "optim/riemannian/metric_shards.h"
#include "tests/optim/metric_pass.h"
#include "tests/optim/riemannian_reference.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/circuit/vector_map.h"

namespace unfold {
namespace {

using reference::kAlphabet, reference::losses, reference::solve, reference::WindowProblem;
using Vector = std::vector<double>;

constexpr Index kComplexUnits = 2;
constexpr double kDamping = 0.3;
const WindowProblem::Add kUnitary = [](Circuit& c, Signal x) {
  return urnn(c, x, kComplexUnits, {.trained_initial = true});
};

/// For one sequence of urnn: step t has separate parameters "z<t>/U" and "h<t>/b"; the effect of changing them is g_t.
struct Unrolled {
  Circuit circuit;
  Index steps;

  explicit Unrolled(Index length) : steps(length) {
    Signal h = circuit.map(Map::copy, circuit.input("start", 2 * kComplexUnits));
    for (Index t = 0; t < length; ++t) {
      const Signal x = circuit.symbols("x" + std::to_string(t), kAlphabet);
      const std::string z = "z" + std::to_string(t), next = "h" + std::to_string(t), out = "output" + std::to_string(t);
      const Signal sum = circuit.affine(
          z, 2 * kComplexUnits, {{"W", x}, {.parameter = "U", .source = h, .op = unitary_map(kComplexUnits, 0)}},
          Init::zero(), false);
      h = circuit.affine(next, 2 * kComplexUnits,
                         {{.parameter = "b", .source = sum, .op = modulus_relu(kComplexUnits)}}, Init::zero(), false);
      circuit.output(circuit.affine(out, kAlphabet, {{"V", h}}));
    }
  }

  Vector parameters_of(const WindowProblem& problem) const {
    Parameters<double> values(circuit);
    for (const ParameterInfo& p : circuit.parameters()) {
      std::string name = p.name;
      const std::size_t slash = name.find('/');
      name = name.substr(0, name.find_first_of("0123456789")) + name.substr(slash);
      const Matrix<const double> from = const_cast<WindowProblem&>(problem).values.at(name);
      std::copy_n(from.data, p.size(), values.flat().begin() + p.offset);
    }
    return {values.flat().begin(), values.flat().end()};
  }
};

/// Returns the gradient at each step of the parameter `name` ("z", "U").
std::vector<Vector> slopes_by_step(WindowProblem& problem, const std::string& affine, const std::string& name) {
  const Index length = problem.window.structure.size(0);
  const Unrolled net(length);
  Passes passes(net.circuit, Structure::chains(1, 1), 1);
  passes.set_parameters(net.parameters_of(problem));
  CircuitInputs inputs;
  for (std::size_t i = 0; i < net.circuit.nodes().size(); ++i) {
    const Node& node = net.circuit.nodes()[i];
    const int id = static_cast<int>(i);
    if (node.kind() == Node::Kind::input) {
      const ParameterInfo* start = nullptr;
      for (const ParameterInfo& p : problem.circuit.parameters())
        if (p.name.ends_with("/start")) start = &p;
      for (Index k = 0; k < node.size; ++k) inputs.values[id].push_back(problem.values.flat()[at(start->offset + k)]);
    }
    if (node.kind() == Node::Kind::symbols)
      inputs.symbols[id] = {read_symbols(problem.window)[at(std::stol(node.name.substr(1)))]};
  }
  passes.set_inputs(inputs);
  Vector seeds = passes.outputs();
  passes.for_each_output<double>(seeds.data(), [&](Signal output, Matrix<double> o) {
    const Index t = std::stol(net.circuit.nodes()[at(output.id)].name.substr(6));
    const Symbol target = predicted_symbols(problem.window)[at(t)];
    double total = 0;
    for (Index y = 0; y < kAlphabet; ++y) total += std::exp(o(0, y));
    for (Index y = 0; y < kAlphabet; ++y) o(0, y) = target == kNoSymbol ? 0 : std::exp(o(0, y)) / total - (y == target);
  });
  const Vector gradient = passes.transposed(seeds, Algebra::linear);
  std::vector<Vector> result;
  for (Index t = 0; t < length; ++t)
    for (const ParameterInfo& p : net.circuit.parameters())
      if (p.name == affine + std::to_string(t) + "/" + name)
        result.emplace_back(gradient.begin() + p.offset, gradient.begin() + p.offset + p.size());
  return result;
}

TEST(MapMetric, unitary_metric_equals_separate_parameters_per_step) {
  WindowProblem problem(kUnitary, {11});
  for (const bool full : {true, false}) {
    const MetricPass found =
        metric_pass(problem.net, problem.crew, problem.window, problem.values, problem.before, true, full, kDamping);
    for (const auto& [affine, name] : {std::pair<std::string, std::string>{"z", "U"}, {"h", "b"}}) {
      const std::vector<Vector> slopes = slopes_by_step(problem, affine, name);
      ASSERT_EQ(slopes.size(), 11U);
      const std::size_t n = slopes.front().size();
      std::vector<Vector> m(n, Vector(n, 0));
      Vector g(n, 0);
      for (const Vector& slope : slopes)
        for (std::size_t i = 0; i < n; ++i) {
          g[i] += slope[i];
          for (std::size_t j = 0; j < n; ++j)
            if (full || i == j) m[i][j] += slope[i] * slope[j];
        }
      for (std::size_t i = 0; i < n; ++i) m[i][i] += kDamping;
      const Vector expected = solve(m, g);
      for (const ParameterInfo& p : problem.circuit.parameters())
        if (p.name == affine + "/" + name)
          for (std::size_t i = 0; i < n; ++i) {
            EXPECT_NEAR(found.gradient[at(p.offset) + i], g[i], 1e-10) << p.name;
            EXPECT_NEAR(found.direction[at(p.offset) + i], expected[i], 1e-9) << p.name << full;
          }
    }
  }
}

/// Weights that read symbols still belong to units: one input of a unit for each symbol.
TEST(MapMetric, map_metric_leaves_other_weights_to_their_units) {
  WindowProblem problem(kUnitary, {11});
  const MetricPass found =
      metric_pass(problem.net, problem.crew, problem.window, problem.values, problem.before, true, true, kDamping);
  const std::vector<Vector> slopes = slopes_by_step(problem, "z", "W");
  for (const ParameterInfo& p : problem.circuit.parameters())
    if (p.name == "z/W")
      for (Index i = 0; i < p.size(); ++i) {
        double g = 0, m = kDamping;
        for (const Vector& slope : slopes) g += slope[at(i)], m += slope[at(i)] * slope[at(i)];
        EXPECT_NEAR(found.direction[at(p.offset + i)], g / m, 1e-10);
      }
}

TEST(MapMetric, map_metric_trains_on_any_number_of_threads) {
  const std::map<std::string, WindowProblem::Add> networks = {
      {"urnn", kUnitary},
      {"lru", [](Circuit& c, Signal x) { return lru(c, x, 2); }},
      {"normalised lstm", [](Circuit& c, Signal x) { return lstm(c, x, 2, {.layer_norm = true}); }}};
  for (const auto& [name, add] : networks)
    for (const RiemannianOptions& options :
         {RiemannianOptions{}, RiemannianOptions{.reduction = Reduction::quasi_diagonal}, RiemannianOptions{.draws = 2},
          RiemannianOptions{.own = 2}, RiemannianOptions{.control = StepControl::fixed, .keep = 0.5}}) {
      WindowProblem one(add, {200, 45}), three(add, {200, 45}, 3);
      const Vector found = losses(one, options, 12);
      EXPECT_EQ(found, losses(three, options, 12)) << name;
      EXPECT_LT(found.back(), found.front() - 0.02) << name;
    }
}

TEST(MapMetric, map_metric_is_not_used_by_back_propagated_metrics) {
  WindowProblem problem(kUnitary, {11});
  EXPECT_THROW(losses(problem, {.metric = RiemannianMetric::rbpm}, 1), UsageError);
}

}  // namespace
}  // namespace unfold
