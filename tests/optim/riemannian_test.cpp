/// The Riemannian directions against dense brute force over the scalar graph, and their invariance.

#include "unfold/optim/riemannian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "optim/metric_pass.h"
#include "optim/small_network.h"
#include "unfold/optim/output_metric.h"
#include "unfold/optim/unit_metric.h"
#include "unfold/verify/scalar_graph.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;
constexpr Index kAlphabet = 3;

/// A network over kAlphabet symbols with random parameters, and one batch of ragged fresh sequences.
struct WindowProblem final : Objective<double> {
  using Add = std::function<Signal(Circuit&, Signal)>;

  WindowProblem(const Add& add, const std::vector<Index>& lengths, int threads = 1) : crew(threads) {
    x = circuit.symbols("symbols", kAlphabet);
    activity = add(circuit, x);
    logits = circuit.affine("output", kAlphabet, {{"V", activity}});
    circuit.output(logits);
    net = text_network<double>(std::make_shared<const Plan>(circuit), x, logits);
    values = Parameters<double>(circuit);
    values.initialise(3);
    Random noise(8, "noise");
    for (double& p : values.flat()) p += 0.4 * noise.normal();
    window.structure = Structure::chains(lengths);
    const Index rows = window.structure.positions();
    read_symbols(window).assign(at(rows), kNoSymbol);
    predicted_symbols(window).assign(at(rows), kNoSymbol);
    Random text(5, "text");
    for (Index s = 0; s < window.structure.sequences(); ++s) {
      window.carry.slots.push_back(s);
      Symbol last = kNoSymbol;
      for (Index p = 0; p < window.structure.size(s); ++p) {
        const auto row = at(window.structure.row(s, p));
        read_symbols(window)[row] = last;
        const bool turn = text.below(4) == 0;  // mostly counting up: there is something to learn
        last = turn || last == kNoSymbol ? static_cast<Symbol>(text.below(kAlphabet)) : (last + 1) % kAlphabet;
        if (text.below(5) != 0) predicted_symbols(window)[row] = last, ++window.predicted;
      }
    }
    before = after = State<double>(*net.plan, window.structure.sequences());
  }

  Parameters<double>& parameters() override { return values; }
  Team& team() override { return crew; }
  double gradient(std::span<double>) override { throw UsageError("not asked for"); }
  double loss() override { throw UsageError("not asked for"); }
  EnteredBatch<double> enter() override { return {net, window, before, after, std::nullopt}; }

  const Network<double>& network() const override { return net; }

  Circuit circuit;
  Signal x, activity, logits;
  Network<double> net;
  Parameters<double> values;
  Batch window;
  State<double> before, after;
  Team crew;
};

WindowProblem::Add sparse(Signal (*add)(Circuit&, Signal, Index, const SparseOptions&), Map activation, Index n = 3,
                          Index edges = 2) {
  return [=](Circuit& c, Signal x) { return add(c, x, n, {.edges = edges, .graph = 4, .activation = activation}); };
}
const std::map<std::string, WindowProblem::Add> kNetworks = {
    {"rnn", [](Circuit& c, Signal x) { return rnn(c, x, 3, {.trained_initial = true}); }},
    {"lstm", [](Circuit& c, Signal x) { return lstm(c, x, 2, {.trained_initial = true}); }},
    {"gru", [](Circuit& c, Signal x) { return gru(c, x, 2, {.reset_after = true}); }},
    {"glnn", sparse(glnn, Map::tanh)},
    {"glnn sigmoid", sparse(glnn, Map::sigmoid)},
    {"gnn", sparse(gnn, Map::tanh)},
    {"sparse-rnn", sparse(sparse_rnn, Map::tanh)},
};

/// x with A x = b, by Gauss-Jordan elimination.
Vector solve(std::vector<Vector> a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::fabs(a[i][k]) > std::fabs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double f = a[i][k] / a[k][k];
      for (std::size_t j = 0; j < n; ++j) a[i][j] -= f * a[k][j];
      b[i] -= f * b[k];
    }
  }
  for (std::size_t k = 0; k < n; ++k) b[k] /= a[k][k];
  return b;
}

/// Everything by definition: unfold into scalars, sum over paths, fill whole matrices, solve.
struct BruteForce {
  Vector direction, gradient;
  double nats = 0;

  BruteForce(WindowProblem& problem, bool outer, double damping) {
    const Circuit& c = problem.circuit;
    CircuitInputs inputs;
    inputs.symbols[problem.x.id] = read_symbols(problem.window);
    const ScalarGraph graph(c, problem.window.structure, problem.values.flat(), inputs);
    const Matrix<double> w = problem.values.at("output/V");
    Vector linear(at(graph.nodes()), 0), modulus = linear;
    for (Index r = 0; r < problem.window.structure.positions(); ++r) {
      const Symbol target = predicted_symbols(problem.window)[at(r)];
      if (target == kNoSymbol) continue;
      double p[kAlphabet], total = 0;
      for (Index y = 0; y < kAlphabet; ++y) total += p[y] = std::exp(graph.value(graph.node(problem.logits.id, r, y)));
      for (Index y = 0; y < kAlphabet; ++y) p[y] /= total;
      nats -= std::log(p[target]);
      for (Index y = 0; y < kAlphabet; ++y) linear[at(graph.node(problem.logits.id, r, y))] = p[y] - (y == target);
      for (Index i = 0; i < w.rows; ++i) {
        double mean = 0, square = 0;
        for (Index y = 0; y < kAlphabet; ++y) mean += p[y] * w(i, y), square += p[y] * w(i, y) * w(i, y);
        modulus[at(graph.node(problem.activity.id, r, i))] = square - mean * mean;
      }
    }
    const Vector b = graph.backward(linear, false), phi = graph.backward(modulus, true);
    gradient.assign(b.begin(), b.begin() + graph.parameters());
    direction.assign(at(graph.parameters()), 0);
    // The inputs of a unit at a position are the partials by its parameters.
    std::map<Index, std::vector<std::pair<Index, double>>> inputs_of;
    for (const auto& edge : graph.edges())
      if (edge.from < graph.parameters()) inputs_of[edge.to].emplace_back(edge.from, edge.partial);
    for (std::size_t s = 0; s < c.nodes().size(); ++s) {
      const Node& node = c.nodes()[s];
      if (node.kind != Node::Kind::affine || static_cast<int>(s) == problem.logits.id) continue;
      for (Index i = 0; i < node.size; ++i)
        solve_unit(graph, problem, static_cast<int>(s), i, b, phi, inputs_of, outer, damping);
    }
    for (const Node& node : c.nodes()) {  // trained starts: one more position, whose only input is 1
      if (node.kind != Node::Kind::link || node.initial < 0) continue;
      const ParameterInfo& p = c.parameters()[at(node.initial)];
      for (Index i = 0; i < node.size; ++i) {
        double m = damping;
        for (const auto& edge : graph.edges())
          if (edge.from == p.offset + i) m += outer ? b[at(edge.to)] * b[at(edge.to)] : phi[at(edge.to)];
        direction[at(p.offset + i)] = gradient[at(p.offset + i)] / m;
      }
    }
  }

  void solve_unit(const ScalarGraph& graph, WindowProblem& problem, int signal, Index component, const Vector& b,
                  const Vector& phi, std::map<Index, std::vector<std::pair<Index, double>>>& inputs_of, bool outer,
                  double damping) {
    std::map<Index, std::size_t> place;
    std::vector<Index> parameter;
    for (Index r = 0; r < problem.window.structure.positions(); ++r)
      for (const auto& [q, u] : inputs_of[graph.node(signal, r, component)])
        if (place.emplace(q, parameter.size()).second) parameter.push_back(q);
    const std::size_t n = parameter.size();
    std::vector<Vector> m(n, Vector(n, 0));
    Vector g(n, 0);
    for (Index r = 0; r < problem.window.structure.positions(); ++r) {
      const Index node = graph.node(signal, r, component);
      const double weight = outer ? b[at(node)] * b[at(node)] : phi[at(node)];
      for (const auto& [q, u] : inputs_of[node]) {
        g[place[q]] += b[at(node)] * u;
        for (const auto& [k, v] : inputs_of[node]) m[place[q]][place[k]] += weight * u * v;
      }
    }
    for (std::size_t k = 0; k < n; ++k) m[k][k] += damping;
    const Vector d = solve(m, g);
    for (std::size_t k = 0; k < n; ++k) direction[at(parameter[k])] = d[k];
  }
};

/// The direction from the passes under test.
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

TEST(UnitMetric, equals_the_dense_matrices_of_all_units) {
  for (const auto& [name, add] : kNetworks)
    for (const bool outer : {true, false}) {
      WindowProblem problem(add, {9, 14, 1, 6});
      const BruteForce expected(problem, outer, 0.3);
      const MetricPass found = find(problem, outer, true, 0.3);
      EXPECT_NEAR(found.nats, expected.nats, 1e-10) << name;
      expect_near(problem, found.gradient, expected.gradient, name + " gradient");
      expect_near(problem, found.direction, expected.direction, name + (outer ? " ruop" : " rbpm"));
    }
}

TEST(UnitMetric, of_one_chain_equals_the_dense_matrices) {
  for (const char* name : {"glnn", "gnn", "sparse-rnn"}) {
    WindowProblem problem(kNetworks.at(name), {40}, 2);
    const BruteForce expected(problem, false, 0.3);
    const MetricPass found = find(problem, false, true, 0.3);
    expect_near(problem, found.gradient, expected.gradient, name);
    expect_near(problem, found.direction, expected.direction, name);
  }
}

TEST(UnitMetric, does_not_move_what_has_an_infinite_modulus) {
  WindowProblem problem(kNetworks.at("glnn"), {300});
  for (const char* name : {"V/rho", "V/tau"}) {
    const Matrix<double> w = problem.values.at(name);
    std::fill_n(w.data, w.rows * w.cols, name == std::string("V/tau") ? 3 : 0);  // grows by 1 + 3 from step to step
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

/// With one input beside the constant, the quasi-diagonal reduction is the whole matrix.
TEST(UnitMetric, reduced_to_its_quasi_diagonal_is_exact_for_one_input) {
  for (const auto& add : {sparse(glnn, Map::tanh, 3, 1), sparse(sparse_rnn, Map::tanh, 3, 1)})
    for (const bool outer : {true, false}) {
      WindowProblem problem(add, {30, 5});
      const MetricPass full = find(problem, outer, true, 1e-9), reduced = find(problem, outer, false, 1e-9);
      expect_near(problem, reduced.direction, full.direction, "quasi-diagonal");
    }
}

TEST(OutputMetric, is_the_quasi_diagonal_newton_step) {
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
              problem.circuit.parameters()[at(problem.net.plan->nodes()[at(problem.logits.id)].terms[0].parameter)]
                  .offset +
              i * kAlphabet + x)],
          d, 1e-9);
    }
    EXPECT_NEAR(found.writing[at(
                    problem.circuit.parameters()[at(problem.circuit.nodes()[at(problem.logits.id)].bias)].offset + x)],
                d0, 1e-9);
  }
}

// --------------------------------------------------------------------------------------------------------- invariance

struct NoMove final : Direction<double> {
  void move(Team&, std::span<double>, std::span<const double>, double, double) override {}
  void visit_state(StateVisitor<double>&) override {}
};

/// The losses of a few steps with negligible damping.
Vector losses(WindowProblem& problem, RiemannianMetric metric, Reduction reduction, int steps = 6,
              double damping = 1e-13) {
  const auto control = riemannian_control<double>(
      problem.circuit.parameter_count(),
      {.metric = metric, .reduction = reduction, .damping = damping, .writing_damping = damping});
  control->attach(problem);
  NoMove none;
  Vector result;
  for (int i = 0; i < steps; ++i) result.push_back(control->step(problem, none, 0.5).loss);
  return result;
}

/// Two spellings of one network: built, and the parameters of the first written into those of the second.
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

/// sigmoid(2 v) = (1 + tanh v) / 2: pre-activations doubled, weights from activities four times as large, offsets
/// moved.
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

/// Unit 1 counted the other way round: tanh is odd.
void flip_unit(WindowProblem& from, WindowProblem& to) {
  copy_all(from, to);
  const auto edges = random_edges(3, 2, 4);
  each(block(to, "link1/start"), [](double& v, Index, Index i) { v *= i == 1 ? -1 : 1; });
  each(block(to, "V/rho"), [](double& v, Index, Index i) { v *= i == 1 ? -1 : 1; });
  each(block(to, "V/tau"),
       [&](double& v, Index, Index e) { v *= (edges->from()[at(e)] == 1) != (edges->to()[at(e)] == 1) ? -1 : 1; });
  each(block(to, "output/V"), [](double& v, Index i, Index) { v *= i == 1 ? -1 : 1; });
}

/// Unit 1 three times as large: relu is homogeneous.
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

/// The symbols in another order.
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

/// Far from saturation, where the matrices are well conditioned: small weights, and loops that forget.
void calm(WindowProblem& problem) {
  for (double& v : problem.values.flat()) v *= 0.4;
  const auto edges = random_edges(3, 2, 4);
  each(block(problem, "V/tau"), [&](double& v, Index, Index e) {
    if (edges->from()[at(e)] == edges->to()[at(e)]) v = -0.5 + 0.1 * v;
  });
  each(block(problem, "V/rho"), [](double& v, Index, Index) { v = 0.1 + std::fabs(v); });  // relu: alive
}

double distance(const Vector& a, const Vector& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

TEST(Invariance, holds_for_the_trajectory_under_another_spelling_of_the_network) {
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

TEST(Invariance, does_not_hold_for_the_plain_gradient) {
  for (const Spelling& spelling : {kSpellings[0], kSpellings[2]}) {
    WindowProblem first(spelling.first, {60, 45}), second(spelling.second, {60, 45});
    calm(first);
    spelling.translate(first, second);
    const Vector a = losses(first, RiemannianMetric::none, Reduction::full);
    const Vector b = losses(second, RiemannianMetric::none, Reduction::full);
    EXPECT_NEAR(a.front(), b.front(), 1e-12) << spelling.name;  // the same function at the start
    EXPECT_GT(distance(a, b), 1e-3) << spelling.name;
  }
}

// ------------------------------------------------------------------------------------------------------------ control

TEST(Backtracking, never_raises_the_loss_and_lowers_it) {
  for (const auto& [name, add] : kNetworks)
    for (const auto metric : {RiemannianMetric::ruop, RiemannianMetric::rbpm, RiemannianMetric::none}) {
      WindowProblem problem(add, {60, 45});
      const Vector found = losses(problem, metric, Reduction::full, 25, 1);
      for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LE(found[i], found[i - 1]) << name;
      EXPECT_LT(found.back(), found.front() - 0.05) << name;
    }
}

TEST(Riemannian, gives_the_same_bits_on_any_number_of_threads) {
  for (const char* name : {"glnn", "lstm"})
    for (const auto metric : {RiemannianMetric::ruop, RiemannianMetric::rbpm}) {
      const std::vector<Index> lengths =
          name == std::string("glnn") ? std::vector<Index>{1300} : std::vector<Index>{30, 9};
      WindowProblem one(kNetworks.at(name), lengths), three(kNetworks.at(name), lengths, 3);
      EXPECT_EQ(losses(one, metric, Reduction::full, 4, 1), losses(three, metric, Reduction::full, 4, 1)) << name;
      EXPECT_TRUE(std::equal(one.values.flat().begin(), one.values.flat().end(), three.values.flat().begin()));
    }
}

TEST(Riemannian, survives_saturated_units_and_symbols_that_are_never_seen) {
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

TEST(Riemannian, averages_directions_and_matrices_when_asked) {
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

TEST(Riemannian, refuses_a_network_that_it_cannot_train) {
  Circuit c;
  const Signal x = c.symbols("x", 3), h = tanh(c.affine("a", 3, {{"W", x}}));
  c.output(h);
  Team team(1);
  const Network<double> network = text_network<double>(std::make_shared<const Plan>(c), x, h);
  EXPECT_THROW(CorePass<double>(network, team), UsageError);
}

}  // namespace
}  // namespace unfold
