#include <algorithm>

#include "graph/plan/plan_builder.h"

namespace unfold {

void PlanBuilder::find_uses() {
  uses_.assign(plan_.nodes_.size(), {});
  for (int i = 0; i < count(); ++i) {
    if (!plan_.live_[at(i)]) continue;
    const auto use = [&](int read, int operand) {
      if (read >= 0) uses_[at(read)].push_back({i, operand});
    };
    const Node& n = node(i);
    switch (n.kind()) {
      case Node::Kind::input:
      case Node::Kind::symbols:
      case Node::Kind::mask: break;
      case Node::Kind::link: use(n.link().source, -1); break;
      case Node::Kind::pointwise:
        for (int k = 0; k < 2; ++k) use(n.pointwise().operands[at(k)], k);
        break;
      case Node::Kind::slice: use(n.slice().operand, 0); break;
      case Node::Kind::reorder: use(n.reorder().operand, 0); break;
      case Node::Kind::affine:
        for (std::size_t k = 0; k < n.terms().size(); ++k)
          for (const int read : {n.terms()[k].source, n.terms()[k].keys, n.terms()[k].values})
            use(read, static_cast<int>(k));
        use(n.affine().awake, -1);
    }
  }
  item_of_.assign(plan_.nodes_.size(), -1);
  int number = 0;
  for (const Segment& segment : plan_.segments_)
    for (const Item& item : segment.items) {
      for (int i : item.nodes) item_of_[at(i)] = number;
      if (item.node >= 0) item_of_[at(item.node)] = number;
      ++number;
    }
}

/// Returns whether some derivative reads the value of node i: a weight gradient, or the partial derivatives of a map
/// (of i or of a reader).
bool PlanBuilder::needed_by_backward(int i) const {
  const Node& n = plan_.nodes_[at(i)];
  if (n.kind() == Node::Kind::pointwise && map_info(n.pointwise().map).needs_output) return true;
  for (const Use& use : uses_[at(i)]) {
    const Node& reader = plan_.nodes_[at(use.consumer)];
    switch (reader.kind()) {
      case Node::Kind::affine: return true;
      case Node::Kind::pointwise:
        if (map_info(reader.pointwise().map).needs_input) return true;
        break;
      case Node::Kind::input:
      case Node::Kind::symbols:
      case Node::Kind::mask:
      case Node::Kind::link:
      case Node::Kind::slice:
      case Node::Kind::reorder:  // views and copies: determined by their readers
        if (needed_by_backward(use.consumer)) return true;
    }
  }
  return false;
}

/// Returns whether only maps of the same item read the node; it then need not leave the tile.
bool PlanBuilder::may_stay_in_tile(int i, bool for_values) const {
  const Node& n = plan_.nodes_[at(i)];
  if (!options_.scratch || n.kind() != Node::Kind::pointwise || uses_[at(i)].empty()) return false;
  if (std::count(plan_.outputs_.begin(), plan_.outputs_.end(), i) > 0 || plan_.exit_[at(i)] >= 0) return false;
  for (const Use& use : uses_[at(i)])
    if (plan_.nodes_[at(use.consumer)].kind() != Node::Kind::pointwise || item_of_[at(use.consumer)] != item_of_[at(i)])
      return false;
  return !for_values || !needed_by_backward(i);
}

/// Returns whether the memory of x is free once its reader, a map, has run: nothing else reads those columns, and no
/// derivative needs them.
bool PlanBuilder::free_after(int x, int reader) const {
  if (!options_.in_place || x < 0 || map_info(plan_.nodes_[at(reader)].pointwise().map).needs_input) return false;
  if (uses_[at(x)].size() != 1 || uses_[at(x)][0].consumer != reader) return false;
  int owner = x;
  if (plan_.nodes_[at(x)].kind() == Node::Kind::slice) {
    owner = plan_.nodes_[at(x)].slice().operand;
    const Index first = plan_.nodes_[at(x)].slice().offset, end = first + plan_.nodes_[at(x)].size;
    const bool disjoint = std::all_of(uses_[at(owner)].begin(), uses_[at(owner)].end(), [&](const Use& use) {
      const Node& other = plan_.nodes_[at(use.consumer)];
      return use.consumer == x || (other.kind() == Node::Kind::slice &&
                                   (other.slice().offset + other.size <= first || end <= other.slice().offset));
    });
    if (!disjoint) return false;
  }
  const Node& o = plan_.nodes_[at(owner)];
  const bool owns_memory =
      o.kind() == Node::Kind::affine || (o.kind() == Node::Kind::pointwise && !plan_.is_exit_[at(owner)]);
  const bool read_by_others = std::count(plan_.outputs_.begin(), plan_.outputs_.end(), owner) > 0 ||
                              plan_.exit_[at(owner)] >= 0 ||
                              (o.kind() == Node::Kind::pointwise && map_info(o.pointwise().map).needs_output);
  return owns_memory && !read_by_others && plan_.corner_[at(owner)] == plan_.corner_[at(reader)];
}

/// Returns whether only maps read i. If so, i may be placed between other values; products need contiguous rows.
bool PlanBuilder::only_maps_read(int i) const {
  return std::count(plan_.outputs_.begin(), plan_.outputs_.end(), i) == 0 && plan_.exit_[at(i)] < 0 &&
         std::all_of(uses_[at(i)].begin(), uses_[at(i)].end(),
                     [&](const Use& use) { return plan_.nodes_[at(use.consumer)].kind() == Node::Kind::pointwise; });
}

/// Places the values of the maps of one item, in the order of execution. `places` already contains the places of their
/// operands.
void PlanBuilder::place_maps(const Item& item, std::vector<Place>& places) {
  std::vector<Place> free;  // memory of operands whose last readers were maps of this item
  for (const int i : item.nodes) {
    std::vector<Place> mine;  // memory that map i itself frees
    for (const int x : node(i).pointwise().operands) {
      if (!free_after(x, i)) continue;
      const Place place = resolve(places, x);
      if (!place.scratch() && place.shift == 0) mine.push_back(place);
    }
    if (may_stay_in_tile(i, true)) {
      places[at(i)] = {};
    } else if (plan_.is_exit_[at(i)]) {
      const Place place = resolve(places, node(i).pointwise().operands[0]);
      places[at(i)] = place.scratch() || place.shift != 0 ? Place{i, 0, 0} : place;
    } else {
      // Use the map's own operand, otherwise memory freed by earlier maps, last first.
      std::vector<Place>& from = !mine.empty() || !only_maps_read(i) ? mine : free;
      const auto taken = &from == &mine ? from.begin() : from.end() - (from.empty() ? 0 : 1);
      places[at(i)] = from.empty() ? Place{i, 0, 0} : *taken;
      if (!from.empty()) from.erase(taken);
    }
    free.insert(free.end(), mine.begin(), mine.end());
  }
}

/// Returns the place of a view, derived from the place of the viewed node.
Place PlanBuilder::resolve(const std::vector<Place>& places, int i) const {
  const Node& n = plan_.nodes_[at(i)];
  if (n.kind() == Node::Kind::slice) {
    Place place = resolve(places, n.slice().operand);
    place.column += n.slice().offset;
    return place;
  }
  if (is_shift(n)) {
    Place place = resolve(places, n.link().source);
    place.shift += n.link().delay.steps;
    return place;
  }
  return places[at(i)];
}

void PlanBuilder::place_values() {
  auto& places = plan_.value_;
  places.assign(plan_.nodes_.size(), {});
  const auto is_view = [&](int i) { return node(i).kind() == Node::Kind::slice || is_shift(node(i)); };
  for (int i = 0; i < count(); ++i)
    if (plan_.live_[at(i)] && node(i).kind() != Node::Kind::pointwise && !is_view(i)) places[at(i)] = {i, 0, 0};
  for (const Segment& segment : plan_.segments_)
    for (const Item& item : segment.items) place_maps(item, places);
  plan_.history_.assign(plan_.nodes_.size(), 0);
  for (int i = 0; i < count(); ++i)
    if (plan_.live_[at(i)] && is_view(i)) {
      const Place place = resolve(places, i);
      if (!place.scratch()) plan_.history_[at(place.root)] = std::max(plan_.history_[at(place.root)], place.shift);
    }
  std::vector<Place> resolved = places;
  for (int i = 0; i < count(); ++i)
    if (plan_.live_[at(i)] && is_view(i)) resolved[at(i)] = resolve(places, i);
  places = std::move(resolved);
}

void PlanBuilder::place_adjoints() {
  auto& needs = plan_.needs_adjoint_;
  needs.assign(plan_.nodes_.size(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < count(); ++i) {
      if (!plan_.live_[at(i)] || needs[at(i)]) continue;
      bool need = node(i).kind() == Node::Kind::affine || node(i).trained_initial() >= 0 ||
                  (options_.input_derivatives && node(i).kind() == Node::Kind::input);
      if (node(i).kind() != Node::Kind::affine)
        for (int input : node(i).reads()) need |= needs[at(input)] != 0;
      for (int j = 0; j < count(); ++j)  // a trained initial value shares the memory of the link's source
        need |= is_shift(node(j)) && plan_.live_[at(j)] && node(j).trained_initial() >= 0 && node(j).link().source == i;
      if (need) needs[at(i)] = 1, changed = true;
    }
  }
  auto& places = plan_.adjoint_;
  places.assign(plan_.nodes_.size(), {});
  plan_.adjoint_buffer_.assign(plan_.nodes_.size(), {});
  const auto is_view = [&](int i) { return node(i).kind() == Node::Kind::slice || is_shift(node(i)); };
  for (int i = 0; i < count(); ++i)
    if (needs[at(i)] && !is_view(i) && !may_stay_in_tile(i, false)) {
      places[at(i)] = {i, 0, 0};
      plan_.adjoint_buffer_[at(i)].exists = true;
    }
  std::vector<Place> resolved = places;
  for (int i = 0; i < count(); ++i)
    if (needs[at(i)] && is_view(i)) {
      const Place place = resolved[at(i)] = resolve(places, i);
      if (!place.scratch()) plan_.history_[at(place.root)] = std::max(plan_.history_[at(place.root)], place.shift);
    }
  places = std::move(resolved);
}

/// Chooses how each adjoint buffer is initialized. By default (the cheapest choice), the first writer sets the values
/// and the others add to them. A signal that its loop carries through one link is set by the readers of that link one
/// step earlier (`tail`: rows without a successor are zeroed). All other buffers are zeroed, and all writers add to
/// them.
void PlanBuilder::choose_adjoint_modes() {
  for (int r = 0; r < count(); ++r) {
    AdjointBuffer& buffer = plan_.adjoint_buffer_[at(r)];
    if (!buffer.exists) continue;
    int shifts = 0, gathers = 0;
    Index tail = 0;
    bool whole = true, outside_reader = false;
    for (int i = 0; i < count(); ++i) {
      if (!plan_.live_[at(i)] || !plan_.needs_adjoint_[at(i)]) continue;
      if (node(i).kind() == Node::Kind::link) {
        if (is_shift(node(i)) && plan_.adjoint_[at(i)].root == r) {
          ++shifts;
          tail = plan_.adjoint_[at(i)].shift;
          whole &= same_loop(i, r) && node(i).size == node(r).size;
        } else if (!is_shift(node(i)) && plan_.adjoint_[at(node(i).link().source)].root == r) {
          ++gathers;
        }
      }
      for (const auto& term : node(i).terms())  // every step of the rows that attend to it adds to the memory
        for (const int memory : {term.keys, term.values})
          gathers += memory >= 0 && plan_.adjoint_[at(memory)].root == r;
      if (!same_loop(i, r))
        for (int input : node(i).reads()) outside_reader |= plan_.adjoint_[at(input)].root == r;
    }
    const bool seeded = std::count(plan_.outputs_.begin(), plan_.outputs_.end(), r) > 0;
    if (shifts == 1 && whole && gathers == 0 && !seeded)
      buffer.tail = tail;
    else if ((shifts > 0 || gathers > 0) && !seeded)
      buffer.zeroed = true;
    const bool looped = loop_[at(component_[at(r)])];
    buffer.ring = options_.ring && looped && !seeded && !outside_reader && node(r).kind() == Node::Kind::pointwise &&
                  !plan_.is_exit_[at(r)];
  }
  while (!simulate_writers()) {
  }
  for (int r = 0; r < count(); ++r) {
    AdjointBuffer& buffer = plan_.adjoint_buffer_[at(r)];
    bool gathered_loop = false;  // rings need links that shift, not gather
    for (int i = 0; i < count(); ++i)
      gathered_loop |= plan_.live_[at(i)] && node(i).kind() == Node::Kind::link && !is_shift(node(i)) &&
                       buffer.exists && same_loop(i, r);
    if (buffer.zeroed || gathered_loop) buffer.ring = false;
  }
}

/// Simulates the backward pass and marks which writers set and which add. Returns false if a buffer had to be changed
/// to zeroed because its first writers do not cover it exactly.
bool PlanBuilder::simulate_writers() {
  using Columns = std::vector<std::pair<Index, Index>>;
  std::vector<Columns> covered(plan_.nodes_.size());
  bool stable = true;
  const auto zero_instead = [&](int root) {
    plan_.adjoint_buffer_[at(root)].zeroed = true;
    plan_.adjoint_buffer_[at(root)].tail = 0;
    stable = false;
  };
  std::vector<char> scratch_written(plan_.nodes_.size(), 0);
  // Returns whether this writer is the first for its columns.
  const auto write = [&](int target) {
    if (!plan_.needs_adjoint_[at(target)]) return false;
    const Place& place = plan_.adjoint_[at(target)];
    if (place.scratch()) return !std::exchange(scratch_written[at(target)], 1);
    const bool seeded = std::count(plan_.outputs_.begin(), plan_.outputs_.end(), place.root) > 0;
    if (seeded || plan_.adjoint_buffer_[at(place.root)].zeroed) return false;
    const Index begin = place.column, end = begin + node(target).size;
    Index overlap = 0;
    for (auto [b, e] : covered[at(place.root)]) overlap += std::max<Index>(0, std::min(e, end) - std::max(b, begin));
    if (overlap == 0) {
      covered[at(place.root)].emplace_back(begin, end);
      return true;
    }
    if (overlap != end - begin) zero_instead(place.root);
    return false;
  };
  for (auto segment = plan_.segments_.rbegin(); segment != plan_.segments_.rend(); ++segment)
    // In a loop, values that go through links were written one or more steps before all values of the current step.
    for (const bool through_links : {true, false}) {
      for (auto item = segment->items.rbegin(); item != segment->items.rend(); ++item) {
        const auto turn = [&](int target) {
          const bool shifted = plan_.needs_adjoint_[at(target)] && !plan_.adjoint_[at(target)].scratch() &&
                               plan_.adjoint_[at(target)].shift > 0 && segment->loop;
          return shifted == through_links;
        };
        if (item->kind == Item::Kind::affine) {
          for (auto part = item->parts.rbegin(); part != item->parts.rend(); ++part) {
            const int source = node(item->node).terms()[at(part->term)].source;
            if (turn(source)) part->adjoint_sets = write(source);
          }
        } else if (item->kind == Item::Kind::reorder) {
          const int operand = node(item->node).reorder().operand;
          if (turn(operand)) item->adjoint_sets = write(operand);
        } else if (item->kind == Item::Kind::pointwise) {
          item->sets.resize(item->nodes.size());
          for (std::size_t k = item->nodes.size(); k-- > 0;)
            for (std::size_t o = 0; o < 2; ++o) {
              const int operand = node(item->nodes[k]).pointwise().operands[o];
              if (operand >= 0 && turn(operand)) item->sets[k][o] = write(operand);
            }
        }
      }
    }
  for (int r = 0; r < count(); ++r) {
    const AdjointBuffer& buffer = plan_.adjoint_buffer_[at(r)];
    if (!buffer.exists || buffer.zeroed) continue;
    if (std::count(plan_.outputs_.begin(), plan_.outputs_.end(), r) > 0) continue;
    Index total = 0;
    for (auto [b, e] : covered[at(r)]) total += e - b;
    if (total != node(r).size) zero_instead(r);
  }
  return stable;
}

void PlanBuilder::find_carried() {
  for (int i = 0; i < count(); ++i) {
    if (!plan_.live_[at(i)]) continue;
    if (node(i).part > 0) plan_.recomputable_ = false;
    if (node(i).kind() != Node::Kind::link) continue;
    const Node::Link& link = node(i).link();
    if (!is_shift(node(i))) {
      plan_.recomputable_ = false;
      if (link.delay.along == Delay::Along::first && node(i).part == 0) plan_.kept_.push_back({i, 0});
      continue;
    }
    if (!same_loop(i, link.source)) plan_.recomputable_ = false;
    auto known = std::find_if(plan_.carried_.begin(), plan_.carried_.end(),
                              [&](const Plan::Carried& c) { return c.source == link.source; });
    if (known == plan_.carried_.end()) {
      plan_.carried_.push_back({link.source, link.delay.steps, link.initial, 0});
    } else {
      known->steps = std::max(known->steps, link.delay.steps);
    }
  }
  for (Plan::Carried& c : plan_.carried_) {
    if (node(c.source).part > 0) continue;
    c.offset = plan_.state_width_;
    plan_.state_width_ += c.steps * node(c.source).size;
  }
  for (Plan::Kept& k : plan_.kept_)
    k.offset = std::exchange(plan_.state_width_, plan_.state_width_ + node(k.link).size);
}

}  // namespace unfold
