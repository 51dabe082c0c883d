#include "model/decoding/nondeterministic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "unfold/base/error.h"

namespace unfold {

/// Computes the closure of sets of states under empty transitions.
class NondeterministicAutomaton::Closure {
 public:
  explicit Closure(const NondeterministicAutomaton& of) : of_(of), seen_(of.steps_.size()) {}

  /// Returns the closure, sorted and without duplicates.
  std::vector<Index> operator()(const std::vector<Index>& from) {
    ++round_;
    std::vector<Index> states;
    const auto add = [&](Index s) {
      if (std::exchange(seen_[at(s)], round_) != round_) states.push_back(s);
    };
    for (const Index s : from) add(s);
    for (std::size_t k = 0; k < states.size(); ++k)
      for (const Index to : of_.empties_[at(states[k])]) add(to);
    std::ranges::sort(states);
    return states;
  }

 private:
  const NondeterministicAutomaton& of_;
  std::vector<Index> seen_;  // the round in which a state was last visited
  Index round_ = 0;
};

Index NondeterministicAutomaton::add_state() {
  steps_.emplace_back();
  empties_.emplace_back();
  accepting_.push_back(0);
  return states() - 1;
}

void NondeterministicAutomaton::add_step(Index from, Index to, const SymbolSet& symbols) {
  const auto [place, fresh] = known_sets_.try_emplace(symbols, static_cast<Index>(sets_.size()));
  if (fresh) sets_.push_back(symbols);
  steps_[at(from)].push_back({to, place->second});
}

/// Symbols in the same sets share a column; `first` is set to the first symbol of each column.
std::vector<Index> NondeterministicAutomaton::columns_of_symbols(std::vector<Symbol>& first) const {
  std::map<std::vector<char>, Index> known;
  std::vector<Index> columns;
  for (Symbol x = 0; x < alphabet_; ++x) {
    std::vector<char> membership;
    membership.reserve(sets_.size());
    for (const SymbolSet& set : sets_) membership.push_back(set[at(x)]);
    const auto [place, fresh] = known.try_emplace(std::move(membership), static_cast<Index>(first.size()));
    if (fresh) first.push_back(x);
    columns.push_back(place->second);
  }
  return columns;
}

Automaton NondeterministicAutomaton::determinise(Index start, Index most) const {
  std::vector<Symbol> first;
  Automaton::Table table{.columns = columns_of_symbols(first), .width = 0, .next = {}, .accepting = {}};
  table.width = static_cast<Index>(first.size());
  std::map<std::vector<Index>, Index> known;
  Closure closure(*this);
  std::vector<std::vector<Index>> order{closure({start})};
  known[order.front()] = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::vector<Index> from = order[k];
    table.accepting.push_back(std::ranges::any_of(from, [&](Index s) { return accepting_[at(s)] != 0; }) ? 1 : 0);
    for (const Symbol x : first) {
      std::vector<Index> to;
      for (const Index s : from)
        for (const Step& step : steps_[at(s)])
          if (sets_[at(step.set)][at(x)] != 0) to.push_back(step.to);
      if (to.empty()) {
        table.next.push_back(Automaton::kDead);
        continue;
      }
      to = closure(to);
      const auto [place, fresh] = known.try_emplace(std::move(to), static_cast<Index>(order.size()));
      if (fresh) {
        if (static_cast<Index>(order.size()) >= most)
          throw UsageError(
              fmt::format("the automaton of the expression has more than {} states; counts such as {{50}} after "
                          "overlapping alternatives need many states; use smaller counts",
                          most));
        order.push_back(place->first);
      }
      table.next.push_back(place->second);
    }
  }
  return Automaton(table).minimized();
}

}  // namespace unfold
