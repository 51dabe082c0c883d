#include "unfold/optim/rtrl/open_circuit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Sorts after every name that a cell may use, so states follow the parameters.
constexpr const char* kStateScope = "~state";

class Opening {
 public:
  Opening(const Circuit& circuit, const Plan& plan, bool trees, std::string_view who, std::string_view remedy,
          OpenCircuit& open)
      : circuit_(circuit), plan_(plan), trees_(trees), who_(who), remedy_(remedy), open_(open) {}

  void run() {
    open_.parameters = circuit_.parameter_count();
    open_.state = plan_.state_width();
    add_state();
    open_.of.resize(circuit_.nodes().size());
    for (std::size_t i = 0; i < circuit_.nodes().size(); ++i) open_.of[i] = copy(static_cast<int>(i));
    declare_others();
    trees_ ? feed_parents() : feed_state();
    check();
  }

 private:
  const Node& node(int i) const { return circuit_.nodes()[at(i)]; }
  const std::string& parameter_name(int p) const { return circuit_.parameters()[at(p)].name; }
  std::string_view last_name(int p) const {
    const std::string& full = parameter_name(p);
    return std::string_view(full).substr(full.rfind('/') + 1);
  }

  [[noreturn]] void refuse(const Node& n, const std::string& why) const {
    throw UsageError(fmt::format("{}: {} {}; {}", who_, n.name, why, remedy_));
  }

  void add_state() {
    if (!plan_.kept().empty())
      refuse(plan_.nodes()[at(plan_.kept().front().link)], "reads the first position of its sequence");
    open_.always = open_.circuit.symbols(fmt::format("{}/always", kStateScope), 1);
    for (const Plan::Carried& c : plan_.carried()) {
      const Node& source = node(origin(c));
      if (source.part > 0) refuse(source, "belongs to a separate chain");
      const Index n = source.size;
      for (Index back = 1; back <= c.steps; ++back)
        open_.blocks.push_back({.offset = c.offset + (back - 1) * n,
                                .size = n,
                                .initial = c.initial >= 0 ? circuit_.parameters()[at(c.initial)].offset : -1});
    }
    std::ranges::sort(open_.blocks, {}, &StateBlock::offset);
    for (StateBlock& block : open_.blocks)
      block.before = open_.circuit.affine(fmt::format("{}/{:012}", kStateScope, block.offset), block.size,
                                          {{.parameter = "s", .source = open_.always}}, Init::zero(), false);
  }

  /// Returns the node of the circuit that is carried: plans read some nodes through a copy at the exit of a loop.
  int origin(const Plan::Carried& c) const {
    int source = c.source;
    while (at(source) >= circuit_.nodes().size()) source = plan_.nodes()[at(source)].reads().front();
    return source;
  }

  StateBlock& block_at(Index offset) { return *std::ranges::find(open_.blocks, offset, &StateBlock::offset); }

  /// Returns the value read by a link.
  Signal state_of(int link) {
    const Node& n = node(link);
    if (trees_) return child_of(n);
    const auto& [delay, source, initial] = plan_.nodes()[at(link)].link();
    if (delay.along != Delay::Along::previous)
      refuse(n, fmt::format("runs along {}, not to earlier positions", describe(delay)));
    if (initial >= 0) open_.circuit.parameter(parameter_name(initial), 1, n.size, Init::zero());
    for (const Plan::Carried& c : plan_.carried())
      if (c.source == source && delay.steps <= c.steps) return block_at(c.offset + (delay.steps - 1) * n.size).before;
    return open_.circuit.input(n.name, n.size);  // not read by any relevant node
  }

  Signal child_of(const Node& link) {
    const Delay& delay = link.link().delay;
    const bool by_position = delay.along == Delay::Along::child || delay.along == Delay::Along::each_child;
    if (!by_position || link.link().initial >= 0) refuse(link, fmt::format("runs along {}", describe(delay)));
    open_.children.push_back({.delay = delay, .before = open_.circuit.input(link.name, link.size)});
    links_.push_back(&link);
    return open_.children.back().before;
  }

  void feed_parents() {
    for (std::size_t k = 0; k < links_.size(); ++k) {
      open_.children[k].after = open_.circuit.map(Map::copy, open_.of[at(links_[k]->link().source)]);
      open_.circuit.output(open_.children[k].after);
    }
  }

  Signal copy(int i) {
    const Node& n = node(i);
    if (n.part > 0) refuse(n, "belongs to a separate chain");
    Circuit& c = open_.circuit;
    switch (n.kind()) {
      case Node::Kind::input: return c.input(n.name, n.size);
      case Node::Kind::symbols: return c.symbols(n.name, n.size);
      case Node::Kind::link: return state_of(i);
      case Node::Kind::affine: return copy_affine(n);
      case Node::Kind::pointwise: {
        const auto& [map, operands, constant] = n.pointwise();
        const Signal x = open_.of[at(operands[0])];
        return operands[1] >= 0 ? c.map(map, x, open_.of[at(operands[1])]) : c.map(map, x, constant);
      }
      case Node::Kind::slice: return c.slice(open_.of[at(n.slice().operand)], n.slice().offset, n.size);
      case Node::Kind::mask: return c.mask_like(n);
      case Node::Kind::reorder: break;  // occurs only in plans
    }
    return {};
  }

  Signal copy_affine(const Node& n) {
    std::vector<Term> terms;
    terms.reserve(n.terms().size());
    for (const Node::AffineTerm& from : n.terms()) {
      if (from.keys >= 0) refuse(n, "reads another chain");
      Term term{.parameter = last_name(from.parameter), .source = open_.of[at(from.source)], .op = from.op};
      if (from.gate >= 0) term.gate = open_.of[at(from.gate)];
      for (const int symbols : from.symbols) term.symbols.push_back(open_.of[at(symbols)]);
      terms.push_back(std::move(term));
    }
    return open_.circuit.affine(n.name, n.size, terms, Init::zero(), n.affine().bias >= 0);
  }

  /// Declares the parameters that no operation reads, which are the parameters of losses.
  void declare_others() {
    for (const ParameterInfo& p : circuit_.parameters())
      if (std::ranges::find(open_.circuit.parameters(), p.name, &ParameterInfo::name) ==
          open_.circuit.parameters().end())
        open_.circuit.parameter(p.name, p.rows, p.cols, Init::zero());
  }

  /// Outputs s_t, which consists of the sources of links and the shifted entries of delays of several steps.
  void feed_state() {
    for (const Plan::Carried& c : plan_.carried()) {
      const Index n = node(origin(c)).size;
      Signal next = open_.of[at(origin(c))];
      for (Index back = 1; back <= c.steps; ++back) {
        StateBlock& block = block_at(c.offset + (back - 1) * n);
        block.after = open_.circuit.map(Map::copy, next);
        open_.circuit.output(block.after);
        next = block.before;
      }
    }
  }

  /// Checks that both parts are at their expected positions.
  void check() const {
    const auto& opened = open_.circuit.parameters();
    const auto is_at = [&](const std::string& name, Index offset, Index size) {
      const auto found = std::ranges::find(opened, name, &ParameterInfo::name);
      return found != opened.end() && found->offset == offset && found->size() == size;
    };
    for (const ParameterInfo& p : circuit_.parameters())
      if (!is_at(p.name, p.offset, p.size()))
        throw UsageError(fmt::format(
            "{}: the parameter {} sorts after the states; use a name that begins with a letter", who_, p.name));
    for (const StateBlock& block : open_.blocks)
      if (!is_at(block.before.circuit->nodes()[at(block.before.id)].name + "/s", open_.parameters + block.offset,
                 block.size))
        throw UsageError(fmt::format("{}: the states of this network are not stored contiguously", who_));
  }

  const Circuit& circuit_;
  const Plan& plan_;
  bool trees_;
  std::string who_, remedy_;
  OpenCircuit& open_;
  std::vector<const Node*> links_;  // link nodes of open_.children
};

}  // namespace

template <class T>
std::unique_ptr<OpenCircuit> open_circuit(const Network<T>& network, std::string_view who) {
  auto open = std::make_unique<OpenCircuit>();
  Opening(network.circuit(), *network.plan, false, who, "train it with --gradient bptt", *open).run();
  for (const Head<T>& head : network.heads) open->circuit.output(open->of[at(head.signal.id)]);
  return open;
}

template <class T>
std::unique_ptr<OpenCircuit> open_tree_circuit(const Network<T>& network) {
  auto open = std::make_unique<OpenCircuit>();
  Opening(network.circuit(), *network.plan, true, "--trees found", "use a model that distinguishes the two children",
          *open)
      .run();
  open->circuit.output(open->of[at(network.merges.id)]);
  return open;
}

template <class T>
Network<T> open_network(const Network<T>& network, const OpenCircuit& open) {
  Network<T> result;
  result.plan = std::make_shared<const Plan>(open.circuit);
  for (const NetworkInput& input : network.inputs) result.inputs.push_back({input.field, open.of[at(input.signal.id)]});
  for (Head<T> head : network.heads) {
    head.signal = open.of[at(head.signal.id)];
    result.heads.push_back(std::move(head));
  }
  if (network.merges.valid()) result.merges = open.of[at(network.merges.id)];
  return result;
}

template std::unique_ptr<OpenCircuit> open_circuit(const Network<float>&, std::string_view);
template std::unique_ptr<OpenCircuit> open_circuit(const Network<double>&, std::string_view);
template std::unique_ptr<OpenCircuit> open_tree_circuit(const Network<float>&);
template std::unique_ptr<OpenCircuit> open_tree_circuit(const Network<double>&);
template Network<float> open_network(const Network<float>&, const OpenCircuit&);
template Network<double> open_network(const Network<double>&, const OpenCircuit&);

}  // namespace unfold
