#include "model/decoding/automaton.h"

#include <algorithm>
#include <map>
#include <utility>

namespace unfold {
namespace {

/// Returns the states that are reachable from state 0, in the order of the traversal.
std::vector<Index> reached(const Automaton::Table& table) {
  std::vector<Index> order;
  if (table.accepting.empty()) return order;
  std::vector<char> seen(table.accepting.size());
  order.push_back(0);
  seen[0] = 1;
  for (std::size_t k = 0; k < order.size(); ++k)
    for (Index c = 0; c < table.width; ++c) {
      const Index to = table.next[at(order[k] * table.width + c)];
      if (to == Automaton::kDead || seen[at(to)] != 0) continue;
      seen[at(to)] = 1;
      order.push_back(to);
    }
  return order;
}

/// Returns the predecessors of each state.
std::vector<std::vector<Index>> sources(const std::vector<Index>& next, Index states, Index width) {
  std::vector<std::vector<Index>> from(at(states));
  for (Index s = 0; s < states; ++s)
    for (Index c = 0; c < width; ++c)
      if (const Index to = next[at(s * width + c)];
          to != Automaton::kDead && (from[at(to)].empty() || from[at(to)].back() != s))
        from[at(to)].push_back(s);
  return from;
}

/// Returns the number of steps from each state to the nearest accepting state; kDead if no accepting state is
/// reachable.
std::vector<Index> distances(const Automaton::Table& table) {
  const auto states = static_cast<Index>(table.accepting.size());
  const auto from = sources(table.next, states, table.width);
  std::vector<Index> distance(at(states), Automaton::kDead), order;
  for (Index s = 0; s < states; ++s)
    if (table.accepting[at(s)] != 0) {
      distance[at(s)] = 0;
      order.push_back(s);
    }
  for (std::size_t k = 0; k < order.size(); ++k)
    for (const Index s : from[at(order[k])])
      if (distance[at(s)] == Automaton::kDead) {
        distance[at(s)] = distance[at(order[k])] + 1;
        order.push_back(s);
      }
  return distance;
}

/// Merges identical columns and numbers them by their first symbols.
void join_columns(Automaton::Table& table) {
  const auto states = static_cast<Index>(table.accepting.size());
  std::map<std::vector<Index>, Index> known;
  std::vector<Index> number(at(table.width), Automaton::kDead);
  std::vector<std::vector<Index>> kept;
  for (Index& column : table.columns) {
    Index& joined = number[at(column)];
    if (joined == Automaton::kDead) {
      std::vector<Index> content(at(states));
      for (Index s = 0; s < states; ++s) content[at(s)] = table.next[at(s * table.width + column)];
      const auto [place, fresh] = known.try_emplace(content, static_cast<Index>(kept.size()));
      if (fresh) kept.push_back(std::move(content));
      joined = place->second;
    }
    column = joined;
  }
  table.width = static_cast<Index>(kept.size());
  table.next.resize(at(states * table.width));
  for (Index s = 0; s < states; ++s)
    for (Index c = 0; c < table.width; ++c) table.next[at(s * table.width + c)] = kept[at(c)][at(s)];
}

}  // namespace

Automaton::Automaton(const Table& table) {
  const std::vector<Index> distance = distances(table);
  std::vector<Index> number(table.accepting.size(), kDead);
  Table own{.columns = table.columns, .width = table.width, .next = {}, .accepting = {}};
  std::vector<Index> kept;
  for (const Index s : reached(table))
    if (distance[at(s)] != kDead && (s == 0 || !kept.empty())) {
      number[at(s)] = static_cast<Index>(kept.size());
      kept.push_back(s);
    }
  for (const Index s : kept) {
    own.accepting.push_back(table.accepting[at(s)]);
    for (Index c = 0; c < table.width; ++c) {
      const Index to = table.next[at(s * table.width + c)];
      own.next.push_back(to == kDead ? kDead : number[at(to)]);
    }
  }
  join_columns(own);
  columns_ = std::move(own.columns);
  width_ = own.width;
  next_ = std::move(own.next);
  accepting_ = std::move(own.accepting);
  measure();
}

/// Computes the smallest and largest number of symbols to an accepting state. A state without a known upper bound is on
/// a cycle or leads to a cycle.
void Automaton::measure() {
  least_ = distances({.columns = {}, .width = width_, .next = next_, .accepting = accepting_});
  most_.assign(at(states()), kUnbounded);
  const auto from = sources(next_, states(), width_);
  std::vector<Index> open(at(states())), order;  // successors without a known bound
  for (Index s = 0; s < states(); ++s) {
    std::vector<Index> to(next_.begin() + s * width_, next_.begin() + (s + 1) * width_);
    std::ranges::sort(to);
    to.erase(std::unique(to.begin(), to.end()), to.end());
    open[at(s)] = static_cast<Index>(std::ranges::count_if(to, [](Index each) { return each != kDead; }));
    if (open[at(s)] == 0) order.push_back(s);
  }
  for (const Index s : order) most_[at(s)] = 0;
  for (std::size_t k = 0; k < order.size(); ++k)
    for (const Index s : from[at(order[k])]) {
      const Index longest = most_[at(order[k])] + 1;
      most_[at(s)] = most_[at(s)] == kUnbounded ? longest : std::max(most_[at(s)], longest);
      if (--open[at(s)] == 0) order.push_back(s);
    }
  for (Index s = 0; s < states(); ++s)
    if (open[at(s)] > 0) most_[at(s)] = kUnbounded;
}

Automaton Automaton::of_length(Index alphabet, Index least, Index most) {
  const Index states = (most == kUnbounded ? least : most) + 1;
  Table table{.columns = std::vector<Index>(at(alphabet)), .width = 1, .next = {}, .accepting = {}};
  for (Index s = 0; s < states; ++s) {
    table.next.push_back(s + 1 < states ? s + 1 : most == kUnbounded ? s : kDead);
    table.accepting.push_back(s >= least ? 1 : 0);
  }
  return Automaton(table);
}

bool Automaton::matches(std::span<const Symbol> symbols) const {
  Index state = start();
  for (const Symbol x : symbols) state = next(state, x);
  return accepts(state);
}

/// Returns the table of the same states with a different start state.
Automaton::Table Automaton::table_from(Index state) const {
  Table table{.columns = columns_, .width = width_, .next = next_, .accepting = accepting_};
  if (state == kDead) {
    table.next.clear();
    table.accepting.clear();
    return table;
  }
  for (Index c = 0; c < width_; ++c) std::swap(table.next[at(c)], table.next[at(state * width_ + c)]);
  std::swap(table.accepting[0], table.accepting[at(state)]);
  for (Index& to : table.next) to = to == 0 ? state : to == state ? 0 : to;
  return table;
}

Automaton Automaton::after(std::span<const Symbol> symbols) const {
  Index state = start();
  for (const Symbol x : symbols) state = next(state, x);
  return Automaton(table_from(state));
}

/// Minimizes by Moore's partition refinement: states are equivalent until a transition distinguishes them.
Automaton Automaton::minimized() const {
  std::vector<Index> part(accepting_.begin(), accepting_.end());
  for (Index parts = 0;;) {
    std::map<std::vector<Index>, Index> known;
    std::vector<Index> finer(part.size());
    for (Index s = 0; s < states(); ++s) {
      std::vector<Index> signature{part[at(s)]};
      for (Index c = 0; c < width_; ++c) {
        const Index to = next_[at(s * width_ + c)];
        signature.push_back(to == kDead ? kDead : part[at(to)]);
      }
      finer[at(s)] = known.try_emplace(std::move(signature), static_cast<Index>(known.size())).first->second;
    }
    part = std::move(finer);
    const auto now = static_cast<Index>(known.size());
    if (std::exchange(parts, now) == now) break;
  }
  // Parts are numbered in the order of their first states, so the part that contains the start state is the first.
  Table table{.columns = columns_, .width = width_, .next = {}, .accepting = {}};
  for (Index s = 0; s < states(); ++s) {
    if (part[at(s)] != static_cast<Index>(table.accepting.size())) continue;
    table.accepting.push_back(accepting_[at(s)]);
    for (Index c = 0; c < width_; ++c) {
      const Index to = next_[at(s * width_ + c)];
      table.next.push_back(to == kDead ? kDead : part[at(to)]);
    }
  }
  return Automaton(table);
}

Automaton intersection(const Automaton& a, const Automaton& b) {
  Automaton::Table table;
  std::map<std::pair<Index, Index>, Index> columns, states;
  for (Symbol x = 0; x < a.alphabet(); ++x)
    table.columns.push_back(
        columns.try_emplace({a.column(x), b.column(x)}, static_cast<Index>(columns.size())).first->second);
  std::vector<std::pair<Index, Index>> by_column(columns.size()), order;
  for (const auto& [pair, column] : columns) by_column[at(column)] = pair;
  table.width = static_cast<Index>(columns.size());
  if (!a.empty() && !b.empty()) {
    order.emplace_back(a.start(), b.start());
    states[order.front()] = 0;
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto [s, t] = order[k];
    table.accepting.push_back(a.accepts(s) && b.accepts(t) ? 1 : 0);
    for (const auto& [in_a, in_b] : by_column) {
      const std::pair to{a.next_in_column(s, in_a), b.next_in_column(t, in_b)};
      if (to.first == Automaton::kDead || to.second == Automaton::kDead) {
        table.next.push_back(Automaton::kDead);
        continue;
      }
      const auto [place, fresh] = states.try_emplace(to, static_cast<Index>(order.size()));
      if (fresh) order.push_back(to);
      table.next.push_back(place->second);
    }
  }
  return Automaton(table);
}

}  // namespace unfold
