#pragma once
/// Automata as expressions and files describe them, with empty steps and several steps for a symbol; `determinise`
/// makes the kind of them that searches read.

#include <map>
#include <vector>

#include "unfold/search/automaton.h"

namespace unfold {

/// Which symbols of an alphabet: one flag each.
using SymbolSet = std::vector<char>;

class NondeterministicAutomaton {
 public:
  explicit NondeterministicAutomaton(Index alphabet) : alphabet_(alphabet) {}

  Index add_state();
  Index states() const { return static_cast<Index>(steps_.size()); }
  /// From a state to another by any symbol of the set.
  void add_step(Index from, Index to, const SymbolSet& symbols);
  /// Without a symbol.
  void add_empty(Index from, Index to) { empties_[at(from)].push_back(to); }
  void accept(Index state) { accepting_[at(state)] = 1; }

  /// By sets of states (Rabin & Scott 1959), then with the fewest states. Throws UsageError beyond `most` of them.
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
