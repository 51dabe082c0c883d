#pragma once
/// Alphabets: fixed sets of symbols, with conversion between text and symbols.
///
///   const Alphabet alphabet = Alphabet::chars_of(text);
///   const std::vector<Symbol> symbols = alphabet.encode(text);   // DataError for a symbol that is not in the alphabet
///   alphabet.decode(symbols) == text

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/types.h"
#include "unfold/data/text/code_map.h"
#include "unfold/data/text/text_index.h"

namespace unfold {

/// The unit of text that is one symbol.
///   - bytes: every byte. There are no unknown or invalid symbols.
///   - chars: Unicode characters (code points) of UTF-8 text, including line endings.
///   - words: sequences of non-blank characters (blanks: space, tab, carriage return) in UTF-8 text; each line ending
///     is the symbol `<eos>`. The literal words `<eos>` and `<unk>` in a text are those symbols.
///   - entries: the whole text of a field of an example: any non-empty UTF-8 text. Not for running text: such an
///     alphabet finds and names symbols, and does not encode.
/// - hashed: like entries, but hashed into a fixed number of symbols; no string is unknown, and strings are not stored.
enum class SymbolKind { bytes, chars, words, entries, hashed };

/// Parses "bytes", "chars" or "words", the kinds for running text. Throws a UsageError that suggests the nearest name.
SymbolKind parse_symbol_kind(std::string_view name);
std::string_view to_string(SymbolKind kind);

/// How to treat a symbol that is not in the alphabet. Words are replaced with `<unk>` if the alphabet has it,
/// regardless of the policy.
enum class UnknownPolicy {
  error,  ///< throws a DataError with the file, the line, the symbol and the remedy
  skip    ///< leaves the symbol out and counts it
};
/// Parses "error" or "skip". Throws a UsageError that suggests the nearest name.
UnknownPolicy parse_unknown_policy(std::string_view name);

inline constexpr std::string_view kLineEndWord = "<eos>";
inline constexpr std::string_view kUnknownWord = "<unk>";

/// A fixed, ordered set of symbols. Immutable.
class Alphabet {
 public:
  Alphabet() = default;  ///< a byte alphabet, of size 0
  /// The symbols in order: for bytes one byte each, for chars one UTF-8 character each, for words valid UTF-8 without
  /// blanks and line endings, for entries valid UTF-8. Throws ModelError if a symbol is malformed or occurs twice, if
  /// there are none, or if a words alphabet does not contain `<eos>`.
  Alphabet(SymbolKind kind, std::vector<std::string> texts);
  /// Returns all 256 bytes, by value.
  static Alphabet all_bytes();
  /// 2^bits symbols, named "#0", "#1", ..., to which strings are mapped by their hash (Weinberger et al. 2009). Throws
  /// ModelError unless bits is from 1 to kMostHashBits.
  static Alphabet hashed(Index bits);
  static constexpr Index kMostHashBits = 24;
  /// Returns the distinct characters of a UTF-8 text, by code point. Throws DataError if the text is invalid or empty.
  static Alphabet chars_of(std::string_view text);

  SymbolKind kind() const { return kind_; }
  Index size() const { return static_cast<Index>(texts_.size()); }
  Symbol unknown() const { return unknown_; }    ///< `<unk>` for words or entries; kNoSymbol if there is none
  Symbol line_end() const { return line_end_; }  ///< `<eos>` or the newline; kNoSymbol if there is none

  /// Returns the exact text of a symbol: the byte, the character in UTF-8, the word; "\n" for `<eos>`.
  std::string_view text(Symbol symbol) const;
  /// Returns a printable name in valid UTF-8, without blanks and control characters and unique within the alphabet:
  /// `a`, `\n`, `\s` (space), `\\`, `\xE9` (byte), `\u{A0}` (character), `<eos>`.
  std::string name(Symbol symbol) const;
  /// Returns the symbol with this exact text (words: `<eos>` or "\n" for the newline); kNoSymbol if there is none.
  Symbol find(std::string_view text) const;
  /// Parses user input: the exact text of a symbol or its printable name. Throws a UsageError that suggests the nearest
  /// one.
  Symbol parse(std::string_view text_or_name) const;

  /// Converts a text to symbols. The last word is not followed by `<eos>` if the last line has no line ending. Unknown
  /// symbols are treated according to `policy`. Throws DataError for text that is not valid UTF-8 (chars, words).
  std::vector<Symbol> encode(std::string_view text, UnknownPolicy policy = UnknownPolicy::error) const;
  /// Converts symbols to text. Words are joined by single blanks, with none at the beginning of a line. `previous` is
  /// the preceding symbol, so that a text can be decoded piece by piece.
  std::string decode(std::span<const Symbol> symbols, Symbol previous = kNoSymbol) const;

  /// {"kind": "bytes", "symbols": [0, 1, ...]}, {"kind": "chars", "symbols": "\n !abc"} or
  /// {"kind": "words", "symbols": ["<eos>", "the", ...]}; entries have the same form as words; {"kind": "hashed",
  /// "symbols": BITS}.
  nlohmann::json to_json() const;
  /// Throws a ModelError that names the key that is missing, unknown or malformed.
  static Alphabet from_json(const nlohmann::json& json);

  friend bool operator==(const Alphabet& a, const Alphabet& b) { return a.kind_ == b.kind_ && a.texts_ == b.texts_; }

  /// The symbol that one step of the tokenizer finds at `position`, which is advanced past it.
  struct Token {
    Symbol symbol;          ///< kNoSymbol if it is not in the alphabet
    std::string_view text;  ///< its text in the source; empty if only blanks were left
    bool known;             ///< false if the symbol is `<unk>` in place of a word that is not in the alphabet
  };
  /// `text` must be valid UTF-8 for chars and words; `position` must lie within it.
  Token next_token(std::string_view text, Index& position) const;
  /// Formats the text of a token like `name`, for any bytes.
  std::string shown(const Token& token) const;
  /// Returns the error for an unknown token of `text`: "WHERE: symbol, offset, line, remedy".
  DataError unknown_symbol_error(const Token& token, std::string_view text, const std::string& where) const;

 private:
  SymbolKind kind_ = SymbolKind::bytes;
  std::vector<std::string> texts_;
  CodeMap by_code_;  ///< bytes, chars: maps a byte or code point to its symbol
  TextIndex words_;  ///< words, entries: maps a text to its symbol
  Symbol unknown_ = kNoSymbol, line_end_ = kNoSymbol;
};

struct AlphabetOptions {
  SymbolKind kind = SymbolKind::chars;
  /// Words only: the maximum size of the alphabet, including `<eos>` and `<unk>`; at least 2. The most frequent words
  /// are kept, the others become `<unk>`. 0: no limit.
  Index vocabulary = 0;
  /// Words only: include `<unk>` even if no word was dropped.
  bool with_unknown = false;
};

/// Builds the alphabet of some inputs, in an order that depends only on their contents: all 256 bytes by value;
/// characters by code point; words (including `<eos>` and `<unk>`) by descending frequency, with ties ordered by their
/// bytes, where the count of `<unk>` is the total count of all words that it replaces. Throws DataError (invalid UTF-8,
/// no data) and UsageError (a vocabulary for a kind other than words, or one that is too small).
Alphabet build_alphabet(std::span<const Input> inputs, const AlphabetOptions& options);
Alphabet build_alphabet(const std::vector<std::string>& files, const AlphabetOptions& options);

/// Throws UsageError for a vocabulary with a kind other than words, or one that is too small.
void require_alphabet_options(const AlphabetOptions& options);

/// Like build_alphabet, but from counts or code points that were collected earlier; line endings are counted as
/// `<eos>`.
Alphabet alphabet_of_words(std::unordered_map<std::string_view, Index> counts, const AlphabetOptions& options);
Alphabet alphabet_of_chars(const CodeMap& seen);

/// Returns the next word of a text, or "\n" for a newline; empty if only blanks are left.
std::string_view next_word(std::string_view text, Index& position);

/// Returns the error "WHERE byte 0xFF at offset N (line L) is not valid UTF-8; ...".
DataError invalid_utf8_error(std::string_view where, char byte, Index offset, Index line);

/// Throws DataError "FILE: byte 0xFF at offset N (line L) is not valid UTF-8; ..." unless the input is valid UTF-8.
void require_utf8(const Input& input);

}  // namespace unfold
