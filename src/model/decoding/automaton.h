#pragma once
/// Deterministic finite automata over the symbols of an alphabet. An automaton defines which sequences are allowed and
/// is evaluated symbol by symbol.
///
///   const Automaton pattern = compile_expression("(the|a) [a-z]+", alphabet);    // expression.h
///   Index state = pattern.start();
///   for (const Symbol x : text) state = pattern.next(state, x);                  // kDead: no allowed sequence begins
///   so pattern.accepts(state);
///
/// Only states that are reachable and from which an accepting state is reachable are kept, in the order of a traversal
/// from the start. Every state other than kDead can therefore be completed to an allowed sequence. Symbols that no
/// state distinguishes share a *column* of the table. Immutable.

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

  /// The input of the constructor: arbitrary states, of which the first is the start.
  struct Table {
    std::vector<Index> columns;   ///< column of each symbol of the alphabet
    Index width = 0;              ///< number of columns
    std::vector<Index> next;      ///< [states x width], kDead if there is no transition
    std::vector<char> accepting;  ///< whether each state is accepting
  };
  /// Removes unreachable and dead states.
  explicit Automaton(const Table& table);

  /// Returns an automaton that accepts every sequence of `least` to `most` symbols.
  static Automaton of_length(Index alphabet, Index least, Index most = kUnbounded);

  Index alphabet() const { return static_cast<Index>(columns_.size()); }
  Index states() const { return static_cast<Index>(accepting_.size()); }
  bool empty() const { return accepting_.empty(); }  ///< whether no sequence is allowed
  Index start() const { return empty() ? kDead : 0; }

  /// REQUIRES a symbol of the alphabet. The successor of kDead is kDead.
  Index next(Index state, Symbol symbol) const {
    return state < 0 ? kDead : next_[at(state * width_ + columns_[at(symbol)])];
  }
  bool accepts(Index state) const { return state >= 0 && accepting_[at(state)] != 0; }
  bool matches(std::span<const Symbol> symbols) const;

  Index width() const { return width_; }
  Index column(Symbol symbol) const { return columns_[at(symbol)]; }
  Index next_in_column(Index state, Index column) const { return next_[at(state * width_ + column)]; }

  /// Return the smallest and largest number of symbols from a state (not kDead) to an accepting state.
  Index least(Index state) const { return least_[at(state)]; }
  Index most(Index state) const { return most_[at(state)]; }
  /// Returns whether no symbol may follow.
  bool ends(Index state) const { return most_[at(state)] == 0; }

  /// Returns the allowed continuations after the given symbols; empty if no allowed sequence begins with them.
  Automaton after(std::span<const Symbol> symbols) const;
  /// Returns the minimal equivalent automaton, with a canonical order of states that does not depend on how this
  /// automaton was constructed.
  Automaton minimized() const;

  bool operator==(const Automaton&) const = default;

 private:
  Automaton() = default;
  Table table_from(Index state) const;
  void measure();

  std::vector<Index> columns_, next_, least_, most_;
  std::vector<char> accepting_;
  Index width_ = 0;
};

/// Returns an automaton for the sequences that both automata allow. REQUIRES the same alphabet.
Automaton intersection(const Automaton& a, const Automaton& b);

}  // namespace unfold
