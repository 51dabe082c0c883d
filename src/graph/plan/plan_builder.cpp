#include "graph/plan/plan_builder.h"

#include <algorithm>
#include <functional>

#include "unfold/base/checks.h"

namespace unfold {

PlanBuilder::PlanBuilder(Plan& plan, const Circuit& circuit, std::vector<int> outputs, const PlanOptions& options)
    : plan_(plan), options_(options) {
  circuit.validate();
  if (outputs.empty()) throw UsageError("plan: there are no outputs; name at least one");
  for (const int output : outputs) {
    require_index("plan: output", output, static_cast<Index>(circuit.nodes().size()));
    const Node& node = circuit.nodes()[at(output)];
    const bool is_view =
        node.kind() == Node::Kind::slice || (node.kind() == Node::Kind::link && !node.link().delay.to_end());
    if (node.kind() == Node::Kind::symbols || is_view)
      throw UsageError("plan: " + node.name + " cannot be an output: it is a view of another signal, or symbols");
  }
  plan_.circuit_ = &circuit;
  plan_.nodes_ = circuit.nodes();
  plan_.parameters_ = circuit.parameters();
  plan_.parameter_count_ = circuit.parameter_count();
  plan_.outputs_ = std::move(outputs);
  plan_.chain_ = options.chain;
}

void PlanBuilder::build() {
  find_live();
  find_components();
  choose_corners();
  add_exits();
  add_reorders();
  choose_stages();
  make_segments();
  find_uses();
  place_values();
  place_adjoints();
  choose_adjoint_modes();
  find_carried();
}

void PlanBuilder::find_live() {
  plan_.live_.assign(plan_.nodes_.size(), 0);
  std::vector<int> open = plan_.outputs_;
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    if (std::exchange(plan_.live_[at(i)], 1)) continue;
    for (int input : node(i).reads()) open.push_back(input);
  }
}

/// Tarjan's strongly connected components over "depends on". Recursion depth is the length of the longest path.
void PlanBuilder::find_components() {
  const int n = count();
  std::vector<int> number(at(n), -1), low(at(n), 0), stack;
  std::vector<char> on_stack(at(n), 0);
  component_.assign(at(n), -1);
  int next = 0;
  std::function<void(int)> visit = [&](int v) {
    number[at(v)] = low[at(v)] = next++;
    stack.push_back(v);
    on_stack[at(v)] = 1;
    for (int w : node(v).reads()) {
      if (number[at(w)] < 0) {
        visit(w);
        low[at(v)] = std::min(low[at(v)], low[at(w)]);
      } else if (on_stack[at(w)]) {
        low[at(v)] = std::min(low[at(v)], number[at(w)]);
      }
    }
    if (low[at(v)] != number[at(v)]) return;
    const int id = static_cast<int>(loop_.size());
    int members = 0;
    for (int w = -1; w != v; ++members) {
      w = stack.back();
      stack.pop_back();
      on_stack[at(w)] = 0;
      component_[at(w)] = id;
    }
    loop_.push_back(members > 1);  // a link never feeds itself: feed() inserts a copy
  };
  for (int i = 0; i < n; ++i)
    if (plan_.live_[at(i)] && number[at(i)] < 0) visit(i);
}

/// Chooses the corner from which each loop runs and checks that its links agree on a direction.
void PlanBuilder::choose_corners() {
  using Along = Delay::Along;
  plan_.corner_.assign(plan_.nodes_.size(), Corner::top_left);
  std::vector<unsigned> along(loop_.size(), 0);
  for (int i = 0; i < count(); ++i)
    if (plan_.live_[at(i)] && node(i).kind() == Node::Kind::link && same_loop(i, node(i).link().source)) {
      if (node(i).link().delay.to_end())
        throw UsageError("plan: " + node(i).name + " reads along " + describe(node(i).link().delay) +
                         ", but its source " + node(node(i).link().source).name +
                         " depends on it at that position; feed it a signal that is computed earlier");
      along[at(component_[at(i)])] |= 1u << static_cast<unsigned>(node(i).link().delay.along);
    }
  const auto has = [&](int c, Along a) { return (along[at(c)] >> static_cast<unsigned>(a)) & 1u; };
  for (int i = 0; i < count(); ++i) {
    if (!plan_.live_[at(i)] || !loop_[at(component_[at(i)])]) continue;
    const int c = component_[at(i)];
    for (auto [a, b] : {std::pair{Along::previous, Along::next}, {Along::left, Along::right}, {Along::up, Along::down}})
      if (has(c, a) && has(c, b))
        throw UsageError("plan: " + node(i).name + " is in a loop whose links run in opposite directions, " +
                         describe({a, 1}) + " and " + describe({b, 1}) +
                         "; no order of the positions allows it to be computed");
    if (has(c, Along::parent) && (has(c, Along::child) || has(c, Along::children) || has(c, Along::each_child)))
      throw UsageError("plan: " + node(i).name +
                       " is in a loop with links both to the parent and to children; no order of the positions allows "
                       "it to be computed");
    plan_.corner_[at(i)] = static_cast<Corner>((has(c, Along::right) ? 1 : 0) + (has(c, Along::down) ? 2 : 0));
  }
}

int PlanBuilder::add_node(Node added, int component, Corner corner) {
  plan_.nodes_.push_back(std::move(added));
  plan_.live_.push_back(1);
  component_.push_back(component);
  plan_.corner_.push_back(corner);
  return count() - 1;
}

/// A signal that a loop carries and that is also read outside gets a copy for its outside readers (sharing the memory
/// of the values). Its adjoint then enters the loop at one defined point of each step. Windows of a sequence that are
/// computed one by one therefore add the same numbers in the same order as the whole sequence.
void PlanBuilder::add_exits() {
  const int n = count();
  plan_.exit_.assign(at(n), -1);
  plan_.is_exit_.assign(at(n), 0);
  for (int s = 0; s < n; ++s) {
    if (!plan_.live_[at(s)] || !loop_[at(component_[at(s)])]) continue;
    bool carried = is_shift(node(s)), read_outside = std::count(plan_.outputs_.begin(), plan_.outputs_.end(), s) > 0;
    for (int c = 0; c < n; ++c) {
      if (!plan_.live_[at(c)]) continue;
      carried |= is_shift(node(c)) && node(c).link().source == s && same_loop(c, s);
      if (component_[at(c)] != component_[at(s)])
        for (int input : node(c).reads()) read_outside |= input == s;
    }
    if (!carried || !read_outside) continue;
    Node copy{.name = node(s).name + "/exit",
              .size = node(s).size,
              .part = node(s).part,
              .operation = Node::Pointwise{.map = Map::copy, .operands = {s, -1}}};
    const int e = add_node(std::move(copy), component_[at(s)], plan_.corner_[at(s)]);
    plan_.exit_[at(s)] = e;
    for (int c = 0; c < n; ++c)
      if (plan_.live_[at(c)] && component_[at(c)] != component_[at(s)]) node(c).replace_read(s, e);
    std::replace(plan_.outputs_.begin(), plan_.outputs_.end(), s, e);
  }
  plan_.exit_.resize(at(count()), -1);
  plan_.is_exit_.resize(at(count()), 1);
}

/// Adds a node with the values of `source` in the order of a corner.
int PlanBuilder::add_reorder(int source, const char* suffix, Corner corner) {
  loop_.push_back(0);
  Node added{.name = node(source).name + suffix,
             .size = node(source).size,
             .part = node(source).part,
             .operation = Node::Reorder{source}};
  return add_node(std::move(added), static_cast<int>(loop_.size()) - 1, corner);
}

/// If a loop over a grid runs from a different corner than its source, the source is copied into that order.
void PlanBuilder::add_reorders() {
  const int n = count();
  std::vector<std::array<int, 4>> copies(at(n), {-1, -1, -1, -1});
  const auto in_order = [&](int source, Corner corner) {
    if (plan_.corner_[at(source)] == corner) return source;
    int& copy = copies[at(source)][static_cast<std::size_t>(corner)];
    if (copy < 0) copy = add_reorder(source, "/reordered", corner);
    return copy;
  };
  for (int c = 0; c < n; ++c)
    if (plan_.live_[at(c)])
      for (const int read : node(c).reads()) {
        const bool memory = node(c).kind() == Node::Kind::affine && node(read).part != node(c).part;
        const int ordered = memory ? read : in_order(read, plan_.corner_[at(c)]);
        if (ordered != read) node(c).replace_read(read, ordered);
      }
  // Readers outside the circuit expect the main order.
  for (int& output : plan_.outputs_)
    if (plan_.corner_[at(output)] != Corner::top_left) {
      const int copy = add_reorder(output, "/output", Corner::top_left);
      plan_.exit_.resize(at(count()), -1);
      for (int i = 0; i < n; ++i)
        if (plan_.exit_[at(i)] == output) plan_.exit_[at(i)] = copy;
      plan_.exit_[at(output)] = copy;
      output = copy;
    }
  plan_.exit_.resize(at(count()), -1);
  plan_.is_exit_.resize(at(count()), 0);
}

void PlanBuilder::choose_stages() {
  stage_.assign(loop_.size(), -1);
  for (int i = 0; i < count(); ++i)
    if (plan_.live_[at(i)]) stage_of(component_[at(i)]);
}

/// Batched components have even stages and loops have odd stages; work hoisted out of a loop runs one stage before it.
int PlanBuilder::stage_of(int component) {
  if (stage_[at(component)] >= 0) return stage_[at(component)];
  int stage = loop_[at(component)] ? 1 : 0;
  for (int i = 0; i < count(); ++i) {
    if (!plan_.live_[at(i)] || component_[at(i)] != component) continue;
    for (int input : node(i).reads()) {
      const int other = component_[at(input)];
      if (other == component) continue;
      const int before = stage_of(other);
      stage = std::max(
          stage, loop_[at(component)] ? (before % 2 ? before + 2 : before + 1) : (before % 2 ? before + 1 : before));
    }
  }
  return stage_[at(component)] = stage;
}

/// Returns whether an affine map inside a loop has products with operands from outside. Lookups alone are not hoisted,
/// because inside the loop they need no extra pass over memory.
bool PlanBuilder::hoistable(int i) const {
  const auto terms = plan_.nodes_[at(i)].terms();
  return options_.hoist && std::any_of(terms.begin(), terms.end(), [&](const auto& term) {
           return !plan_.is_symbols(term.source) && !same_loop(i, term.source);
         });
}

/// Returns the item of an affine map: all of it, only the part that can be hoisted out of its loop, or only the part
/// that must stay.
Item PlanBuilder::affine_item(int i, bool hoisted_part, bool inner_part) const {
  const Node& n = plan_.nodes_[at(i)];
  Item item{.kind = Item::Kind::affine, .node = i, .start = hoisted_part};
  const auto add = [&](auto&& wanted) {
    for (std::size_t k = 0; k < n.terms().size(); ++k)
      if (wanted(n.terms()[k].source)) item.parts.push_back({static_cast<int>(k), false});
  };
  const auto inner = [&](int s) { return same_loop(i, s); };
  if (hoisted_part) {
    add([&](int s) { return plan_.is_symbols(s); });
    add([&](int s) { return !plan_.is_symbols(s) && !inner(s); });
  }
  if (inner_part) add([&](int s) { return !plan_.is_symbols(s) && inner(s); });
  return item;
}

void PlanBuilder::make_segments() {
  int last = 0, deepest = 0;
  for (int i = 0; i < count(); ++i)
    if (plan_.live_[at(i)]) {
      last = std::max(last, stage_[at(component_[at(i)])]);
      deepest = std::max(deepest, node(i).part);
    }
  for (int stage = 0; stage <= last; ++stage) {
    std::vector<int> components;
    for (int i = 0; i < count(); ++i)
      if (plan_.live_[at(i)] && stage_[at(component_[at(i)])] == stage &&
          std::find(components.begin(), components.end(), component_[at(i)]) == components.end())
        components.push_back(component_[at(i)]);
    const auto units_of = [&](auto&& belongs) {
      std::vector<Item> units;
      for (int i = 0; i < count(); ++i) {
        if (!plan_.live_[at(i)] || !belongs(component_[at(i)], node(i).part)) continue;
        switch (node(i).kind()) {
          case Node::Kind::input:
          case Node::Kind::symbols:
          case Node::Kind::slice: break;
          case Node::Kind::affine: {
            const bool hoisted = loop_[at(component_[at(i)])] && hoistable(i);
            units.push_back(affine_item(i, !hoisted, true));
            break;
          }
          case Node::Kind::pointwise: units.push_back({.kind = Item::Kind::pointwise, .nodes = {i}}); break;
          case Node::Kind::link:
            if (!is_shift(node(i))) units.push_back({.kind = Item::Kind::gather, .node = i});
            break;
          case Node::Kind::reorder: units.push_back({.kind = Item::Kind::reorder, .node = i}); break;
          case Node::Kind::mask: units.push_back({.kind = Item::Kind::mask, .node = i}); break;
        }
      }
      return units;
    };
    if (stage % 2 == 0) {
      for (int part = deepest; part >= 0; --part) {  // a part reads deeper parts
        Segment segment{.stage = stage, .part = part};
        auto units = units_of([&](int c, int p) { return stage_[at(c)] == stage && p == part; });
        for (int i = 0; i < count(); ++i)  // work hoisted out of loops of the next stage
          if (plan_.live_[at(i)] && node(i).kind() == Node::Kind::affine && loop_[at(component_[at(i)])] &&
              stage_[at(component_[at(i)])] == stage + 1 && node(i).part == part && hoistable(i))
            units.push_back(affine_item(i, true, false));
        order_items(segment, std::move(units));
        if (!segment.items.empty()) plan_.segments_.push_back(std::move(segment));
      }
      continue;
    }
    for (int c : components) {
      Segment segment{.loop = true, .stage = stage};
      for (int i = 0; i < count(); ++i)
        if (plan_.live_[at(i)] && component_[at(i)] == c) {
          segment.part = node(i).part;
          segment.corner = plan_.corner_[at(i)];
          segment.descending |=
              node(i).kind() == Node::Kind::link && same_loop(i, node(i).link().source) &&
              (node(i).link().delay.along == Delay::Along::next || node(i).link().delay.along == Delay::Along::parent);
        }
      order_items(segment, units_of([&](int other, int) { return other == c; }));
      plan_.segments_.push_back(std::move(segment));
    }
  }
}

/// Returns the nodes whose values a unit reads, resolving views. Inside a loop, links are skipped, because they provide
/// values of other steps.
std::vector<int> PlanBuilder::unit_sources(const Segment& segment, const Item& unit) const {
  std::vector<int> open, result;
  if (unit.kind == Item::Kind::affine) {
    for (const auto& part : unit.parts) {
      const auto& term = plan_.nodes_[at(unit.node)].terms()[at(part.term)];
      for (const int read : {term.source, term.gate, term.keys, term.values})
        if (read >= 0) open.push_back(read);
      open.insert(open.end(), term.symbols.begin(), term.symbols.end());
    }
    if (const int awake = plan_.nodes_[at(unit.node)].affine().awake; awake >= 0) open.push_back(awake);
  } else if (unit.kind == Item::Kind::gather) {
    if (!segment.loop) open.push_back(plan_.nodes_[at(unit.node)].link().source);
  } else if (unit.kind == Item::Kind::pointwise) {
    for (int i : unit.nodes)
      for (int operand : plan_.nodes_[at(i)].pointwise().operands)
        if (operand >= 0) open.push_back(operand);
  } else if (unit.kind == Item::Kind::reorder) {
    open.push_back(plan_.nodes_[at(unit.node)].reorder().operand);
  }
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    const Node& n = plan_.nodes_[at(i)];
    if (n.kind() == Node::Kind::slice) {
      open.push_back(n.slice().operand);
    } else if (is_shift(n)) {
      const bool other_step = segment.loop && same_loop(i, n.link().source);
      if (!other_step) open.push_back(n.link().source);
    } else {
      result.push_back(i);
    }
  }
  return result;
}

/// Topological order that keeps maps of equal width together: all other items run as early as possible.
void PlanBuilder::order_items(Segment& segment, std::vector<Item> units) {
  std::vector<int> unit_of(plan_.nodes_.size(), -1);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const bool is_map = units[u].kind == Item::Kind::pointwise;
    unit_of[at(is_map ? units[u].nodes[0] : units[u].node)] = static_cast<int>(u);
  }
  std::vector<std::vector<int>> readers(units.size());
  std::vector<int> waiting(units.size(), 0);
  for (std::size_t u = 0; u < units.size(); ++u)
    for (int source : unit_sources(segment, units[u]))
      if (unit_of[at(source)] >= 0) {
        readers[at(unit_of[at(source)])].push_back(static_cast<int>(u));
        ++waiting[u];
      }
  std::vector<char> done(units.size(), 0);
  const auto width = [&](const Item& item) { return plan_.nodes_[at(item.nodes[0])].size; };
  // Outside a loop, a shifted view reads other rows, which other tiles and threads may still be changing.
  const auto reads_other_rows = [&](const Item& item) {
    for (int i : item.nodes)
      for (int operand : plan_.nodes_[at(i)].pointwise().operands) {
        while (operand >= 0 && node(operand).kind() == Node::Kind::slice) operand = node(operand).slice().operand;
        if (operand >= 0 && !segment.loop && is_shift(node(operand))) return true;
      }
    return false;
  };
  for (std::size_t step = 0; step < units.size(); ++step) {
    Item* last = segment.items.empty() ? nullptr : &segment.items.back();
    int chosen = -1, best = 4;
    for (std::size_t u = 0; u < units.size(); ++u) {
      if (done[u] || waiting[u] > 0) continue;
      const bool is_map = units[u].kind == Item::Kind::pointwise;
      const bool joins = is_map && last != nullptr && last->kind == Item::Kind::pointwise &&
                         width(*last) == width(units[u]) && !reads_other_rows(*last) && !reads_other_rows(units[u]);
      const int rank = !is_map ? 0 : joins ? 1 : 2;
      if (rank < best) best = rank, chosen = static_cast<int>(u);
    }
    if (chosen < 0) throw UsageError("plan: the circuit has a loop without a link");
    Item& unit = units[at(chosen)];
    done[at(chosen)] = 1;
    for (int r : readers[at(chosen)]) --waiting[at(r)];
    if (best == 1 && options_.fuse)
      last->nodes.push_back(unit.nodes[0]);
    else
      segment.items.push_back(std::move(unit));
  }
  // An item that reads rows other than its own (a shifted view outside a loop, a gather, a reordering) must wait for
  // all rows.
  for (const Item& item : segment.items) {
    const bool in_sequence =
        segment.loop && item.kind == Item::Kind::gather &&
        node(item.node).link().delay.along == Delay::Along::next;  // reads rows of the same sequence
    if ((item.kind == Item::Kind::gather && !in_sequence) || item.kind == Item::Kind::reorder)
      segment.rows_independent = false;
    if (segment.loop) continue;
    std::vector<int> open;
    if (item.kind == Item::Kind::affine)
      for (const auto& part : item.parts) {
        const auto& term = node(item.node).terms()[at(part.term)];
        open.push_back(term.source);
        if (term.keys >= 0)
          segment.rows_independent = false;  // rows that read the same chain write to the same adjoints
      }
    for (int i : item.nodes)
      for (int operand : node(i).pointwise().operands)
        if (operand >= 0) open.push_back(operand);
    for (int i : open) {
      while (node(i).kind() == Node::Kind::slice) i = node(i).slice().operand;
      if (is_shift(node(i))) segment.rows_independent = false;
    }
  }
}

}  // namespace unfold
