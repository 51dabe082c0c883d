#pragma once
/// Deterministic finite automata over the symbols of an alphabet: which sequences are allowed, one step at a time.
///
///   const Automaton pattern = compile_expression("(the|a) [a-z]+", alphabet);    // expression.h
///   Index state = pattern.start();
///   for (const Symbol x : text) state = pattern.next(state, x);                  // kDead: nothing that begins so
///   pattern.accepts(state);
///
/// Only states that something leads to and that lead to an accepting one are kept, in the order in which a walk from
/// the start finds them; so a state that is not dead can always be completed. Symbols that no state tells apart share a
/// *column* of the table. Immutable.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

class Automaton {
 public:
  static constexpr Index kDead = -1;
  static constexpr Index kUnbounded = std::numeric_limits<Index>::max();

  /// As it comes: any states, the start first.
  struct Table {
    std::vector<Index> columns;   ///< of each symbol of the alphabet
    Index width = 0;              ///< columns
    std::vector<Index> next;      ///< [states x width], kDead
    std::vector<char> accepting;  ///< by state
  };
  /// Leaves out what is of no use.
  explicit Automaton(const Table& table);

  /// Every sequence of `least` to `most` symbols.
  static Automaton of_length(Index alphabet, Index least, Index most = kUnbounded);

  Index alphabet() const { return static_cast<Index>(columns_.size()); }
  Index states() const { return static_cast<Index>(accepting_.size()); }
  Index transitions() const;                         ///< from state to state, those of a column counted once
  bool empty() const { return accepting_.empty(); }  ///< no sequence is allowed
  Index start() const { return empty() ? kDead : 0; }

  /// REQUIRES a symbol of the alphabet. From a dead state: kDead.
  Index next(Index state, Symbol symbol) const {
    return state < 0 ? kDead : next_[at(state * width_ + columns_[at(symbol)])];
  }
  bool accepts(Index state) const { return state >= 0 && accepting_[at(state)] != 0; }
  bool matches(std::span<const Symbol> symbols) const;

  Index width() const { return width_; }
  Index column(Symbol symbol) const { return columns_[at(symbol)]; }
  Index next_in_column(Index state, Index column) const { return next_[at(state * width_ + column)]; }

  /// Fewest and most symbols from a state, which is not dead, to an accepting one.
  Index least(Index state) const { return least_[at(state)]; }
  Index most(Index state) const { return most_[at(state)]; }
  /// Nothing may follow.
  bool ends(Index state) const { return most_[at(state)] == 0; }

  /// What may follow the symbols; empty where nothing that begins so is allowed.
  Automaton after(std::span<const Symbol> symbols) const;
  /// The fewest states that say the same, in the same order whatever they were made from.
  Automaton minimised() const;

  bool operator==(const Automaton&) const = default;

 private:
  Automaton() = default;
  Table table_from(Index state) const;
  void measure();

  std::vector<Index> columns_, next_, least_, most_;
  std::vector<char> accepting_;
  Index width_ = 0;
};

/// The sequences that both allow. REQUIRES one alphabet.
Automaton intersection(const Automaton& a, const Automaton& b);

}  // namespace unfold
