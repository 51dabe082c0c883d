#pragma once
/// Nondeterministic finite automata with empty transitions, as built from expressions and files. `determinise` converts
/// them to the deterministic automata that searches use.

#include <map>
#include <vector>

#include "model/decoding/automaton.h"

namespace unfold {

/// A set of symbols of an alphabet: one flag per symbol.
using SymbolSet = std::vector<char>;

class NondeterministicAutomaton {
 public:
  explicit NondeterministicAutomaton(Index alphabet) : alphabet_(alphabet) {}

  Index add_state();
  Index states() const { return static_cast<Index>(steps_.size()); }
  /// Adds a transition that any symbol of the set takes.
  void add_step(Index from, Index to, const SymbolSet& symbols);
  /// Adds an empty transition.
  void add_empty(Index from, Index to) { empties_[at(from)].push_back(to); }
  void accept(Index state) { accepting_[at(state)] = 1; }

  /// Subset construction (Rabin & Scott 1959) followed by minimization. Throws UsageError for more than `most` states.
  Automaton determinise(Index start, Index most) const;

 private:
  struct Step {
    Index to, set;
  };
  class Closure;
  std::vector<Index> columns_of_symbols(std::vector<Symbol>& first) const;

  Index alphabet_;
  std::vector<std::vector<Step>> steps_;
  std::vector<std::vector<Index>> empties_;
  std::vector<char> accepting_;
  std::vector<SymbolSet> sets_;
  std::map<SymbolSet, Index> known_sets_;
};

}  // namespace unfold
