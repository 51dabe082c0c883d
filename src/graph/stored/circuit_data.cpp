#include "graph/stored/circuit_data.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns the part of a full name before the last "/", or nothing.
std::string_view scope_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

/// Adds the nodes of a circuit one after another.
class CircuitCopy {
 public:
  CircuitCopy(Circuit& circuit, const CircuitData& data, std::span<const Signal> inputs)
      : c_(circuit), data_(data), given_(inputs) {
    require_inputs();
  }

  std::vector<Signal> add() {
    for (std::size_t i = 0; i < data_.nodes.size(); ++i) add_node(static_cast<int>(i));
    for (std::size_t i = 0; i < data_.nodes.size(); ++i) {
      const Node& node = data_.nodes[i];
      if (node.kind() == Node::Kind::link) c_.feed(made_[i], any(node, node.link().source));
      if (node.kind() == Node::Kind::affine && node.affine().awake >= 0) add_condition(static_cast<int>(i));
    }
    for (const ParameterInfo& p : data_.parameters)
      if (!is_read(static_cast<int>(&p - data_.parameters.data()))) c_.parameter(p.name, p.rows, p.cols, p.init);
    if (given_.empty())
      for (const int output : data_.outputs) c_.output(any({.name = "output"}, output));
    return std::move(made_);
  }

 private:
  [[noreturn]] static void fail(const Node& node, const std::string& what) {
    throw UsageError("circuit: " + node.name + " " + what);
  }

  void require_inputs() const {
    if (given_.empty()) return;
    const std::vector<int> inputs = data_.inputs();
    if (inputs.size() != given_.size())
      throw UsageError("circuit: it has " + std::to_string(inputs.size()) + " inputs, not " +
                       std::to_string(given_.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Node& node = data_.nodes[static_cast<std::size_t>(inputs[i])];
      if (node.size != given_[i].size() || (node.kind() == Node::Kind::symbols) != c_.is_symbols(given_[i]))
        fail(node, "has a different size or type from the signal that is passed for it");
    }
    for (const Node& node : data_.nodes)
      if (node.part != 0) fail(node, "belongs to a different part; a cell has only one");
  }

  /// Returns the signal of a node that has already been added.
  Signal any(const Node& reader, int id) const {
    if (id < 0 || id >= static_cast<int>(made_.size()))
      fail(reader, "reads node " + std::to_string(id) + ", which does not exist or comes later");
    return made_[static_cast<std::size_t>(id)];
  }

  const ParameterInfo& parameter(const Node& node, int id) {
    if (id < 0 || id >= static_cast<int>(data_.parameters.size()))
      fail(node, "has parameter " + std::to_string(id) + ", which does not exist");
    read_.resize(data_.parameters.size(), 0);
    read_[static_cast<std::size_t>(id)] = 1;
    return data_.parameters[static_cast<std::size_t>(id)];
  }
  bool is_read(int id) const {
    return static_cast<std::size_t>(id) < read_.size() && read_[static_cast<std::size_t>(id)] != 0;
  }

  /// If the whole circuit is copied, inputs and links are added to their part.
  void enter_part(const Node& node, std::optional<Circuit::InPart>& part) {
    if (!given_.empty()) return;
    if (node.part < 0) fail(node, "belongs to a part that does not exist");
    part.emplace(c_, node.part);
  }

  void add_node(int i) {
    const Node& node = data_.nodes[static_cast<std::size_t>(i)];
    std::optional<Circuit::Scope> scope;
    const bool is_unnamed =
        node.kind() == Node::Kind::link || node.kind() == Node::Kind::pointwise || node.kind() == Node::Kind::mask;
    if (is_unnamed && !scope_of(node.name).empty()) scope.emplace(c_, scope_of(node.name));
    switch (node.kind()) {
      case Node::Kind::input:
      case Node::Kind::symbols: add_input(node); break;
      case Node::Kind::link: {
        std::optional<Circuit::InPart> part;
        enter_part(node, part);
        made_.push_back(c_.link(node.size, node.link().delay, node.link().initial >= 0));
        if (node.link().initial >= 0) parameter(node, node.link().initial);
        break;
      }
      case Node::Kind::affine: add_affine(node); break;
      case Node::Kind::pointwise: add_map(i, node); break;
      case Node::Kind::slice:
        made_.push_back(c_.slice(any(node, node.slice().operand), node.slice().offset, node.size));
        break;
      case Node::Kind::mask: add_mask(i, node); break;
      case Node::Kind::reorder: fail(node, "is of a kind that occurs only in plans");
    }
  }

  void add_input(const Node& node) {
    if (!given_.empty()) {
      made_.push_back(given_[inputs_++]);
      return;
    }
    std::optional<Circuit::InPart> part;
    enter_part(node, part);
    made_.push_back(node.kind() == Node::Kind::input ? c_.input(node.name, node.size)
                                                     : c_.symbols(node.name, node.size));
  }

  /// Returns the name of a parameter within its affine map.
  std::string_view own_name(const Node& node, const ParameterInfo& p) const {
    const std::string_view name = p.name;
    if (!name.starts_with(node.name) || name.size() <= node.name.size() || name[node.name.size()] != '/')
      fail(node, "has a parameter " + p.name + ", which has a different name");
    return name.substr(node.name.size() + 1);
  }

  void add_affine(const Node& node) {
    std::vector<Term> terms;
    terms.reserve(node.terms().size());
    for (const Node::AffineTerm& term : node.terms()) {
      const ParameterInfo& p = parameter(node, term.parameter);
      Term made{.parameter = own_name(node, p), .source = any(node, term.source), .init = p.init, .op = term.op};
      if (term.gate >= 0) made.gate = any(node, term.gate);
      if (term.keys >= 0) made.keys = any(node, term.keys);
      if (term.values >= 0) made.values = any(node, term.values);
      for (const int symbols : term.symbols) made.symbols.push_back(any(node, symbols));
      terms.push_back(std::move(made));
    }
    const int bias = node.affine().bias;
    const Init init = bias >= 0 ? parameter(node, bias).init : Init::zero();
    made_.push_back(c_.affine(node.name, node.size, terms, init, bias >= 0));
  }

  void add_map(int i, const Node& node) {
    if (i > 0 && is_mask(i - 1)) {  // the node was added together with its mask
      if (static_cast<std::size_t>(i) + 1 != made_.size()) fail(node, "does not multiply by its mask");
      return;
    }
    const auto& [map, operands, constant] = node.pointwise();
    const Signal x = any(node, operands[0]);
    made_.push_back(operands[1] >= 0 ? c_.map(map, x, any(node, operands[1])) : c_.map(map, x, constant));
  }

  bool is_mask(int i) const { return data_.nodes[static_cast<std::size_t>(i)].kind() == Node::Kind::mask; }

  /// A mask is always followed by the product that applies it.
  void add_mask(int i, const Node& node) {
    const auto next = static_cast<std::size_t>(i) + 1;
    const bool is_map = next < data_.nodes.size() && data_.nodes[next].kind() == Node::Kind::pointwise;
    const Node::Pointwise applied = is_map ? data_.nodes[next].pointwise() : Node::Pointwise{};
    if (applied.map != Map::mul || applied.operands[1] != i) fail(node, "is a mask that no product applies");
    const auto& [rate, lasts] = node.mask();
    if (!(rate > 0)) fail(node, "is a mask without a rate");
    const Signal product = c_.dropout(any(node, applied.operands[0]), rate, lasts);
    made_.push_back({&c_, product.id - 1});
    made_.push_back(product);
  }

  /// Calls compute_only_where. Throws UsageError if the condition depends on the map without a link.
  void add_condition(int i) {
    const Node& node = data_.nodes[static_cast<std::size_t>(i)];
    const int awake = node.affine().awake;
    any(node, awake);
    std::vector<char> seen(data_.nodes.size(), 0);
    std::vector<int> open = {awake};
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      if (id == i) fail(node, "is computed only where a signal that depends on it is nonzero");
      if (id >= static_cast<int>(seen.size()) || std::exchange(seen[static_cast<std::size_t>(id)], 1) != 0) continue;
      const Node& read = data_.nodes[static_cast<std::size_t>(id)];
      if (read.kind() == Node::Kind::link) continue;
      for (const int other : read.reads()) open.push_back(other);
    }
    c_.compute_only_where(made_[static_cast<std::size_t>(i)], made_[static_cast<std::size_t>(awake)],
                          node.affine().period);
  }

  Circuit& c_;
  const CircuitData& data_;
  std::span<const Signal> given_;
  std::size_t inputs_ = 0;
  std::vector<Signal> made_;
  std::vector<char> read_;  // for each parameter: whether a node uses it
};

}  // namespace

std::vector<int> CircuitData::inputs() const {
  std::vector<int> result;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind() == Node::Kind::input || nodes[i].kind() == Node::Kind::symbols)
      result.push_back(static_cast<int>(i));
  return result;
}

CircuitData data_of(const Circuit& circuit) {
  for (const Node& node : circuit.nodes())
    if (node.kind() == Node::Kind::link && node.link().source < 0)
      throw UsageError("circuit: " + node.name + " is never fed");
  return {circuit.nodes(), circuit.parameters(), circuit.outputs()};
}

std::vector<Signal> add_circuit(Circuit& circuit, const CircuitData& data, std::span<const Signal> inputs) {
  return CircuitCopy(circuit, data, inputs).add();
}

}  // namespace unfold
