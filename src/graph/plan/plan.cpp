#include "unfold/graph/plan/plan.h"

#include <algorithm>

#include "graph/plan/plan_builder.h"

namespace unfold {

namespace {
std::vector<int> outputs_with(const Circuit& circuit, const std::vector<Signal>& watched) {
  std::vector<int> outputs = circuit.outputs();
  for (const Signal signal : watched) {
    if (signal.circuit != &circuit) throw UsageError("plan: a watched signal does not belong to the circuit");
    if (std::count(outputs.begin(), outputs.end(), signal.id) == 0) outputs.push_back(signal.id);
  }
  return outputs;
}
}  // namespace

Plan::Plan(const Circuit& circuit, const PlanOptions& options, const std::vector<Signal>& watched)
    : Plan(circuit, outputs_with(circuit, watched), options) {}

Plan::Plan(const Circuit& circuit, std::vector<int> outputs, const PlanOptions& options) {
  PlanBuilder(*this, circuit, std::move(outputs), options).build();
  last_segment_.assign(nodes_.size(), -1);
  for (std::size_t g = 0; g < segments_.size(); ++g)
    for (const Item& item : segments_[g].items)
      if (item.kind == Item::Kind::affine) last_segment_[at(item.node)] = static_cast<int>(g);
}

bool Plan::is_symbols(int i) const {
  while (nodes_[at(i)].kind() == Node::Kind::reorder) i = nodes_[at(i)].reorder().operand;
  return nodes_[at(i)].kind() == Node::Kind::symbols;
}

double Plan::flops_per_position() const {
  double flops = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (live_[i] && nodes_[i].kind() == Node::Kind::affine)
      for (const auto& term : nodes_[i].terms()) {
        const Node& source = nodes_[at(term.source)];
        const bool lookup = source.kind() == Node::Kind::symbols;
        if (!term.dense()) {
          flops += term.op->operations();
          continue;
        }
        flops += static_cast<double>(nodes_[i].size) * (lookup ? 1.0 : 2.0 * static_cast<double>(source.size)) /
                 static_cast<double>(nodes_[i].affine().period);
      }
  return flops;
}

Index Plan::loop_weights() const {
  Index count = 0;
  for (const Segment& segment : segments_)
    if (segment.loop)
      for (const Item& item : segment.items)
        for (const auto& part : item.parts)
          count += parameters_[at(nodes_[at(item.node)].terms()[at(part.term)].parameter)].size();
  return count;
}

namespace {

std::string print_place(const Plan& plan, const Place& place) {
  if (place.scratch()) return "tile";
  std::string text = plan.nodes()[static_cast<std::size_t>(place.root)].name;
  if (place.column != 0) text += "+" + std::to_string(place.column);
  return text;
}

std::string print_item(const Plan& plan, const Item& item) {
  const auto name = [&](int node) { return plan.nodes()[static_cast<std::size_t>(node)].name; };
  switch (item.kind) {
    case Item::Kind::affine: {
      const Node& node = plan.nodes()[static_cast<std::size_t>(item.node)];
      std::string text = name(item.node) + (item.start ? " = bias" : " +=");
      for (const auto& part : item.parts) {
        const auto& term = node.terms()[static_cast<std::size_t>(part.term)];
        text += " + " + name(term.source) + " * " + plan.parameters()[static_cast<std::size_t>(term.parameter)].name;
      }
      return text;
    }
    case Item::Kind::pointwise: {
      std::string text = "maps:";
      for (int node : item.nodes) text += " " + name(node) + "->" + print_place(plan, plan.value_place(node));
      return text;
    }
    case Item::Kind::gather: {
      const Node::Link& link = plan.nodes()[static_cast<std::size_t>(item.node)].link();
      return name(item.node) + " = " + name(link.source) + " at " + describe(link.delay);
    }
    case Item::Kind::reorder: return name(item.node) + " = reordered";
    case Item::Kind::mask: return name(item.node) + " = dropout mask";
  }
  return {};
}

}  // namespace

std::string Plan::print() const {
  std::string text;
  for (const Segment& segment : segments_) {
    text += "stage " + std::to_string(segment.stage) +
            (segment.loop ? (segment.descending ? ", loop, steps descending" : ", loop") : ", batched") + "\n";
    for (const Item& item : segment.items) text += "  " + print_item(*this, item) + "\n";
  }
  return text;
}

}  // namespace unfold
