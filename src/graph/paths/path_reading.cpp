/// The circuit whose values are sums over paths (path_reading of circuit.h).

#include <algorithm>
#include <optional>
#include <string>

#include "graph/circuit/cell_maps.h"
#include "graph/circuit/known_operator.h"
#include "graph/paths/row_sums.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"
#include "unfold/graph/circuit/circuit.h"

namespace unfold {
namespace {

[[noreturn]] void refuse_path(const Node& node) {
  throw UsageError("path pass: " + node.name + " (" + std::string(map_info(node.pointwise().map).name) +
                   ") is not positively homogeneous, so sums over paths do not describe this circuit; use ReLU, sums "
                   "and affine maps only");
}

/// Returns, for each node, whether `begins` holds for it or for a node that it depends on, also through links.
template <class Begins>
std::vector<char> dependents(const Circuit& circuit, const Begins& begins) {
  const std::vector<Node>& nodes = circuit.nodes();
  std::vector<char> result(nodes.size());
  std::ranges::transform(nodes, result.begin(), [&](const Node& node) { return static_cast<char>(begins(node)); });
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (result[i] != 0) continue;
      const std::vector<int> reads = nodes[i].reads();
      if (!std::ranges::any_of(reads, [&](int read) { return result[at(read)] != 0; })) continue;
      result[i] = 1;
      changed = true;
    }
  }
  return result;
}

/// Returns whether a node adds something that varies from example to example or with the parameters. Other signals,
/// such as counters of positions, are constants of the graph.
bool varies(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::input:
    case Node::Kind::symbols:
    case Node::Kind::affine:
    case Node::Kind::mask: return true;
    case Node::Kind::link: return node.link().initial >= 0;
    case Node::Kind::pointwise:
    case Node::Kind::slice:
    case Node::Kind::reorder: break;
  }
  return false;
}

/// Returns whether a node shows that the circuit runs over more than one chain. Its path pass runs over whole batches,
/// and a product for every symbol of the alphabet at every position would take long.
bool leaves_the_chain(const Node& node) {
  if (node.part > 0) return true;
  using Along = Delay::Along;
  if (node.kind() != Node::Kind::link) return false;
  const Along along = node.link().delay.along;
  return along != Along::previous && along != Along::next && along != Along::first && along != Along::last;
}

/// Names of terms may contain a field: "output/word/D1" is the term word/D1 of output.
std::string_view term_name(const std::string& full, const std::string& owner) {
  const bool owned = full.size() > owner.size() && full.starts_with(owner) && full[owner.size()] == '/';
  return std::string_view(full).substr(owned ? owner.size() + 1 : full.rfind('/') + 1);
}

class PathReader {
 public:
  PathReader(const Circuit& circuit, Circuit& result, int probe)
      : circuit_(circuit),
        result_(result),
        probe_(probe),
        of_(circuit.nodes().size()),
        any_symbol_(circuit.nodes().size()),
        sums_rows_(std::ranges::any_of(circuit.nodes(), leaves_the_chain)),
        varies_(dependents(circuit, varies)),
        carried_(dependents(circuit, [](const Node& node) { return node.kind() == Node::Kind::link; })) {}

  std::vector<Signal> read() {
    for (int i = 0; i < static_cast<int>(of_.size()); ++i) {
      const auto part = result_.in_part(node(i).part);
      of_[at(i)] = read_node(i);
    }
    for (int i = 0; i < static_cast<int>(of_.size()); ++i)
      if (node(i).kind() == Node::Kind::link) result_.feed(of_[at(i)], of_[at(node(i).link().source)]);
    for (const int output : circuit_.outputs()) result_.output(of_[at(output)]);
    return of_;
  }

 private:
  const Node& node(int i) const { return circuit_.nodes()[at(i)]; }
  bool constant(int i) const { return varies_[at(i)] == 0; }

  Signal read_node(int i) {
    const Node& n = node(i);
    switch (n.kind()) {
      case Node::Kind::symbols:
        if (sums_rows_) any_symbol_[at(i)] = result_.input(n.name + "/any", 1);
        return result_.input(n.name, n.size);
      case Node::Kind::input:
      case Node::Kind::mask: return result_.input(n.name, n.size);
      case Node::Kind::link: return result_.link_like(n, circuit_.parameters());
      case Node::Kind::affine: return read_affine(i);
      case Node::Kind::pointwise: return constant(i) ? copied(n) : read_map(n);
      case Node::Kind::slice: return result_.slice(of_[at(n.slice().operand)], n.slice().offset, n.size);
      case Node::Kind::reorder: break;  // created only by plans, never part of a circuit
    }
    return {};
  }

  Signal read_affine(int i) {
    const Node& n = node(i);
    std::vector<Term> terms;
    for (const auto& term : n.terms()) {
      const ParameterInfo& p = circuit_.parameters()[at(term.parameter)];
      if (const Signal any = any_symbol_[at(term.source)]; term.dense() && any.valid()) {
        terms.push_back({.parameter = term_name(p.name, n.name), .source = any, .op = row_sums(p.rows, p.cols)});
        continue;
      }
      terms.push_back({.parameter = term_name(p.name, n.name),
                       .source = of_[at(term.source)],
                       .op = term.dense() ? nullptr : term.op->path_reading(p.name, p.rows)});
    }
    if (const int bias = n.affine().bias; bias >= 0)
      terms.push_back({term_name(circuit_.parameters()[at(bias)].name, n.name), unit(n.part)});
    const Signal sum = result_.affine(n.name, n.size, terms, Init::zero(), false);
    return i == probe_ ? sum + result_.input("probe", n.size) : sum;
  }

  /// Returns the additional input of a part whose weights are the biases.
  Signal unit(int part) {
    if (static_cast<int>(units_.size()) <= part) units_.resize(at(part) + 1);
    Signal& unit = units_[at(part)];
    if (!unit.valid()) unit = result_.input(part == 0 ? "unit" : "unit" + std::to_string(part), 1);
    return unit;
  }

  Signal copied(const Node& n) {
    const Node::Pointwise& map = n.pointwise();
    const Signal a = of_[at(map.operands[0])];
    return map_info(map.map).arity == 1 ? result_.map(map.map, a, map.constant)
                                        : result_.map(map.map, a, of_[at(map.operands[1])]);
  }

  /// Returns an operand of a sum; a constant one is an edge from an input of value one.
  Signal summand(int i) { return constant(i) ? square(of_[at(i)]) : of_[at(i)]; }

  Signal weighted(Signal x, double weight) { return weight == 1 ? x : result_.map(Map::scale, x, weight); }

  Signal read_map(const Node& n) {
    const Node::Pointwise& map = n.pointwise();
    const MapInfo& info = map_info(map.map);
    if (map.map == Map::mul) return read_product(n, map.operands[0], map.operands[1]);
    if (!info.homogeneous) refuse_path(n);
    if (map.map == Map::add)
      if (const auto mixed = read_interpolation(map.operands[0], map.operands[1])) return *mixed;
    const Signal first = weighted(summand(map.operands[0]), info.path_coefficient(0, map.constant));
    if (info.arity == 1) return result_.map(Map::copy, first);
    return result_.map(Map::add, first, weighted(summand(map.operands[1]), info.path_coefficient(1, map.constant)));
  }

  /// A constant factor is the weight of an edge. A factor that reads no other position, such as those of `mrnn`, is a
  /// sum over paths that all paths through the other factor continue with.
  Signal read_product(const Node& n, int a, int b) {
    if (node(b).kind() == Node::Kind::mask) return result_.map(Map::copy, of_[at(a)]);
    if (!constant(a) && !constant(b) && carried_[at(a)] != 0 && carried_[at(b)] != 0) refuse_path(n);
    return summand(a) * summand(b);
  }

  /// h + c (s - h) with a constant c: two edges with the weights 1 - c and c.
  std::optional<Signal> read_interpolation(int h, int step) {
    const Node& n = node(step);
    if (n.kind() == Node::Kind::affine) return read_leak(h, n);
    if (n.kind() != Node::Kind::pointwise || n.pointwise().map != Map::mul) return std::nullopt;
    auto [c, difference] = n.pointwise().operands;
    if (!constant(c)) std::swap(c, difference);
    const int next = minuend(difference, h);
    if (!constant(c) || next < 0) return std::nullopt;
    return square(one_minus(of_[at(c)])) * of_[at(h)] + square(of_[at(c)]) * of_[at(next)];
  }

  /// The same with the fixed rates of leaky units.
  std::optional<Signal> read_leak(int h, const Node& leak) {
    const auto terms = leak.terms();
    if (terms.size() != 1 || leak.affine().bias >= 0 || terms[0].dense()) return std::nullopt;
    if (!is_known(terms[0].op.get(), ExportableOperator::Kind::leak)) return std::nullopt;
    std::vector<double> rates = dynamic_cast<const RecordedOperator&>(*terms[0].op).record().constants.at("rates");
    const int next = minuend(terms[0].source, h);
    if (rates.empty() || next < 0) return std::nullopt;
    std::vector<double> keeps;
    keeps.reserve(rates.size());
    for (double& rate : rates) {
      keeps.push_back((1 - rate) * (1 - rate));
      rate *= rate;
    }
    const auto scaled = [&](const char* name, int source, std::vector<double> weights) {
      return result_.affine(leak.name + name, leak.size,
                            {{.parameter = "rate", .source = of_[at(source)], .op = fixed_leak(std::move(weights))}},
                            Init::zero(), false);
    };
    return scaled("/keeps", h, std::move(keeps)) + scaled("/moves", next, std::move(rates));
  }

  /// Returns s for the difference s - h; -1 for any other node.
  int minuend(int difference, int h) const {
    const Node& n = node(difference);
    const bool matches =
        n.kind() == Node::Kind::pointwise && n.pointwise().map == Map::sub && n.pointwise().operands[1] == h;
    return matches ? n.pointwise().operands[0] : -1;
  }

  const Circuit& circuit_;
  Circuit& result_;
  int probe_;
  std::vector<Signal> of_;
  std::vector<Signal> any_symbol_;  // of a symbol signal: one number instead of one for each symbol, all equal
  std::vector<Signal> units_;       // one per part
  bool sums_rows_;
  std::vector<char> varies_;   // depends on a parameter or an input
  std::vector<char> carried_;  // depends on another position
};

}  // namespace

std::vector<Signal> path_reading(const Circuit& circuit, Circuit& result, int probe) {
  if (&result == &circuit)
    throw UsageError("path pass: the result must be a different circuit from the one that is read");
  if (probe != -1) {
    require_index("path pass: the node that is probed", probe, static_cast<Index>(circuit.nodes().size()));
    if (circuit.nodes()[at(probe)].kind() != Node::Kind::affine)
      throw UsageError("path pass: only an affine map can be probed");
  }
  return PathReader(circuit, result, probe).read();
}

}  // namespace unfold
