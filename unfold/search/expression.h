#pragma once
/// Regular expressions over the symbols of an alphabet.
///
///   Automaton pattern = compile_expression("[A-Z][a-z]+( [A-Z][a-z]+){1,2}\\n", alphabet);
///
/// The whole sequence must match. Of both spellings:
///
///   A B  one after the other       A|B  one of them         (A)  a group
///   A*   any number, also none     A+   at least one        A?   one or none
///   A{3} three    A{2,} at least two    A{2,5} two to five
///   .    any symbol but a line end
///
/// *Characters* (alphabets of bytes and characters): everything else stands for itself, blanks too.
///
///   [a-z_]  one of these     [^a-z]  any but these, and no line end
///   \d digit, \w letter, digit, _ or anything beyond ASCII, \s blank; \D, \W, \S: any but these
///   \n \t \r; \xE9, \u{1F600} by their number; \ before a sign of the above: the sign itself
///   In bytes, what is beyond ASCII is several bytes, one after the other; in [] only \xE9 names such a byte.
///
/// *Symbols* (words, labels): names between blanks, as [B-NP I-NP] or (the|a) cat.
///
///   [A B C]  one of these       [^A B]  any but these, and no line end
///   [B-...]  in brackets, a name that ends with three dots: all symbols that begin so
///   'a b'    in quotes, signs and blanks belong to the name: '.' is the full stop; \ before a sign does the same
///   \n       the line end of words
///
/// Errors are UsageErrors that name the position (characters from 1) and the remedy. A symbol that the alphabet lacks
/// is an error, too, but within a range or a kind of characters of which others are there.

#include <optional>
#include <string_view>
#include <vector>

#include "unfold/data/alphabet.h"
#include "unfold/search/automaton.h"

namespace unfold {

enum class ExpressionSpelling { characters, symbols };

struct ExpressionOptions {
  /// Unless it is said: characters for bytes and characters, symbols for others.
  std::optional<ExpressionSpelling> spelling = {};
  std::vector<Symbol> never = {};  ///< symbols that no expression means, as the end of targets
  Index most_states = 20'000;
};

Automaton compile_expression(std::string_view text, const Alphabet& alphabet, const ExpressionOptions& options = {});

/// Whether all symbols but the named ones are single characters.
bool spells_characters(const Alphabet& alphabet, const std::vector<Symbol>& without = {});

}  // namespace unfold
