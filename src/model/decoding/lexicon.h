#pragma once
/// Automata that allow only texts composed of the words of a list.
///
/// For character and byte alphabets, a text consists of words of the list, in the exact spelling, with at least one
/// separator between two words. A separator is an ASCII character that is neither a letter nor a digit and does not
/// occur in any word of the list, so ' and - are part of words if words of the list contain them. Characters beyond
/// ASCII are part of words. For word alphabets, a text consists of words of the list and line endings, in any order.

#include <string>
#include <vector>

#include "model/decoding/automaton.h"
#include "unfold/data/text/alphabet.h"

namespace unfold {

struct WordList {
  std::vector<std::string> words = {};
  /// Reads a file with one word per line; surrounding blanks are removed and empty lines skipped. Throws DataError with
  /// file and line for a word that contains a blank, and for a file without words.
  static WordList read(const std::string& file);
};

struct Lexicon {
  Automaton automaton;
  Index left_out = 0;  ///< number of words with symbols that are not in the alphabet
};

/// Throws UsageError if the alphabet cannot spell any word of the list.
Lexicon lexicon_of(const WordList& list, const Alphabet& alphabet);
/// Returns the allowed continuations of a text whose last word may be incomplete. Throws UsageError if no word of the
/// list begins with it.
Automaton continue_lexicon(const Automaton& lexicon, std::span<const Symbol> text);

}  // namespace unfold
