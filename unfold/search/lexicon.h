#pragma once
/// Texts of the words of a list alone.
///
/// Of characters and bytes: words of the list, exactly as they stand there, with at least one separator between two. A
/// separator is an ASCII character that is neither letter nor digit and that no word of the list holds; so ' and - are
/// parts of words where the list has words with them. Anything beyond ASCII is a part of words. Of alphabets of words:
/// any words of the list and line ends, in any order.

#include <string>
#include <vector>

#include "unfold/data/alphabet.h"
#include "unfold/search/automaton.h"

namespace unfold {

struct WordList {
  std::vector<std::string> words = {};
  /// A word a line, blanks around it removed, empty lines left out. Throws DataError naming file and line for a word
  /// with a blank in it, and for a file without words.
  static WordList read(const std::string& file);
};

struct Lexicon {
  Automaton automaton;
  Index left_out = 0;  ///< words with symbols that the alphabet lacks
};

/// Throws UsageError where the alphabet can spell no word of the list.
Lexicon lexicon_of(const WordList& list, const Alphabet& alphabet);
/// What may follow a text whose last word, if it is not over, has begun as a word of the list does. Throws UsageError
/// where none begins so.
Automaton continue_lexicon(const Automaton& lexicon, std::span<const Symbol> text);

}  // namespace unfold
