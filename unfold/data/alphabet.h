#pragma once
/// Alphabets: which symbols there are, and how text becomes symbols and symbols become text.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/base/file.h"
#include "unfold/base/types.h"
#include "unfold/data/code_map.h"

namespace unfold {

/// What counts as one symbol.
///  - bytes: every byte. Nothing is unknown and nothing is invalid.
///  - chars: Unicode characters (code points) of UTF-8 text, line ends included.
///  - words: runs of anything but blanks (space, tab, carriage return) in UTF-8 text; each line end is the symbol
///    `<eos>`. The literal word `<unk>` is that symbol; the literal word `<eos>` is refused, or unknown (words.h).
///  - entries: what stands in a field of an example, whole: any UTF-8 text that is not empty. Not for running text:
///    such an alphabet finds and names symbols, and does not encode.
///  - hashed: the same, in a given number of symbols that texts share by their hash; none is unknown, none is kept.
enum class SymbolKind { bytes, chars, words, entries, hashed };

/// "bytes", "chars", "words": the kinds of running text. Throws UsageError suggesting the nearest name.
SymbolKind parse_symbol_kind(std::string_view name);
std::string_view to_string(SymbolKind kind);

/// What to do with a symbol that an alphabet lacks. Words go to `<unk>` where the alphabet has it, whatever the policy.
enum class UnknownPolicy {
  error,  ///< DataError naming the file, the line, the symbol and the remedy
  skip    ///< leave it out and count it
};
/// "error", "skip". Throws UsageError suggesting the nearest name.
UnknownPolicy parse_unknown_policy(std::string_view name);

inline constexpr std::string_view kLineEndWord = "<eos>";
inline constexpr std::string_view kUnknownWord = "<unk>";

/// A fixed, ordered set of symbols. Immutable.
class Alphabet {
 public:
  Alphabet() = default;  ///< bytes, of size 0
  /// The symbols in the order of their numbers: for bytes one byte each, for chars one UTF-8 character each, for words
  /// valid UTF-8 without blanks and line ends; entries: valid UTF-8. Throws ModelError when one is malformed or occurs
  /// twice, when there are none, or when a words alphabet lacks `<eos>`.
  Alphabet(SymbolKind kind, std::vector<std::string> texts);
  /// All 256 bytes, by value.
  static Alphabet all_bytes();
  /// 2^bits symbols, called "#0", "#1", ..., for texts by their hash (Weinberger et al. 2009). Throws ModelError unless
  /// bits is from 1 to kMostHashBits.
  static Alphabet hashed(Index bits);
  static constexpr Index kMostHashBits = 24;
  /// The distinct characters of a UTF-8 text, by code point. Throws DataError when the text is invalid or empty.
  static Alphabet chars_of(std::string_view text);

  SymbolKind kind() const { return kind_; }
  Index size() const { return static_cast<Index>(texts_.size()); }
  Symbol unknown() const { return unknown_; }    ///< `<unk>` of words or entries; kNoSymbol where there is none
  Symbol line_end() const { return line_end_; }  ///< `<eos>` or the newline; kNoSymbol where there is none

  /// The exact text: the byte, the character in UTF-8, the word; "\n" for `<eos>`.
  std::string_view text(Symbol symbol) const;
  /// One printable word in valid UTF-8, free of blanks and control characters, different for each symbol: `a`, `\n`,
  /// `\s` (space), `\\`, `\xE9` (byte), `\u{A0}` (character), `<eos>`.
  std::string name(Symbol symbol) const;
  /// The symbol with this exact text (words: `<eos>` or "\n" for the line end); kNoSymbol if there is none.
  Symbol find(std::string_view text) const;
  /// The symbol that a user means: its exact text or its printable name. Throws UsageError suggesting the nearest.
  Symbol parse(std::string_view text_or_name) const;

  /// A text as symbols. The words of an unfinished last line are not followed by `<eos>`. Unknown symbols as `policy`
  /// says; DataError for text that is not valid UTF-8 (chars, words).
  std::vector<Symbol> encode(std::string_view text, UnknownPolicy policy = UnknownPolicy::error) const;
  /// The text of symbols. Words are joined by single blanks, none at the start of a line. `previous` is the symbol that
  /// stood before, so that a text can be decoded piece by piece.
  std::string decode(std::span<const Symbol> symbols, Symbol previous = kNoSymbol) const;

  /// {"kind": "bytes", "symbols": [0, 1, ...]}, {"kind": "chars", "symbols": "\n !abc"} or
  /// {"kind": "words", "symbols": ["<eos>", "the", ...]}; entries as words; {"kind": "hashed", "symbols": BITS}.
  nlohmann::json to_json() const;
  /// Throws ModelError naming the key that is missing, unknown or malformed.
  static Alphabet from_json(const nlohmann::json& json);

  friend bool operator==(const Alphabet& a, const Alphabet& b) { return a.kind_ == b.kind_ && a.texts_ == b.texts_; }

  /// One step of the tokeniser: the symbol found from `position` on, which is advanced behind it.
  struct Token {
    Symbol symbol;          ///< kNoSymbol when the alphabet lacks it
    std::string_view text;  ///< its text in the source; empty when only blanks were left
    bool known;             ///< false where the symbol is `<unk>` in the place of a word that the alphabet lacks
  };
  /// `text` must be valid UTF-8 for chars and words, `position` must lie within it.
  Token next_token(std::string_view text, Index& position) const;
  /// A token's text as `name` says it, whatever its bytes.
  std::string shown(const Token& token) const;
  /// The error for an unknown token of `text`: "WHERE: symbol, offset, line, remedy".
  DataError unknown_symbol_error(const Token& token, std::string_view text, const std::string& where) const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  SymbolKind kind_ = SymbolKind::bytes;
  std::vector<std::string> texts_;
  CodeMap by_code_;  ///< bytes, chars: symbol by byte or code point
  std::unordered_map<std::string, Symbol, TextHash, std::equal_to<>> words_;  ///< and entries
  Symbol unknown_ = kNoSymbol, line_end_ = kNoSymbol;
};

struct AlphabetOptions {
  SymbolKind kind = SymbolKind::chars;
  /// Words only: the most symbols the alphabet may have, `<eos>` and `<unk>` included; at least 2. The most frequent
  /// are kept, the others become `<unk>`. 0: no limit.
  Index vocabulary = 0;
  /// Words only: an `<unk>` even if nothing was cut.
  bool with_unknown = false;
};

/// The alphabet of some inputs, in an order that depends on their contents only: all 256 bytes by value; characters by
/// code point; words (`<eos>` and `<unk>` among them) by falling frequency, equal ones by their bytes, where `<unk>`
/// counts all the words that it stands for. Throws DataError (invalid UTF-8, nothing there) and UsageError (a
/// vocabulary without words, or too small).
Alphabet build_alphabet(std::span<const Input> inputs, const AlphabetOptions& options);
Alphabet build_alphabet(const std::vector<std::string>& files, const AlphabetOptions& options);

/// Throws UsageError: a vocabulary without words, or too small.
void require_alphabet_options(const AlphabetOptions& options);

/// The same of what was counted before: how often each word stands there, line ends as `<eos>`; or the code points.
Alphabet alphabet_of_words(std::unordered_map<std::string_view, Index> counts, const AlphabetOptions& options);
Alphabet alphabet_of_chars(const CodeMap& seen);

/// The next word of a text, or "\n" for a line end; empty when only blanks are left.
std::string_view next_word(std::string_view text, Index& position);

/// "WHERE byte 0xFF at offset N (line L) is not valid UTF-8; ...".
DataError invalid_utf8_error(std::string_view where, char byte, Index offset, Index line);

/// Throws DataError "FILE: byte 0xFF at offset N (line L) is not valid UTF-8; ..." unless the input is valid UTF-8.
void require_utf8(const Input& input);

}  // namespace unfold
