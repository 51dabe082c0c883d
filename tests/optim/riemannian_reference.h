#pragma once
/// Riemannian directions by definition, on networks small enough to be unfolded into scalars: the slow reference of
/// riemannian_test.cpp.

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "optim/small_network.h"
#include "unfold/optim/objective.h"
#include "unfold/verify/scalar_graph.h"

namespace unfold::reference {

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

/// x with A x = b, by Gauss-Jordan elimination.
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

/// What Phi is, by definition.
enum class Phi { outer, backpropagated, natural };

/// Everything by definition: unfold into scalars, sum over paths, fill whole matrices, solve. `weights`: of every row
/// in the metric.
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
        for (Index y = 0; y < kAlphabet; ++y) mean += p[y] * w(i, y), square += p[y] * w(i, y) * w(i, y);
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
    // The inputs of a unit at a position are the partials by its parameters.
    std::map<Index, std::vector<std::pair<Index, double>>> inputs_of;
    for (const auto& edge : graph.edges())
      if (edge.from < graph.parameters()) inputs_of[edge.to].emplace_back(edge.from, edge.partial);
    for (std::size_t s = 0; s < c.nodes().size(); ++s) {
      const Node& node = c.nodes()[s];
      if (node.kind != Node::Kind::affine || static_cast<int>(s) == problem.logits.id) continue;
      for (Index i = 0; i < node.size; ++i)
        solve_unit(graph, problem, static_cast<int>(s), i, b, phi, inputs_of, damping);
    }
    for (const Node& node : c.nodes()) {  // trained starts: one more position, whose only input is 1
      if (node.kind != Node::Kind::link || node.initial < 0) continue;
      const ParameterInfo& p = c.parameters()[at(node.initial)];
      for (Index i = 0; i < node.size; ++i) {
        double m = damping;
        for (const auto& edge : graph.edges())
          if (edge.from == p.offset + i) m += phi[at(edge.to)];
        direction[at(p.offset + i)] = gradient[at(p.offset + i)] / m;
      }
    }
  }

  /// Sequences do not meet: what belongs to a row counts by its weight.
  static void weigh(const ScalarGraph& graph, WindowProblem& problem, const Vector& weights, Vector& phi) {
    Vector of_node(phi.size(), 1);
    for (std::size_t s = 0; s < problem.circuit.nodes().size(); ++s) {
      const Node& node = problem.circuit.nodes()[s];
      if (node.kind == Node::Kind::symbols) continue;
      for (Index r = 0; r < problem.window.structure.positions(); ++r)
        for (Index i = 0; i < node.size; ++i)
          if (const Index n = graph.node(static_cast<int>(s), r, i); n >= graph.parameters())
            of_node[at(n)] = weights[at(r)];
    }
    for (std::size_t n = 0; n < phi.size(); ++n) phi[n] *= of_node[n];
  }

  /// The square norm, in the Fisher metric of the outputs, of what a change of each node does to them.
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

}  // namespace unfold::reference
