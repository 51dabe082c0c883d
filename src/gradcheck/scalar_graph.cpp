#include "unfold/gradcheck/scalar_graph.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "graph/circuit/attention.h"
#include "graph/circuit/concatenation.h"
#include "graph/circuit/known_operator.h"
#include "graph/circuit/mixed_sparse.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// A map and its partial derivatives, written independently of the engine so that an error in one table is detected.
struct Local {
  double value, d0, d1;
};

Local evaluate(Map map, double a, double b, double k) {
  switch (map) {
    case Map::add: return {a + b, 1, 1};
    case Map::sub: return {a - b, 1, -1};
    case Map::mul: return {a * b, b, a};
    case Map::scale: return {k * a, k, 0};
    case Map::shift: return {a + k, 1, 0};
    case Map::one_minus: return {1 - a, -1, 0};
    case Map::sigmoid: return {logistic(a), logistic(a) * logistic(-a), 0};
    case Map::tanh: return {std::tanh(a), 1 / (std::cosh(a) * std::cosh(a)), 0};
    case Map::hard_sigmoid: return {std::clamp(a / 4 + 0.5, 0.0, 1.0), std::abs(a) < 2 ? 0.25 : 0.0, 0};
    case Map::relu: return {a > 0 ? a : 0, a > 0 ? 1.0 : 0.0, 0};
    case Map::softplus: return {a > 0 ? a + std::log1p(std::exp(-a)) : std::log1p(std::exp(a)), logistic(a), 0};
    case Map::exp: return {std::exp(a), std::exp(a), 0};
    case Map::log: return {std::log(a), 1 / a, 0};
    case Map::square: return {a * a, 2 * a, 0};
    case Map::copy: return {a, 1, 0};
  }
  throw UsageError("scalar graph: unknown map");
}

/// Returns the squared derivatives of the linearized map.
Local evaluate_path(const Node& node, double a, double b) {
  switch (node.pointwise().map) {
    case Map::add:
    case Map::sub: return {a + b, 1, 1};
    case Map::scale:
      return {node.pointwise().constant * node.pointwise().constant * a,
              node.pointwise().constant * node.pointwise().constant, 0};
    case Map::relu:
    case Map::copy: return {a, 1, 0};
    default: throw UsageError("scalar graph: " + node.name + " has no interpretation as a sum over paths");
  }
}

}  // namespace

struct ScalarGraph::Builder {
  ScalarGraph& graph;
  const Circuit& circuit;
  const Structure& structure;
  const CircuitInputs& inputs;
  const Reading reading;
  std::vector<std::vector<Index>> predecessors;  // predecessor rows of each link signal

  static constexpr int kUnknown = -1, kOpen = -2;

  Builder(ScalarGraph& g, const Circuit& c, const Structure& over, const CircuitInputs& in, Reading r)
      : graph(g), circuit(c), structure(over), inputs(in), reading(r), predecessors(c.nodes().size()) {
    for (std::size_t s = 0; s < c.nodes().size(); ++s) {
      const Node& node = c.nodes()[s];
      if (node.kind() != Node::Kind::link) continue;
      const Structure& own = structure.part(node.part);
      predecessors[s] = node.link().delay.crosses()
                            ? own.rows_seen(node.link().delay, c.nodes()[at(node.link().source)].part - node.part)
                            : own.predecessors(node.link().delay, Corner::top_left);
    }
  }

  int add(double value) {
    graph.values_.push_back(value);
    return static_cast<int>(graph.values_.size()) - 1;
  }
  void edge(int from, int to, double partial, int parameter = -1, bool of_weight = false) {
    graph.edges_.push_back({from, to, partial, parameter, of_weight});
  }
  double value(int node) const { return graph.values_[at(node)]; }

  int parameter_node(int parameter, Index row, Index col) const {
    const ParameterInfo& p = circuit.parameters()[at(parameter)];
    return static_cast<int>(p.offset + row * p.cols + col);
  }

  /// Returns the node of component 0 of a signal at a row, after adding everything that it depends on.
  int build(int signal, Index row) {
    int& first = graph.first_[at(signal)][at(row)];
    if (first == kOpen) throw UsageError("scalar graph: " + circuit.nodes()[at(signal)].name + " depends on itself");
    if (first != kUnknown) return first;
    first = kOpen;
    const int built = add_signal(signal, circuit.nodes()[at(signal)], row);
    graph.first_[at(signal)][at(row)] = built;
    return built;
  }

  int add_signal(int signal, const Node& node, Index row) {
    switch (node.kind()) {
      case Node::Kind::input: return add_input(signal, node, row);
      // An affine term looks up its symbol; for Reading::paths, every symbol is present.
      case Node::Kind::symbols: return add_constants(reading == Reading::paths ? node.size : 1, 1);
      case Node::Kind::mask: return add_constants(node.size, 1);
      case Node::Kind::link: return add_link(signal, node, row);
      case Node::Kind::affine: return add_affine(node, row);
      case Node::Kind::pointwise: return add_map(node, row);
      case Node::Kind::slice: return add_slice(node, row);
      case Node::Kind::reorder: break;  // occurs in plans only
    }
    throw UsageError("scalar graph: " + node.name + " is of an unknown kind");
  }

  /// Returns the data that the caller gives for a signal, `columns` per row.
  template <class Value>
  const std::vector<Value>& given(const std::map<int, std::vector<Value>>& all, int signal, Index columns) const {
    const Node& n = circuit.nodes()[at(signal)];
    const Index wanted = structure.part(n.part).positions() * columns;
    const auto found = all.find(signal);
    const Index size = found == all.end() ? 0 : static_cast<Index>(found->second.size());
    if (size != wanted)
      throw UsageError("scalar graph: " + n.name + " needs " + std::to_string(wanted) + " inputs, not " +
                       std::to_string(size));
    return found->second;
  }

  int add_constants(Index size, double constant) {
    const int first = add(constant);
    for (Index i = 1; i < size; ++i) add(constant);
    return first;
  }

  int add_input(int signal, const Node& node, Index row) {
    if (reading == Reading::paths) return add_constants(node.size, 1);
    const std::vector<double>& values = given(inputs.values, signal, node.size);
    const int first = add(values[at(row * node.size)]);
    for (Index i = 1; i < node.size; ++i) add(values[at(row * node.size + i)]);
    return first;
  }

  int add_link(int signal, const Node& node, Index row) {
    if (node.link().delay.along == Delay::Along::block)
      return add_children(node, std::span(predecessors[at(signal)])
                                    .subspan(at(row * node.link().delay.width()), at(node.link().delay.width())));
    const Index before = predecessors[at(signal)][at(row)];
    if (before >= 0 && node.link().delay.along != Delay::Along::child && node.link().delay.reads_children())
      return add_children(node, structure.part(node.part).child_rows(row));
    if (before < 0 && node.link().initial < 0) return add_constants(node.size, 0);
    const int from = before < 0 ? parameter_node(node.link().initial, 0, 0) : build(node.link().source, before);
    return add_copies(from, node.size);
  }

  /// Adds the sum of the children's values, or their concatenation.
  int add_children(const Node& node, std::span<const Index> children) {
    const bool sum = node.link().delay.along == Delay::Along::children;
    const auto width = static_cast<int>(node.size / node.link().delay.width());
    std::vector<int> sources;
    for (const Index child : children) sources.push_back(child < 0 ? -1 : build(node.link().source, child));
    if (!sum) sources.resize(at(node.link().delay.width()), -1);
    const int first = add_constants(node.size, 0);
    for (std::size_t k = 0; k < sources.size(); ++k)
      for (int i = 0; i < width && sources[k] >= 0; ++i) {
        const int to = first + i + (sum ? 0 : static_cast<int>(k) * width);
        edge(sources[k] + i, to, 1);
        graph.values_[at(to)] += value(sources[k] + i);
      }
    return first;
  }

  int add_slice(const Node& node, Index row) {
    return add_copies(build(node.slice().operand, row) + static_cast<int>(node.slice().offset), node.size);
  }

  int add_copies(int from, Index size) {
    const int first = static_cast<int>(graph.values_.size());
    for (int i = 0; i < static_cast<int>(size); ++i) edge(from + i, add(value(from + i)), 1);
    return first;
  }

  int add_affine(const Node& node, Index row) {
    std::vector<int> sources;
    std::vector<std::vector<Looked>> looks;  // attended positions of each term
    for (const auto& term : node.terms()) {
      sources.push_back(reads_symbol(term.source) ? -1 : build(term.source, row));
      looks.push_back(term.keys < 0 ? std::vector<Looked>() : add_weights(node.part, term, sources.back(), row));
    }
    const int first = static_cast<int>(graph.values_.size());
    for (Index j = 0; j < node.size; ++j) {
      const int to = add(0);
      double total = 0;
      if (node.affine().bias >= 0) {
        const int bias = parameter_node(node.affine().bias, 0, j);
        edge(bias, to, 1);
        total += value(bias);
      }
      for (std::size_t k = 0; k < node.terms().size(); ++k) {
        if (node.terms()[k].keys < 0) total += add_term(node.terms()[k], sources[k], row, j, to);
        for (const Looked& at_key : looks[k]) {
          const int found = at_key.values + static_cast<int>(j);
          edge(at_key.weight, to, value(found));
          edge(found, to, value(at_key.weight));
          total += value(at_key.weight) * value(found);
        }
      }
      graph.values_[at(to)] = total;
    }
    return first;
  }

  /// A position that attention reads.
  struct Looked {
    int weight, values;
  };

  /// Returns the nodes of the attention weights at a row, one component after another.
  std::vector<Looked> add_weights(int part, const Node::AffineTerm& term, int query, Index row) {
    const std::optional<AttentionScore> score = as_attention(term.op.get());
    if (!score || reading == Reading::paths)
      throw UsageError("scalar graph: the memory of a " + std::string(term.op->name()) + " is not supported");
    const int depth = circuit.nodes()[at(term.keys)].part - part;
    const Structure& own = structure.part(part);
    const Structure& source = own.part(depth);
    const Index chain = own.source_chains(depth)[at(row)];
    std::vector<int> keys, scores;
    std::vector<Looked> looked;
    for (Index t = 0; t < source.size(chain); ++t) {
      keys.push_back(build(term.keys, source.row(chain, t)));
      looked.push_back({-1, build(term.values, source.row(chain, t))});
    }
    double all = 0;
    for (const int key : keys) {
      double total = 0;
      std::vector<int> mixed;
      mixed.reserve(static_cast<std::size_t>(term.op->key_size()));
      for (int i = 0; i < static_cast<int>(term.op->key_size()); ++i)
        mixed.push_back(add_mixed(*score, query + i, key + i));
      const int e = add(0);
      for (std::size_t i = 0; i < mixed.size(); ++i) {
        const int v = parameter_node(term.parameter, 0, static_cast<Index>(i));
        edge(v, e, value(mixed[i]));
        edge(mixed[i], e, value(v));
        total += value(v) * value(mixed[i]);
      }
      graph.values_[at(e)] = total;
      scores.push_back(e);
      all += std::exp(total);
    }
    for (std::size_t k = 0; k < scores.size(); ++k) {
      const double weight = std::exp(value(scores[k])) / all;
      looked[k].weight = add(weight);
      for (std::size_t j = 0; j < scores.size(); ++j)
        edge(scores[j], looked[k].weight, weight * ((j == k ? 1 : 0) - std::exp(value(scores[j])) / all));
    }
    return looked;
  }

  int add_mixed(AttentionScore score, int q, int a) {
    const bool additive = score == AttentionScore::additive;
    const Local first = evaluate(additive ? Map::add : Map::mul, value(q), value(a), 0);
    const int both = add(first.value);
    edge(q, both, first.d0);
    edge(a, both, first.d1);
    if (!additive) return both;
    const Local bent = evaluate(Map::tanh, first.value, 0, 0);
    const int result = add(bent.value);
    edge(both, result, bent.d0);
    return result;
  }

  bool reads_symbol(int source) const {
    return reading == Reading::values && circuit.nodes()[at(source)].kind() == Node::Kind::symbols;
  }

  double add_term(const Node::AffineTerm& term, int source, Index row, Index column, int to) {
    if (term.dense() && reads_symbol(term.source)) {
      const Symbol symbol = given(inputs.symbols, term.source, 1)[at(row)];
      if (symbol == kNoSymbol) return 0;
      const int weight = parameter_node(term.parameter, symbol, column);
      edge(weight, to, 1);
      return value(weight);
    }
    double total = 0;
    if (const SparseOperator* op = as_sparse(term.op.get())) return add_sparse_term(term, *op, source, row, column, to);
    if (const MixedSparse* op = as_mixed_sparse(term.op.get())) return add_mixed_term(term, *op, source, column, to);
    if (const Placed* op = as_concatenation(term.op.get())) {
      const Index i = column - op->offset();
      if (i < 0 || i >= op->inputs()) return 0;
      edge(source + static_cast<int>(i), to, 1);
      return value(source + static_cast<int>(i));
    }
    if (is_known(term.op.get(), ExportableOperator::Kind::share))
      return add_share(source, static_cast<int>(term.op->inputs()), static_cast<int>(column), to);
    if (!term.dense()) throw UsageError("scalar graph: vector maps are not supported");
    for (int i = 0; i < static_cast<int>(circuit.nodes()[at(term.source)].size); ++i) {
      const int weight = parameter_node(term.parameter, i, column);
      edge(weight, to, value(source + i), -1, true);
      edge(source + i, to, value(weight), weight);
      total += value(source + i) * value(weight);
    }
    return total;
  }

  double add_share(int source, int size, int column, int to) {
    double all = 0;
    for (int i = 0; i < size; ++i) all += value(source + i);
    const double share = value(source + column) / all;
    for (int i = 0; i < size; ++i) edge(source + i, to, ((i == column ? 1 : 0) - share) / all);
    return share;
  }

  /// Returns the rows of weights that are active: the row of the gate's symbol; for Reading::paths and without a gate,
  /// all rows.
  std::vector<Index> acting(const Node::AffineTerm& term, Index row) const {
    const Index rows = circuit.parameters()[at(term.parameter)].rows;
    if (term.gate >= 0 && reading == Reading::values)
      return {rows == 1 ? 0 : static_cast<Index>(given(inputs.symbols, term.gate, 1)[at(row)])};
    std::vector<Index> all;
    for (Index r = 0; r < rows; ++r) all.push_back(r);
    return all;
  }

  /// [x_i] + sum over edges j -> i of w s(x_j): one edge of the graph from each x_j. For Reading::paths, the leak has a
  /// separate edge.
  double add_sparse_term(const Node::AffineTerm& term, const SparseOperator& op, int source, Index row, Index column,
                         int to) {
    const Edges& edges = op.edges();
    const SparseForm& form = op.form();
    const int own = source + static_cast<int>(column);
    const bool values = reading == Reading::values;
    const bool keeps = values && term.gate >= 0 && given(inputs.symbols, term.gate, 1)[at(row)] == kNoSymbol;
    if (keeps) {
      edge(own, to, 1);
      return value(own);
    }
    double total = form.leaky ? value(own) : 0, own_partial = form.leaky ? 1 : 0;
    for (Index e = 0; e < edges.count(); ++e) {
      if (edges.to()[at(e)] != column) continue;
      const int from = source + edges.from()[at(e)];
      const Node activation{.name = "activation", .size = 1, .operation = Node::Pointwise{.map = form.activation}};
      const Local s = values ? evaluate(form.activation, value(from), 0, 0) : evaluate_path(activation, value(from), 0);
      for (const Index r : acting(term, row)) {
        const int weight = parameter_node(term.parameter, r, e);
        edge(weight, to, s.value, -1, true);
        total += s.value * value(weight);
        if (!values)
          edge(from, to, value(weight), weight);
        else if (from == own)
          own_partial += value(weight) * s.d0;
        else
          edge(from, to, value(weight) * s.d0);
      }
    }
    if (own_partial != 0 || form.leaky) edge(own, to, own_partial);
    return total;
  }

  /// [V_i] + sum over edges j -> i and k of x_k tau s(V_j): one edge of the graph from each V_j and from each x_k.
  double add_mixed_term(const Node::AffineTerm& term, const MixedSparse& op, int source, Index column, int to) {
    if (reading == Reading::paths)
      throw UsageError("scalar graph: weights mixed by a vector have no path interpretation");
    const Edges& edges = op.edges();
    const auto mixing = static_cast<int>(op.mixing());
    const int first = source + mixing, own = first + static_cast<int>(column);
    double total = op.form().leaky ? value(own) : 0;
    std::vector<double> of_mixing(at(op.mixing()), 0.0);
    std::map<int, double> of_units;
    if (op.form().leaky) of_units[own] = 1;
    for (Index e = 0; e < edges.count(); ++e) {
      if (edges.to()[at(e)] != column) continue;
      const int from = first + edges.from()[at(e)];
      const Local s = evaluate(op.form().activation, value(from), 0, 0);
      for (int k = 0; k <= mixing; ++k) {
        const int weight = parameter_node(term.parameter, 0, op.column(k, e));
        const double x = k == 0 ? 1 : value(source + k - 1), w = value(weight);
        edge(weight, to, x * s.value, -1, true);
        of_units[from] += x * w * s.d0;
        if (k > 0) of_mixing[at(k - 1)] += w * s.value;
        total += x * w * s.value;
      }
    }
    for (const auto& [from, partial] : of_units) edge(from, to, partial);
    for (int k = 0; k < mixing; ++k) edge(source + k, to, of_mixing[at(k)]);
    return total;
  }

  int add_map(const Node& node, Index row) {
    const auto& [map, operands, constant] = node.pointwise();
    const bool dropped = map == Map::mul && circuit.nodes()[at(operands[1])].kind() == Node::Kind::mask;
    if (dropped) return add_copies(build(operands[0], row), node.size);
    const int x0 = build(operands[0], row);
    const int x1 = operands[1] < 0 ? -1 : build(operands[1], row);
    const int first = static_cast<int>(graph.values_.size());
    for (int i = 0; i < static_cast<int>(node.size); ++i) {
      const double a = value(x0 + i), b = x1 < 0 ? 0 : value(x1 + i);
      const Local local = reading == Reading::values ? evaluate(map, a, b, constant) : evaluate_path(node, a, b);
      const int to = add(local.value);
      edge(x0 + i, to, local.d0);
      if (x1 >= 0) edge(x1 + i, to, local.d1);
    }
    return first;
  }
};

ScalarGraph::ScalarGraph(const Circuit& circuit, const Structure& structure, std::span<const double> parameters,
                         const CircuitInputs& inputs, Reading reading)
    : parameters_(circuit.parameter_count()) {
  circuit.validate();
  if (static_cast<Index>(parameters.size()) != parameters_)
    throw UsageError("scalar graph: " + std::to_string(parameters.size()) + " parameters for a circuit of " +
                     std::to_string(parameters_));
  for (const double p : parameters) values_.push_back(reading == Reading::paths ? p * p : p);
  for (const Node& node : circuit.nodes()) {
    sizes_.push_back(static_cast<int>(node.size));
    first_.emplace_back(at(structure.part(node.part).positions()), Builder::kUnknown);
  }
  Builder builder(*this, circuit, structure, inputs, reading);
  for (int signal = 0; signal < static_cast<int>(sizes_.size()); ++signal)
    for (Index row = 0; row < static_cast<Index>(first_[at(signal)].size()); ++row) builder.build(signal, row);
}

Index ScalarGraph::node(int signal, Index row, Index component) const {
  if (component < 0 || component >= sizes_[at(signal)] || row < 0 ||
      row >= static_cast<Index>(first_[at(signal)].size()))
    throw UsageError("scalar graph: no component " + std::to_string(component) + " at row " + std::to_string(row));
  return first_[at(signal)][at(row)] + component;
}

std::vector<double> ScalarGraph::backward(std::span<const double> seeds, bool squared) const {
  std::vector<double> sums(seeds.begin(), seeds.end());
  for (std::size_t e = edges_.size(); e-- > 0;) {
    const Edge& edge = edges_[e];
    sums[at(edge.from)] += (squared ? edge.partial * edge.partial : edge.partial) * sums[at(edge.to)];
  }
  return sums;
}

std::vector<double> ScalarGraph::tangent(std::span<const double> seeds) const {
  std::vector<double> sums(seeds.begin(), seeds.end());
  for (const Edge& edge : edges_) sums[at(edge.to)] += edge.partial * sums[at(edge.from)];
  return sums;
}

/// Enumerates paths one by one, against the direction of the edges or along it.
struct ScalarGraph::Walker {
  const ScalarGraph& graph;
  std::vector<std::vector<int>> leaving, entering;  // edges by node

  explicit Walker(const ScalarGraph& g) : graph(g), leaving(g.values_.size()), entering(g.values_.size()) {
    for (int e = 0; e < static_cast<int>(g.edges_.size()); ++e) {
      leaving[at(g.edges_[at(e)].from)].push_back(e);
      entering[at(g.edges_[at(e)].to)].push_back(e);
    }
  }

  double forward(Index node, double product, std::span<const double> seeds, bool squared) const {
    double total = product * seeds[at(node)];
    for (const int e : leaving[at(node)]) {
      const Edge& edge = graph.edges_[at(e)];
      total += forward(edge.to, product * (squared ? edge.partial * edge.partial : edge.partial), seeds, squared);
    }
    return total;
  }

  struct Factor {
    double value;
    int parameter;
  };

  /// `factors` are the factors of the path from an end back to `node`.
  void back(Index node, std::vector<Factor>& factors, PathSums& sums) const {
    bool leaf = true;
    for (const int e : entering[at(node)]) {
      const Edge& edge = graph.edges_[at(e)];
      if (edge.of_weight) continue;
      leaf = false;
      factors.push_back({edge.partial, edge.parameter});
      back(edge.from, factors, sums);
      factors.pop_back();
    }
    if (leaf) finish(node, factors, sums);
  }

  /// A path starts at an input (1), at a bias or trained initial value (its own weight), or at a boundary (0).
  void finish(Index node, std::vector<Factor> factors, PathSums& sums) const {
    factors.push_back({graph.value(node), node < graph.parameters_ ? static_cast<int>(node) : -1});
    double product = 1;
    for (const Factor& factor : factors) product *= factor.value;
    sums.total += product;
    for (std::size_t k = 0; k < factors.size(); ++k) {
      if (factors[k].parameter < 0) continue;
      double others = 1;
      for (std::size_t l = 0; l < factors.size(); ++l)
        if (l != k) others *= factors[l].value;
      sums.kappa[at(factors[k].parameter)] += others;
      for (std::size_t l = 0; l < factors.size(); ++l)
        if (l != k && factors[l].parameter == factors[k].parameter) sums.kappa2[at(factors[k].parameter)] += 2 * others;
    }
  }
};

std::vector<double> ScalarGraph::backward_by_enumeration(std::span<const double> seeds, bool squared,
                                                         std::span<const Index> of) const {
  const Walker walker(*this);
  std::vector<double> sums;
  for (const Index node : of) sums.push_back(walker.forward(node, 1, seeds, squared));
  return sums;
}

double ScalarGraph::count_paths(std::span<const Index> ends) const {
  std::vector<double> counts(values_.size(), 1);
  std::vector<char> reached(values_.size(), 0);
  for (const Edge& edge : edges_) {
    if (edge.of_weight) continue;
    if (!reached[at(edge.to)]) counts[at(edge.to)] = 0;
    reached[at(edge.to)] = 1;
    counts[at(edge.to)] += counts[at(edge.from)];
  }
  double total = 0;
  for (const Index end : ends) total += counts[at(end)];
  return total;
}

ScalarGraph::PathSums ScalarGraph::sum_paths(std::span<const Index> ends) const {
  const Walker walker(*this);
  PathSums sums;
  sums.kappa.assign(at(parameters_), 0), sums.kappa2 = sums.kappa;
  std::vector<Walker::Factor> factors;
  for (const Index end : ends) walker.back(end, factors, sums);
  return sums;
}

double ScalarGraph::count_edges(const Circuit& circuit, const Structure& structure) {
  double all = 0;
  for (const Node& node : circuit.nodes()) {
    double edges = 0;
    const Structure& own = structure.part(node.part);
    if (node.kind() == Node::Kind::affine)
      for (const auto& term : node.terms()) {
        const Node& source = circuit.nodes()[at(term.source)];
        if (const SparseOperator* op = as_sparse(term.op.get())) {
          const Index rows = circuit.parameters()[at(term.parameter)].rows;
          edges += 2.0 * static_cast<double>(op->edges().count() * rows + node.size);
          continue;
        }
        if (const MixedSparse* op = as_mixed_sparse(term.op.get())) {
          edges += 2.0 * static_cast<double>(op->unit_edges().count() + node.size * op->mixing());
          continue;
        }
        if (term.keys >= 0) {
          const Structure& seen = structure.part(circuit.nodes()[at(term.keys)].part);
          const auto most = static_cast<double>(seen.order().steps());
          edges += most * (5.0 * static_cast<double>(source.size) + 2.0 * static_cast<double>(node.size) + most);
          continue;
        }
        edges += static_cast<double>(node.size) * (source.kind() == Node::Kind::symbols ? 1 : 2 * source.size);
      }
    edges += 2.0 * static_cast<double>(node.size);
    all += edges * static_cast<double>(own.positions());
  }
  return all;
}

}  // namespace unfold
