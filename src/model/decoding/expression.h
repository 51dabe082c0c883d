#pragma once
/// Regular expressions over the symbols of an alphabet.
///
///   Automaton pattern = compile_expression("[A-Z][a-z]+( [A-Z][a-z]+){1,2}\\n", alphabet);
///
/// The whole sequence must match. Syntax common to both spellings:
///
///   A B  concatenation             A|B  alternatives        (A)  group
///   A*   zero or more              A+   one or more         A?   zero or one
///   A{3} exactly three    A{2,} at least two    A{2,5} two to five
///   .    any symbol except a newline
///
/// *Characters* (byte and character alphabets): every other character matches itself, including blanks.
///
///   [a-z_]  one of these     [^a-z]  any except these and a newline
///   \d digit, \w letter, digit, _ or anything beyond ASCII, \s blank; \D, \W, \S: any except these
///   \n \t \r; \xE9, \u{1F600} by number; \ before a special character: the character itself
///
/// In byte alphabets, a character beyond ASCII is a sequence of bytes; inside [] only \xE9 names such a byte.
///
/// *Symbols* (words, labels): names separated by blanks, such as [B-NP I-NP] or (the|a) cat.
///
///   [A B C]  one of these       [^A B]  any except these and a newline
///   [B-...]  in brackets, a name that ends with three dots: all symbols with this prefix
///   'a b'    in quotes, special characters and blanks are part of the name: '.' is the period; \ before a character
///            does the same
///   \n       the newline symbol of a word model
///
/// Errors are UsageErrors that give the position (in characters, from 1) and the remedy. A symbol that is not in the
/// alphabet is also an error, except in a range or a character class that contains other symbols of the alphabet.

#include <optional>
#include <string_view>
#include <vector>

#include "model/decoding/automaton.h"
#include "unfold/data/text/alphabet.h"

namespace unfold {

enum class ExpressionSpelling { characters, symbols };

struct ExpressionOptions {
  /// If empty: characters for byte and character alphabets, symbols for other alphabets.
  std::optional<ExpressionSpelling> spelling = {};
  std::vector<Symbol> never = {};  ///< symbols that no expression matches, such as the end of targets
  Index most_states = 20'000;
};

Automaton compile_expression(std::string_view text, const Alphabet& alphabet, const ExpressionOptions& options = {});

/// Returns whether all symbols except the given ones are single characters.
bool spells_characters(const Alphabet& alphabet, const std::vector<Symbol>& without = {});

}  // namespace unfold
