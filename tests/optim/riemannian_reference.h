#pragma once
/// Riemannian directions by definition, on networks small enough to be unfolded into scalars: the slow reference of
/// riemannian_test.cpp.

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "optim/riemannian/riemannian.h"
#include "tests/optim/small_network.h"
#include "unfold/gradcheck/scalar_graph.h"

namespace unfold::reference {

using Vector = std::vector<double>;
constexpr Index kAlphabet = 3;

/// A network over kAlphabet symbols with random parameters, and one batch of new sequences of different lengths.
struct WindowProblem final : Objective<double> {
  using Add = std::function<Signal(Circuit&, Signal)>;

  /// `linear`: the outputs are probabilities, linear in the state, and the loss reads their logarithm.
  WindowProblem(const Add& add, const std::vector<Index>& lengths, int threads = 1, bool linear = false,
                Attendance attendance = default_attendance())
      : crew(threads, attendance), is_linear(linear) {
    x = circuit.symbols("symbols", kAlphabet);
    activity = add(circuit, x);
    logits = circuit.affine("output", kAlphabet, {{"V", activity}});
    if (linear) logits = probabilities_to_logits(logits);
    circuit.output(logits);
    net = text_network<double>(std::make_shared<const Plan>(circuit), x, logits);
    values = Parameters<double>(circuit);
    values.initialize(3);
    Random noise(8, "noise");
    for (double& p : values.flat()) p = linear ? 0.1 + std::fabs(p + 0.4 * noise.normal()) : p + 0.4 * noise.normal();
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
        const bool turn = text.below(4) == 0;  // mostly counting up, so that there is something to learn
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
  bool is_linear;
};

inline WindowProblem::Add sparse(Signal (*add)(Circuit&, Signal, Index, const SparseOptions&), Map activation,
                                 Index n = 3, Index edges = 2) {
  return [=](Circuit& c, Signal x) { return add(c, x, n, {.edges = edges, .graph = 4, .activation = activation}); };
}
inline Signal simple(Circuit& c, Signal x, Index n, const SparseOptions& options) {
  return sparse_rnn(c, x, n, SparseRnnOptions{options});
}
inline Signal embedded(Circuit& c, Signal x) { return c.affine("embedding", 2, {{"E", x}}, Init::uniform(), false); }
inline WindowProblem::Add of_vectors(Signal (*add)(Circuit&, Signal, Index, const SparseOptions&)) {
  return [=](Circuit& c, Signal x) { return add(c, embedded(c, x), 3, {.edges = 2, .graph = 4}); };
}
inline const std::map<std::string, WindowProblem::Add> kNetworks = {
    {"rnn", [](Circuit& c, Signal x) { return rnn(c, x, 3, {.trained_initial = true}); }},
    {"lstm", [](Circuit& c, Signal x) { return lstm(c, x, 2, {.trained_initial = true}); }},
    {"gru", [](Circuit& c, Signal x) { return gru(c, x, 2, {.reset_after = true}); }},
    {"glnn", sparse(glnn, Map::tanh)},
    {"glnn sigmoid", sparse(glnn, Map::sigmoid)},
    {"gnn", sparse(gnn, Map::tanh)},
    {"sparse-rnn", sparse(simple, Map::tanh)},
    {"sparse-rnn with a unit that is always active",
     [](Circuit& c, Signal x) {
       return sparse_rnn(c, x, 3, SparseRnnOptions{{.edges = 2, .graph = 4}, true});
     }},
    {"glnn of vectors", of_vectors(glnn)},
    {"gnn of vectors", of_vectors(gnn)},
    {"tensor-rnn of vectors",
     [](Circuit& c, Signal x) { return tensor_rnn(c, embedded(c, x), 2, {.trained_initial = true}); }},
};

/// Solves A x = b by Gauss-Jordan elimination.
inline Vector solve(std::vector<Vector> a, Vector b) {
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

/// Definitions of Phi.
enum class Phi { outer, backpropagated, natural };

/// Computes everything by definition: unfolds into scalars, sums over paths, fills whole matrices, and solves.
/// `weights`: the weight of each row in the metric.
struct BruteForce {
  Vector direction, gradient;
  double nats = 0;

  BruteForce(WindowProblem& problem, Phi kind, double damping, const Vector& weights = {}) {
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
        for (Index y = 0; y < kAlphabet; ++y) {
          const double said = std::exp(graph.value(graph.node(problem.logits.id, r, y)));
          const double slope = problem.is_linear ? w(i, y) / said : w(i, y);  // with respect to the logit
          mean += p[y] * slope, square += p[y] * slope * slope;
        }
        modulus[at(graph.node(problem.activity.id, r, i))] = square - mean * mean;
      }
    }
    const Vector b = graph.backward(linear, false);
    Vector phi = kind == Phi::backpropagated ? graph.backward(modulus, true)
                 : kind == Phi::natural      ? natural_moduli(graph, problem)
                                             : b;
    if (kind == Phi::outer)
      for (double& x : phi) x *= x;
    if (!weights.empty()) weigh(graph, problem, weights, phi);
    gradient.assign(b.begin(), b.begin() + graph.parameters());
    direction.assign(at(graph.parameters()), 0);
    // The inputs of a unit at a position are the partial derivatives with respect to its parameters.
    std::map<Index, std::vector<std::pair<Index, double>>> inputs_of;
    for (const auto& edge : graph.edges())
      if (edge.from < graph.parameters()) inputs_of[edge.to].emplace_back(edge.from, edge.partial);
    for (std::size_t s = 0; s < c.nodes().size(); ++s) {
      const Node& node = c.nodes()[s];
      if (node.kind() != Node::Kind::affine || static_cast<int>(s) == problem.logits.id) continue;
      for (Index i = 0; i < node.size; ++i)
        solve_unit(graph, problem, static_cast<int>(s), i, b, phi, inputs_of, damping);
    }
    for (const Node& node : c.nodes()) {  // trained initial states: one more position, whose only input is 1
      if (node.kind() != Node::Kind::link || node.link().initial < 0) continue;
      const ParameterInfo& p = c.parameters()[at(node.link().initial)];
      for (Index i = 0; i < node.size; ++i) {
        double m = damping;
        for (const auto& edge : graph.edges())
          if (edge.from == p.offset + i) m += phi[at(edge.to)];
        direction[at(p.offset + i)] = gradient[at(p.offset + i)] / m;
      }
    }
  }

  /// Sequences are independent: each row's terms are multiplied by its weight.
  static void weigh(const ScalarGraph& graph, WindowProblem& problem, const Vector& weights, Vector& phi) {
    Vector of_node(phi.size(), 1);
    for (std::size_t s = 0; s < problem.circuit.nodes().size(); ++s) {
      const Node& node = problem.circuit.nodes()[s];
      if (node.kind() == Node::Kind::symbols) continue;
      for (Index r = 0; r < problem.window.structure.positions(); ++r)
        for (Index i = 0; i < node.size; ++i)
          if (const Index n = graph.node(static_cast<int>(s), r, i); n >= graph.parameters())
            of_node[at(n)] = weights[at(r)];
    }
    for (std::size_t n = 0; n < phi.size(); ++n) phi[n] *= of_node[n];
  }

  /// Returns, for each node, the squared norm of its effect on the outputs in their Fisher metric.
  static Vector natural_moduli(const ScalarGraph& graph, WindowProblem& problem) {
    Vector phi(at(graph.nodes()), 0);
    for (Index r = 0; r < problem.window.structure.positions(); ++r) {
      if (predicted_symbols(problem.window)[at(r)] == kNoSymbol) continue;
      double p[kAlphabet], total = 0;
      for (Index y = 0; y < kAlphabet; ++y) total += p[y] = std::exp(graph.value(graph.node(problem.logits.id, r, y)));
      Vector mean(phi.size(), 0);
      for (Index y = 0; y < kAlphabet; ++y) {
        Vector seed(phi.size(), 0);
        seed[at(graph.node(problem.logits.id, r, y))] = 1;
        const Vector change = graph.backward(seed, false);
        for (std::size_t n = 0; n < phi.size(); ++n) {
          phi[n] += p[y] / total * change[n] * change[n];
          mean[n] += p[y] / total * change[n];
        }
      }
      for (std::size_t n = 0; n < phi.size(); ++n) phi[n] -= mean[n] * mean[n];
    }
    return phi;
  }

  void solve_unit(const ScalarGraph& graph, WindowProblem& problem, int signal, Index component, const Vector& b,
                  const Vector& phi, std::map<Index, std::vector<std::pair<Index, double>>>& inputs_of,
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
      const double weight = phi[at(node)];
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

/// Enumerates all texts that the network could generate at the predicted symbols of the window, with their
/// probabilities.
template <class Use>
void for_each_own_text(WindowProblem& problem, const Use& use) {
  const Batch text = problem.window;
  const Structure& structure = text.structure;
  std::vector<std::pair<Index, Index>> wanted;  // row, and the row that reads it; -1: none
  for (Index s = 0; s < structure.sequences(); ++s)
    for (Index p = 0; p < structure.size(s); ++p)
      if (predicted_symbols(text)[at(structure.row(s, p))] != kNoSymbol)
        wanted.emplace_back(structure.row(s, p), p + 1 < structure.size(s) ? structure.row(s, p + 1) : -1);
  Index texts = 1;
  for (std::size_t k = 0; k < wanted.size(); ++k) texts *= kAlphabet;
  for (Index number = 0; number < texts; ++number) {
    Index rest = number;
    for (const auto& [row, reader] : wanted) {
      predicted_symbols(problem.window)[at(row)] = static_cast<Symbol>(rest % kAlphabet);
      if (reader >= 0) read_symbols(problem.window)[at(reader)] = static_cast<Symbol>(rest % kAlphabet);
      rest /= kAlphabet;
    }
    CircuitInputs inputs;
    inputs.symbols[problem.x.id] = read_symbols(problem.window);
    const ScalarGraph graph(problem.circuit, structure, problem.values.flat(), inputs);
    Vector linear(at(graph.nodes()), 0);
    double probability = 1;
    for (const auto& [row, reader] : wanted) {
      double p[kAlphabet], total = 0;
      for (Index y = 0; y < kAlphabet; ++y)
        total += p[y] = std::exp(graph.value(graph.node(problem.logits.id, row, y)));
      const Symbol written = predicted_symbols(problem.window)[at(row)];
      probability *= p[written] / total;
      for (Index y = 0; y < kAlphabet; ++y)
        linear[at(graph.node(problem.logits.id, row, y))] = p[y] / total - (y == written);
    }
    use(graph, graph.backward(linear, false), probability);
  }
  problem.window = text;
}

/// Returns the backpropagated moduli of the predictions of the window.
inline Vector backpropagated_moduli(const ScalarGraph& graph, WindowProblem& problem) {
  const Matrix<double> w = problem.values.at("output/V");
  Vector seeds(at(graph.nodes()), 0);
  for (Index r = 0; r < problem.window.structure.positions(); ++r) {
    if (predicted_symbols(problem.window)[at(r)] == kNoSymbol) continue;
    double p[kAlphabet], total = 0;
    for (Index y = 0; y < kAlphabet; ++y) total += p[y] = std::exp(graph.value(graph.node(problem.logits.id, r, y)));
    for (Index i = 0; i < w.rows; ++i) {
      double mean = 0, square = 0;
      for (Index y = 0; y < kAlphabet; ++y) mean += p[y] / total * w(i, y), square += p[y] / total * w(i, y) * w(i, y);
      seeds[at(graph.node(problem.activity.id, r, i))] = square - mean * mean;
    }
  }
  return graph.backward(seeds, true);
}

/// Returns the gradient on the text, multiplied by the inverse metric on all texts that the network could generate.
inline Vector direction_by_own_texts(WindowProblem& problem, double damping, Phi kind = Phi::outer) {
  const BruteForce on_text(problem, kind, damping);
  const std::size_t n = on_text.gradient.size();
  std::vector<Vector> m(n, Vector(n, 0));
  for_each_own_text(problem, [&](const ScalarGraph& graph, const Vector& b, double probability) {
    std::map<Index, std::vector<std::pair<Index, double>>> inputs_of;
    for (const auto& edge : graph.edges())
      if (edge.from < graph.parameters()) inputs_of[edge.to].emplace_back(edge.from, edge.partial);
    Vector phi = kind == Phi::backpropagated ? backpropagated_moduli(graph, problem) : b;
    if (kind == Phi::outer)
      for (double& x : phi) x *= x;
    for (const auto& [node, inputs] : inputs_of)
      for (const auto& [q, u] : inputs)
        for (const auto& [k, v] : inputs) m[at(q)][at(k)] += probability * phi[at(node)] * u * v;
  });
  for (std::size_t k = 0; k < n; ++k) m[k][k] += damping;
  return solve(m, on_text.gradient);
}

struct NoMove final : Direction<double> {
  void move(Team&, std::span<double>, std::span<const double>, double, double) override {}
  void visit_state(StateVisitor<double>&) override {}
};

/// Returns the losses of a few steps.
inline Vector losses(WindowProblem& problem, const RiemannianOptions& options, int steps) {
  const auto control = riemannian_control<double>(problem.circuit.parameter_count(), options);
  control->attach(problem);
  NoMove none;
  Vector result;
  for (int i = 0; i < steps; ++i) result.push_back(control->step(problem, none, 0.5).loss);
  return result;
}

}  // namespace unfold::reference
