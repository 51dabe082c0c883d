/// Riemannian directions compared with dense brute force over the scalar graph, and their invariance.

#include "optim/riemannian/riemannian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "optim/riemannian/metric_shards.h"
#include "optim/riemannian/output_metric.h"
#include "optim/riemannian/unit_metric.h"
#include "tests/base/late_members.h"
#include "tests/optim/metric_pass.h"
#include "tests/optim/riemannian_reference.h"

namespace unfold {
namespace {

using reference::BruteForce, reference::kAlphabet, reference::kNetworks, reference::Phi, reference::sparse;
using reference::direction_by_own_texts, reference::for_each_own_text, reference::losses, reference::NoMove;
using reference::WindowProblem;
using Vector = std::vector<double>;

double distance(const Vector& a, const Vector& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

/// Returns the direction from the passes under test.
MetricPass find(WindowProblem& problem, bool outer, bool full, double damping) {
  return metric_pass(problem.net, problem.crew, problem.window, problem.values, problem.before, outer, full, damping);
}

bool is_writing(const WindowProblem& problem, std::size_t parameter) {
  for (const ParameterInfo& p : problem.circuit.parameters())
    if (p.name.starts_with("output/") && static_cast<Index>(parameter) >= p.offset &&
        static_cast<Index>(parameter) < p.offset + p.size())
      return true;
  return false;
}

void expect_near(const WindowProblem& problem, const Vector& found, const Vector& expected, const std::string& what) {
  double scale = 1e-300;
  for (const double v : expected) scale = std::max(scale, std::fabs(v));
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!is_writing(problem, i)) {
      ASSERT_NEAR(found[i], expected[i], 1e-9 * scale) << what << " parameter " << i;
    }
}

TEST(UnitMetric, unit_metric_equals_the_dense_matrices) {
  for (const auto& [name, add] : kNetworks)
    for (const bool outer : {true, false}) {
      WindowProblem problem(add, {9, 14, 1, 6});
      const BruteForce expected(problem, outer ? Phi::outer : Phi::backpropagated, 0.3);
      const MetricPass found = find(problem, outer, true, 0.3);
      EXPECT_NEAR(found.nats, expected.nats, 1e-10) << name;
      expect_near(problem, found.gradient, expected.gradient, name + " gradient");
      expect_near(problem, found.direction, expected.direction, name + (outer ? " ruop" : " rbpm"));
    }
}

/// Returns the direction computed by the optimizer.
Vector direction_of(WindowProblem& problem, const RiemannianOptions& options, std::uint64_t draw = 0) {
  MetricShards<double> shards(problem, options);
  const EnteredBatch<double> batch = problem.enter();
  State<double> state = problem.before;
  shards.forward(batch, problem.values, state);
  shards.outputs({.metric = true, .adjoints = true, .variances = options.metric == RiemannianMetric::rbpm});
  const auto count = problem.values.flat().size();
  Vector gradient(count), squares(count), sums(count), direction(count);
  shards.backward(gradient, squares, draw);
  shards.metric().direction(0, direction, sums);
  for (const Node& node : problem.circuit.nodes()) {
    if (node.kind() != Node::Kind::link || node.link().initial < 0) continue;
    const ParameterInfo& p = problem.circuit.parameters()[at(node.link().initial)];
    for (Index i = p.offset; i < p.offset + p.size(); ++i)
      direction[at(i)] = gradient[at(i)] / (squares[at(i)] + options.damping);
  }
  return direction;
}

const WindowProblem::Add kLinear = [](Circuit& c, Signal x) { return linear_gnn(c, x, 3); };

TEST(UnitMetric, linear_unit_metric_equals_the_dense_matrices) {
  for (const bool outer : {true, false}) {
    WindowProblem problem(kLinear, {9, 14, 1, 6}, 1, true);
    const BruteForce expected(problem, outer ? Phi::outer : Phi::backpropagated, 0.3);
    const MetricPass found = find(problem, outer, true, 0.3);
    EXPECT_NEAR(found.nats, expected.nats, 1e-10);
    expect_near(problem, found.gradient, expected.gradient, "linear-gnn gradient");
    expect_near(problem, found.direction, expected.direction, outer ? "linear-gnn ruop" : "linear-gnn rbpm");
  }
}

/// Each sequence is weighted by the mean length divided by its length (remark 8).
TEST(UnitMetric, unit_metric_can_weight_all_sequences_equally) {
  const std::vector<Index> lengths = {9, 14, 1, 6};
  for (const auto& [name, add] : kNetworks)
    for (const auto metric : {RiemannianMetric::ruop, RiemannianMetric::rbpm}) {
      WindowProblem problem(add, lengths);
      Vector weights(30);
      for (Index s = 0; s < 4; ++s)
        for (Index p = 0; p < lengths[at(s)]; ++p)
          weights[at(problem.window.structure.row(s, p))] = 30.0 / 4 / static_cast<double>(lengths[at(s)]);
      const Phi phi = metric == RiemannianMetric::ruop ? Phi::outer : Phi::backpropagated;
      const BruteForce expected(problem, phi, 0.3, weights);
      const Vector found =
          direction_of(problem, {.metric = metric, .damping = 0.3, .sequences = SequenceWeights::equal});
      expect_near(problem, found, expected.direction, name);
      EXPECT_GT(distance(found, BruteForce(problem, phi, 0.3).direction), 1e-3) << name;  // unlike unweighted
    }
}

/// With random errors that have the covariance of the Fisher matrix, the expected metric is the natural metric: the
/// error of the direction decreases with the square root of the number of samples.
TEST(UnitMetric, sampled_unit_metric_is_the_recurrent_natural_metric) {
  for (const char* name : {"glnn", "sparse-rnn", "lstm"}) {
    WindowProblem problem(kNetworks.at(name), {7, 4});
    const BruteForce expected(problem, Phi::natural, 0.3), back(problem, Phi::backpropagated, 0.3);
    double scale = 0;
    for (const double v : expected.direction) scale = std::max(scale, std::fabs(v));
    const auto error = [&](Index draws, std::uint64_t seed) {
      const Vector found =
          direction_of(problem, {.metric = RiemannianMetric::ruop, .damping = 0.3, .draws = draws}, seed);
      double worst = 0;
      for (std::size_t i = 0; i < found.size(); ++i)
        if (!is_writing(problem, i)) worst = std::max(worst, std::fabs(found[i] - expected.direction[i]));
      return worst / scale;
    };
    double apart = 0;  // distance from the back-propagated metric: larger than chance
    for (std::size_t i = 0; i < expected.direction.size(); ++i)
      apart = std::max(apart, std::fabs(back.direction[i] - expected.direction[i]) / scale);
    EXPECT_LT(error(60'000, 0), apart / 3) << name;
    EXPECT_GT(error(3, 0), 3 * apart) << name;
    EXPECT_NE(error(3, 0), error(3, 3)) << name;
  }
}

TEST(SampledSequences, generated_sequences_have_the_probabilities_of_the_network) {
  WindowProblem problem(kNetworks.at("glnn"), {3, 2});
  SampledSequences<double> own(problem.net);
  std::map<std::vector<Symbol>, double> expected, counted;
  for_each_own_text(problem, [&](const ScalarGraph&, const Vector&, double probability) {
    expected[predicted_symbols(problem.window)] += probability;
  });
  constexpr int kDraws = 20'000;
  for (int k = 0; k < kDraws; ++k) {
    const Batch& batch = own.draw(problem.window, problem.values, problem.before, static_cast<std::uint64_t>(k), 0);
    counted[predicted_symbols(batch)] += 1.0 / kDraws;
    for (Index s = 0; s < batch.structure.sequences(); ++s)
      for (Index p = 1; p < batch.structure.size(s); ++p)
        if (const Symbol x = predicted_symbols(batch)[at(batch.structure.row(s, p - 1))]; x != kNoSymbol) {
          ASSERT_EQ(read_symbols(batch)[at(batch.structure.row(s, p))], x);
        }
  }
  double all = 0;
  for (const auto& [text, p] : expected) {
    EXPECT_NEAR(counted[text], p, 5 * std::sqrt(p * (1 - p) / kDraws) + 1e-9);
    all += p;
  }
  EXPECT_NEAR(all, 1, 1e-12);
  EXPECT_LE(counted.size(), expected.size());
}

/// The error of the direction decreases with the square root of the number of generated sequences.
TEST(UnitMetric, metric_on_generated_sequences_is_the_mean_over_all) {
  for (const char* name : {"glnn", "sparse-rnn", "rnn"}) {
    WindowProblem problem(kNetworks.at(name), {3, 2});
    const Vector expected = direction_by_own_texts(problem, 0.3),
                 on_text = BruteForce(problem, Phi::outer, 0.3).direction;
    const auto distance_of = [&](const Vector& found) {
      double worst = 0, scale = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (is_writing(problem, i)) continue;
        worst = std::max(worst, std::fabs(found[i] - expected[i]));
        scale = std::max(scale, std::fabs(expected[i]));
      }
      return worst / scale;
    };
    const auto error = [&](Index own, std::uint64_t seed) {
      return distance_of(direction_of(problem, {.metric = RiemannianMetric::ruop, .damping = 0.3, .own = own}, seed));
    };
    const double many = error(20'000, 0);
    EXPECT_LT(many, 0.01) << name;
    EXPECT_GT(distance_of(on_text), 10 * many) << name;  // the metric on the text differs
    EXPECT_GT(error(3, 0), 10 * many) << name;
    EXPECT_NE(error(3, 0), error(3, 3)) << name;
  }
}

TEST(UnitMetric, backpropagated_metric_on_generated_sequences_is_the_mean_over_all) {
  WindowProblem problem(kNetworks.at("glnn"), {3, 2});
  const Vector expected = direction_by_own_texts(problem, 0.3, Phi::backpropagated),
               on_text = BruteForce(problem, Phi::backpropagated, 0.3).direction,
               found = direction_of(problem, {.metric = RiemannianMetric::rbpm, .damping = 0.3, .own = 5'000});
  const auto distance = [&](const Vector& direction) {
    double worst = 0;
    for (std::size_t i = 0; i < direction.size(); ++i)
      if (!is_writing(problem, i)) worst = std::max(worst, std::fabs(direction[i] - expected[i]));
    return worst;
  };
  EXPECT_LT(distance(found), 0.1 * distance(on_text));
}

TEST(UnitMetric, single_chain_metric_equals_the_dense_matrices) {
  for (const char* name : {"glnn", "gnn", "sparse-rnn"}) {
    WindowProblem problem(kNetworks.at(name), {40}, 2);
    const BruteForce expected(problem, Phi::backpropagated, 0.3);
    const MetricPass found = find(problem, false, true, 0.3);
    expect_near(problem, found.gradient, expected.gradient, name);
    expect_near(problem, found.direction, expected.direction, name);
  }
}

/// Returns the metric pass of a network over grids: from the top left, or the mirror image of network and data.
MetricPass metric_over_grids(bool mirrored, bool outer) {
  Circuit c;
  const Signal x = c.symbols("symbols", kAlphabet);
  const Signal side = c.link(2, mirrored ? Delay::right() : Delay::left());
  const Signal above = c.link(2, mirrored ? Delay::down() : Delay::up());
  const Signal h = tanh(c.affine("h", 2, {{"W", x}, {"U", side}, {"V", above}}));
  c.feed(side, h), c.feed(above, h);
  const Signal logits = c.affine("output", kAlphabet, {{"V", h}});
  c.output(logits);
  const Network<double> net = text_network<double>(std::make_shared<const Plan>(c), x, logits);
  Parameters<double> values(c);
  values.initialize(3);
  Batch batch;
  const std::vector<std::pair<Index, Index>> shapes = {{2, 3}, {3, 2}, {1, 4}, {3, 3}};
  batch.structure = Structure::grids(shapes);
  read_symbols(batch).assign(at(batch.structure.positions()), kNoSymbol);
  predicted_symbols(batch).assign(at(batch.structure.positions()), kNoSymbol);
  for (Index s = 0; s < batch.structure.sequences(); ++s) {
    batch.carry.slots.push_back(s);
    const Index count = batch.structure.size(s);
    for (Index p = 0; p < count; ++p, ++batch.predicted) {
      const auto row = at(batch.structure.row(s, mirrored ? count - 1 - p : p));
      read_symbols(batch)[row] = static_cast<Symbol>((p * p + s) % kAlphabet);
      predicted_symbols(batch)[row] = static_cast<Symbol>((p / 2 + s) % kAlphabet);
    }
  }
  Team team(2);
  return metric_pass(net, team, batch, values, State<double>(*net.plan, batch.structure.sequences()), outer, true, 0.3);
}

TEST(UnitMetric, metric_of_grids_read_from_another_corner_is_that_of_the_mirrored_grids) {
  for (const bool outer : {true, false}) {
    const MetricPass found = metric_over_grids(true, outer), expected = metric_over_grids(false, outer);
    EXPECT_LT(distance(found.gradient, expected.gradient), 1e-12);
    EXPECT_LT(distance(found.direction, expected.direction), 1e-10);
    EXPECT_GT(distance(expected.direction, Vector(expected.direction.size())), 0.01);
  }
}

TEST(UnitMetric, parameters_with_an_infinite_modulus_do_not_move) {
  WindowProblem problem(kNetworks.at("glnn"), {300});
  for (const char* name : {"V/rho", "V/tau"}) {
    const Matrix<double> w = problem.values.at(name);
    std::fill_n(w.data, w.rows * w.cols, name == std::string("V/tau") ? 3 : 0);  // grows by a factor of 1 + 3 per step
  }
  for (const ParameterInfo& p : problem.circuit.parameters())
    if (p.name.find("output") == std::string::npos && p.name != "V/tau")
      std::fill_n(problem.values.flat().begin() + p.offset, p.size(), 0.0);  // and nothing saturates
  for (const bool outer : {true, false})
    for (const bool full : {true, false}) {
      const MetricPass found = find(problem, outer, full, 1);
      for (std::size_t i = 0; i < found.direction.size(); ++i)
        EXPECT_TRUE(std::isfinite(found.direction[i])) << outer << full << " parameter " << i;
    }
}

/// With one input in addition to the constant, the quasi-diagonal reduction is exact.
TEST(UnitMetric, quasi_diagonal_reduction_is_exact_for_one_input) {
  for (const auto& add : {sparse(glnn, Map::tanh, 3, 1), sparse(reference::simple, Map::tanh, 3, 1)})
    for (const bool outer : {true, false}) {
      WindowProblem problem(add, {30, 5});
      const MetricPass full = find(problem, outer, true, 1e-9), reduced = find(problem, outer, false, 1e-9);
      expect_near(problem, reduced.direction, full.direction, "quasi-diagonal");
    }
}

/// The Hessian of the loss in all output weights, written out: sum over positions of (diag(p) - p p') (x) a a'.
TEST(OutputMetric, full_output_metric_is_the_newton_step_of_all_output_weights) {
  WindowProblem problem(kNetworks.at("rnn"), {9, 14});
  CorePass<double> core(problem.net, problem.crew);
  State<double> state = problem.before;
  core.forward(problem.window, problem.values, state, std::nullopt);
  OutputMetric<double> metric(core, 1, false, true);
  metric.pass(core, problem.values, problem.window, {.metric = true, .adjoints = true});
  Vector found(at(problem.circuit.parameter_count()), 0);
  metric.direction(problem.values, 0, found);
  CircuitInputs inputs;
  inputs.symbols[problem.x.id] = read_symbols(problem.window);
  const ScalarGraph graph(problem.circuit, problem.window.structure, problem.values.flat(), inputs);
  const Index n = problem.activity.size(), m = n + 1, size = kAlphabet * m;
  std::vector<Vector> hessian(at(size), Vector(at(size), 0));
  Vector gradient(at(size), 0);
  for (Index r = 0; r < problem.window.structure.positions(); ++r) {
    const Symbol target = predicted_symbols(problem.window)[at(r)];
    if (target == kNoSymbol) continue;
    Vector a(at(m), 1), p(at(kAlphabet));
    double total = 0;
    for (Index i = 0; i < n; ++i) a[at(i)] = graph.value(graph.node(problem.activity.id, r, i));
    for (Index x = 0; x < kAlphabet; ++x)
      total += p[at(x)] = std::exp(graph.value(graph.node(problem.logits.id, r, x)));
    for (double& each : p) each /= total;
    for (Index x = 0; x < kAlphabet; ++x)
      for (Index i = 0; i < m; ++i) {
        gradient[at(x * m + i)] += a[at(i)] * (p[at(x)] - (x == target));
        for (Index y = 0; y < kAlphabet; ++y)
          for (Index j = 0; j < m; ++j)
            hessian[at(x * m + i)][at(y * m + j)] += p[at(x)] * ((x == y) - p[at(y)]) * a[at(i)] * a[at(j)];
      }
    for (Index i = 0; i < m; ++i)
      hessian[at(target * m + i)][at(target * m + i)] += 1 / static_cast<double>(problem.window.predicted);
  }
  const Index weights =
      problem.circuit.parameters()[at(problem.net.plan->nodes()[at(problem.logits.id)].terms()[0].parameter)].offset;
  const Index bias =
      problem.circuit.parameters()[at(problem.circuit.nodes()[at(problem.logits.id)].affine().bias)].offset;
  for (Index p = 0; p < size; ++p) {  // M times the direction is G
    double sum = 0;
    for (Index q = 0; q < size; ++q) {
      const Index x = q / m, i = q % m;
      sum += hessian[at(p)][at(q)] * found[at(i < n ? weights + i * kAlphabet + x : bias + x)];
    }
    EXPECT_NEAR(sum, gradient[at(p)], 1e-8);
  }
}

TEST(OutputMetric, output_metric_is_the_quasi_diagonal_newton_step) {
  WindowProblem problem(kNetworks.at("rnn"), {9, 14});
  const MetricPass found = find(problem, true, true, 1);
  CircuitInputs inputs;
  inputs.symbols[problem.x.id] = read_symbols(problem.window);
  const ScalarGraph graph(problem.circuit, problem.window.structure, problem.values.flat(), inputs);
  const Index n = problem.activity.size();
  for (Index x = 0; x < kAlphabet; ++x) {
    double frequency = 0, g0 = 0, h00 = 0;
    Vector g(at(n), 0), h0(at(n), 0), h(at(n), 0);
    for (Index r = 0; r < problem.window.structure.positions(); ++r) {
      const Symbol target = predicted_symbols(problem.window)[at(r)];
      if (target == kNoSymbol) continue;
      frequency += (target == x) / static_cast<double>(problem.window.predicted);
      double total = 0;
      for (Index y = 0; y < kAlphabet; ++y) total += std::exp(graph.value(graph.node(problem.logits.id, r, y)));
      const double p = std::exp(graph.value(graph.node(problem.logits.id, r, x))) / total, q = p * (1 - p);
      g0 += p - (target == x), h00 += q;
      for (Index i = 0; i < n; ++i) {
        const double a = graph.value(graph.node(problem.activity.id, r, i));
        g[at(i)] += a * (p - (target == x)), h0[at(i)] += a * q, h[at(i)] += a * a * q;
      }
    }
    const double damping = frequency + std::numeric_limits<double>::epsilon();
    h00 += damping;
    double d0 = g0 / h00;
    for (Index i = 0; i < n; ++i) {
      const double d = (g[at(i)] - g0 * h0[at(i)] / h00) / (h[at(i)] + damping - h0[at(i)] * h0[at(i)] / h00);
      d0 -= h0[at(i)] / h00 * d;
      EXPECT_NEAR(
          found.writing[at(
              problem.circuit.parameters()[at(problem.net.plan->nodes()[at(problem.logits.id)].terms()[0].parameter)]
                  .offset +
              i * kAlphabet + x)],
          d, 1e-9);
    }
    EXPECT_NEAR(
        found.writing[at(
            problem.circuit.parameters()[at(problem.circuit.nodes()[at(problem.logits.id)].affine().bias)].offset + x)],
        d0, 1e-9);
  }
}

// --------------------------------------------------------------------------------------------------------- invariance

Vector losses(WindowProblem& problem, RiemannianMetric metric, Reduction reduction, int steps = 6,
              double damping = 1e-13) {
  return losses(problem, {.metric = metric, .reduction = reduction, .damping = damping, .writing_damping = damping},
                steps);
}

/// Two parameterizations of one network: both are built, and the parameters of the first are converted to those of the
/// second.
struct Spelling {
  std::string name;
  WindowProblem::Add first, second;
  std::function<void(WindowProblem& from, WindowProblem& to)> translate;
};

Matrix<double> block(WindowProblem& p, const char* name) { return p.values.at(name); }
void copy_all(WindowProblem& from, WindowProblem& to) {
  std::copy(from.values.flat().begin(), from.values.flat().end(), to.values.flat().begin());
}

template <class F>
void each(Matrix<double> m, F&& f) {
  for (Index r = 0; r < m.rows; ++r)
    for (Index c = 0; c < m.cols; ++c) f(m(r, c), r, c);
}

/// sigmoid(2 v) = (1 + tanh v) / 2: doubles pre-activations, multiplies weights from activations by four, and shifts
/// offsets.
void tanh_to_sigmoid(WindowProblem& from, WindowProblem& to) {
  copy_all(from, to);
  each(block(to, "link1/start"), [](double& v, Index, Index) { v *= 2; });
  const auto edges = random_edges(3, 2, 4);
  const Matrix<double> tau = block(from, "V/tau"), rho = block(from, "V/rho");
  each(block(to, "V/tau"), [](double& v, Index, Index) { v *= 4; });
  each(block(to, "V/rho"), [&](double& v, Index x, Index i) {
    v = 2 * rho(x, i);
    for (Index e = 0; e < edges->count(); ++e)
      if (edges->to()[at(e)] == i) v -= 2 * tau(tau.rows == 1 ? 0 : x, e);
  });
  const Matrix<double> w = block(from, "output/V");
  each(block(to, "output/V"), [](double& v, Index, Index) { v *= 2; });
  each(block(to, "output/bias"), [&](double& v, Index, Index y) {
    for (Index i = 0; i < w.rows; ++i) v -= w(i, y);
  });
}

/// Negates unit 1: tanh is odd.
void flip_unit(WindowProblem& from, WindowProblem& to) {
  copy_all(from, to);
  const auto edges = random_edges(3, 2, 4);
  each(block(to, "link1/start"), [](double& v, Index, Index i) { v *= i == 1 ? -1 : 1; });
  each(block(to, "V/rho"), [](double& v, Index, Index i) { v *= i == 1 ? -1 : 1; });
  each(block(to, "V/tau"),
       [&](double& v, Index, Index e) { v *= (edges->from()[at(e)] == 1) != (edges->to()[at(e)] == 1) ? -1 : 1; });
  each(block(to, "output/V"), [](double& v, Index i, Index) { v *= i == 1 ? -1 : 1; });
}

/// Scales unit 1 by three: relu is homogeneous.
void rescale_unit(WindowProblem& from, WindowProblem& to) {
  copy_all(from, to);
  const auto edges = random_edges(3, 2, 4);
  each(block(to, "link1/start"), [](double& v, Index, Index i) { v *= i == 1 ? 3 : 1; });
  each(block(to, "V/rho"), [](double& v, Index, Index i) { v *= i == 1 ? 3 : 1; });
  each(block(to, "V/tau"), [&](double& v, Index, Index e) {
    v *= (edges->to()[at(e)] == 1 ? 3 : 1) / (edges->from()[at(e)] == 1 ? 3.0 : 1.0);
  });
  each(block(to, "output/V"), [](double& v, Index i, Index) { v /= i == 1 ? 3 : 1; });
}

/// Permutes the symbols.
void permute_alphabet(WindowProblem& from, WindowProblem& to) {
  const auto moved = [](Index x) { return (x + 1) % kAlphabet; };
  copy_all(from, to);
  for (const char* name : {"V/rho", "V/tau"}) {
    const Matrix<double> old = block(from, name), fresh = block(to, name);
    if (old.rows == 1) continue;
    each(old, [&](double& v, Index x, Index c) { fresh(moved(x), c) = v; });
  }
  for (const char* name : {"output/V", "output/bias"}) {
    const Matrix<double> old = block(from, name), fresh = block(to, name);
    each(old, [&](double& v, Index r, Index x) { fresh(r, moved(x)) = v; });
  }
  for (auto* symbols : {&read_symbols(to.window), &predicted_symbols(to.window)})
    for (Symbol& x : *symbols)
      if (x != kNoSymbol) x = static_cast<Symbol>(moved(x));
}

const std::vector<Spelling> kSpellings = {
    {"glnn: tanh and logistic", sparse(glnn, Map::tanh), sparse(glnn, Map::sigmoid), tanh_to_sigmoid},
    {"gnn: a unit the other way round", sparse(gnn, Map::tanh), sparse(gnn, Map::tanh), flip_unit},
    {"glnn: a rescaled unit", sparse(glnn, Map::relu), sparse(glnn, Map::relu), rescale_unit},
    {"glnn: a permuted alphabet", sparse(glnn, Map::tanh), sparse(glnn, Map::tanh), permute_alphabet},
};

/// Avoids saturation, so that the matrices are well conditioned: small weights, and loops with decay.
void calm(WindowProblem& problem) {
  for (double& v : problem.values.flat()) v *= 0.4;
  const auto edges = random_edges(3, 2, 4);
  each(block(problem, "V/tau"), [&](double& v, Index, Index e) {
    if (edges->from()[at(e)] == edges->to()[at(e)]) v = -0.5 + 0.1 * v;
  });
  each(block(problem, "V/rho"), [](double& v, Index, Index) { v = 0.1 + std::fabs(v); });  // keeps relu units active
}

TEST(Invariance, trajectory_is_invariant_to_reparameterization) {
  const std::vector<Index> lengths = {60, 45};
  for (const Spelling& spelling : kSpellings)
    for (const auto metric : {RiemannianMetric::ruop, RiemannianMetric::rbpm})
      for (const auto reduction : {Reduction::full, Reduction::quasi_diagonal}) {
        WindowProblem first(spelling.first, lengths), second(spelling.second, lengths);
        calm(first);
        spelling.translate(first, second);
        const Vector a = losses(first, metric, reduction), b = losses(second, metric, reduction);
        EXPECT_LT(a.back(), a.front() - 0.01) << spelling.name;
        EXPECT_LT(distance(a, b), 1e-5) << spelling.name << (metric == RiemannianMetric::ruop ? " ruop" : " rbpm")
                                        << (reduction == Reduction::full ? " full" : " quasi-diagonal");
      }
}

/// The errors are sampled at the outputs, which all parameterizations share (up to the order of the alphabet).
TEST(Invariance, sampled_equal_and_generated_metrics_are_invariant) {
  for (const Spelling& spelling : {kSpellings[0], kSpellings[1], kSpellings[2]}) {
    WindowProblem first(spelling.first, {60, 45}), second(spelling.second, {60, 45});
    calm(first);
    spelling.translate(first, second);
    const RiemannianOptions options = {
        .damping = 1e-13, .writing_damping = 1e-13, .draws = 6, .sequences = SequenceWeights::equal};
    const RiemannianOptions own = {.damping = 1e-13, .writing_damping = 1e-13, .own = 3};
    for (const RiemannianOptions& how : {options, own}) {
      const Vector a = losses(first, how, 6), b = losses(second, how, 6);
      EXPECT_LT(a.back(), a.front() - 0.01) << spelling.name;
      EXPECT_LT(distance(a, b), 1e-5) << spelling.name;
    }
  }
}

/// Scaling the activation of a linear unit by d and its weights by 1/d gives the same unit and the same direction.
TEST(Invariance, linear_unit_direction_is_invariant_to_scaling) {
  WindowProblem first(kLinear, {60, 45}, 1, true), second(kLinear, {60, 45}, 1, true);
  const auto linear_block = [](WindowProblem& p, std::string_view end) {
    for (const ParameterInfo& info : p.circuit.parameters())
      if (info.name.ends_with(end)) return p.values.at(info.name);
    throw UsageError("no such block");
  };
  const double d[] = {0.5, 1.5, 4};
  for (WindowProblem* p : {&first, &second})
    each(linear_block(*p, "output/bias"), [](double& v, Index, Index) { v = 0; });  // the bias has no scale
  copy_all(first, second);
  each(linear_block(second, "/start"), [&](double& v, Index, Index i) { v = d[i] * (v + 1.0 / 3) - 1.0 / 3; });
  each(linear_block(second, "/tau"), [&](double& v, Index, Index e) { v *= d[e / 3] / d[e % 3]; });
  each(linear_block(second, "output/V"), [&](double& v, Index i, Index) { v /= d[i]; });
  const RiemannianOptions options = {.metric = RiemannianMetric::ruop, .damping = 1e-15};
  Vector a = direction_of(first, options);
  const Vector b = direction_of(second, options);
  const auto as_second = [&](std::string_view end, const std::function<double(Index)>& scale) {
    for (const ParameterInfo& info : first.circuit.parameters())
      if (info.name.ends_with(end))
        for (Index k = 0; k < info.size(); ++k) a[at(info.offset + k)] *= scale(k % info.cols);
  };
  as_second("/start", [&](Index i) { return d[i]; });
  as_second("/tau", [&](Index e) { return d[e / 3] / d[e % 3]; });
  double scale = 0;
  for (const double v : a) scale = std::max(scale, std::fabs(v));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!is_writing(second, i)) {
      EXPECT_NEAR(b[i], a[i], 1e-8 * scale) << i;  // nearly singular: the length of V is not determined
    }
}

TEST(Invariance, plain_gradient_is_not_invariant) {
  for (const Spelling& spelling : {kSpellings[0], kSpellings[2]}) {
    WindowProblem first(spelling.first, {60, 45}), second(spelling.second, {60, 45});
    calm(first);
    spelling.translate(first, second);
    const Vector a = losses(first, RiemannianMetric::none, Reduction::full);
    const Vector b = losses(second, RiemannianMetric::none, Reduction::full);
    EXPECT_NEAR(a.front(), b.front(), 1e-12) << spelling.name;  // the same function initially
    EXPECT_GT(distance(a, b), 1e-3) << spelling.name;
  }
}

// ------------------------------------------------------------------------------------------------------------ control

TEST(Backtracking, backtracking_never_raises_the_loss) {
  for (const auto& [name, add] : kNetworks)
    for (const auto metric : {RiemannianMetric::ruop, RiemannianMetric::rbpm, RiemannianMetric::none}) {
      WindowProblem problem(add, {60, 45});
      const Vector found = losses(problem, metric, Reduction::full, 25, 1);
      for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LE(found[i], found[i - 1]) << name;
      EXPECT_LT(found.back(), found.front() - 0.05) << name;
    }
}

TEST(Riemannian, riemannian_bits_do_not_depend_on_threads) {
  for (const char* name : {"glnn", "lstm"})
    for (const auto metric : {RiemannianMetric::ruop, RiemannianMetric::rbpm}) {
      const std::vector<Index> lengths =
          name == std::string("glnn") ? std::vector<Index>{1300} : std::vector<Index>{30, 9};
      WindowProblem one(kNetworks.at(name), lengths), three(kNetworks.at(name), lengths, 3);
      EXPECT_EQ(losses(one, metric, Reduction::full, 4, 1), losses(three, metric, Reduction::full, 4, 1)) << name;
      EXPECT_TRUE(std::equal(one.values.flat().begin(), one.values.flat().end(), three.values.flat().begin()));
    }
}

TEST(Riemannian, sampled_riemannian_bits_do_not_depend_on_threads) {
  for (const char* name : {"glnn", "lstm"}) {
    WindowProblem one(kNetworks.at(name), {700, 9}), three(kNetworks.at(name), {700, 9}, 3);
    for (const RiemannianOptions& options : {RiemannianOptions{.draws = 2, .sequences = SequenceWeights::equal},
                                             RiemannianOptions{.own = 2, .sequences = SequenceWeights::equal}})
      EXPECT_EQ(losses(one, options, 4), losses(three, options, 4)) << name;
  }
}

TEST(Riemannian, riemannian_bits_do_not_depend_on_absent_threads) {
  for (const char* name : {"glnn", "gnn", "lstm"}) {
    WindowProblem one(kNetworks.at(name), {300, 9}),
        three(kNetworks.at(name), {300, 9}, 3, false, Attendance::adaptive);
    const auto alone = riemannian_control<double>(one.circuit.parameter_count(), {}),
               together = riemannian_control<double>(one.circuit.parameter_count(), {});
    alone->attach(one), together->attach(three);
    NoMove none;
    for (const bool away : {false, true, false, true}) {
      if (away) {
        EXPECT_TRUE(testing_support::comes_to(three.crew, 1, std::chrono::milliseconds(3), 1));
      }
      for (int step = 0; step < 2; ++step)
        EXPECT_EQ(alone->step(one, none, 0.3).loss, together->step(three, none, 0.3).loss) << name << away;
    }
  }
}

TEST(Riemannian, saturated_units_and_unseen_symbols_are_supported) {
  WindowProblem problem(kNetworks.at("glnn"), {50});
  for (double& v : problem.values.flat()) v *= 40;
  for (auto* symbols : {&read_symbols(problem.window), &predicted_symbols(problem.window)})
    for (Symbol& x : *symbols)
      if (x == 2) x = 1;
  read_symbols(problem.window)[7] = 2;  // read once, never predicted
  for (const auto metric : {RiemannianMetric::ruop, RiemannianMetric::rbpm}) {
    const Vector found = losses(problem, metric, Reduction::full, 10, 1);
    for (const double loss : found) EXPECT_TRUE(std::isfinite(loss));
    for (const double v : problem.values.flat()) EXPECT_TRUE(std::isfinite(v));
  }
}

TEST(Riemannian, directions_and_matrices_are_averaged_on_request) {
  for (const char* name : {"glnn", "rnn"}) {
    WindowProblem problem(kNetworks.at(name), {60, 45});
    const auto control = riemannian_control<double>(problem.circuit.parameter_count(),
                                                    {.control = StepControl::fixed, .keep = 0.5, .average = true});
    control->attach(problem);
    NoMove none;
    const double first = control->step(problem, none, 0.3).loss;
    double last = first;
    for (int i = 0; i < 30; ++i) last = control->step(problem, none, 0.3).loss;
    EXPECT_LT(last, first - 0.05) << name;
  }
}

/// The output weights move first, from the same parameters.
TEST(Riemannian, writing_factor_scales_the_rate_of_the_output_weights) {
  const auto moved = [](double factor) {
    WindowProblem problem(kNetworks.at("rnn"), {60, 45});
    const Vector before(problem.values.flat().begin(), problem.values.flat().end());
    const auto control = riemannian_control<double>(problem.circuit.parameter_count(),
                                                    {.control = StepControl::fixed, .writing_factor = factor});
    control->attach(problem);
    NoMove none;
    control->step(problem, none, 0.01);
    Vector by;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (is_writing(problem, i)) by.push_back(problem.values.flat()[i] - before[i]);
    return by;
  };
  const Vector once = moved(1), thrice = moved(3);
  ASSERT_FALSE(once.empty());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(thrice[i], 3 * once[i], 1e-12);
}

TEST(Riemannian, sampling_errors_excludes_generating_sequences) {
  EXPECT_THROW(riemannian_control<double>(3, {.draws = 1, .own = 1}), UsageError);
}

TEST(Riemannian, nonlinear_output_is_a_part_of_the_core) {
  Circuit c;
  const Signal x = c.symbols("x", 3), h = tanh(c.affine("a", 3, {{"W", x}}));
  c.output(h);
  Team team(1);
  const Network<double> network = text_network<double>(std::make_shared<const Plan>(c), x, h);
  const CorePass<double> core(network, team);
  EXPECT_FALSE(core.heads().front().split);
  EXPECT_EQ(core.plan().nodes()[at(h.id)].kind(), Node::Kind::pointwise);
  EXPECT_TRUE(core.plan().live(h.id));
  EXPECT_EQ(core.units(), 3);
}

}  // namespace
}  // namespace unfold
