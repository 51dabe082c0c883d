#pragma once
/// Text that is safe to print. File names, labels, field names and arguments may contain any bytes, including escape
/// sequences that a terminal would execute (colors, titles, cursor movements).
///
/// Control characters are the C0 set (below U+0020), DEL, the C1 set (U+0080 to U+009F), and bytes that are not valid
/// UTF-8, because a terminal may read those as C1. They are written as `\n`, `\t`, `\r`, `\x1B` (one byte) or `\u{9B}`
/// (a character of the C1 set), as Alphabet::name does.

#include <string>
#include <string_view>

namespace unfold {

/// Escapes control characters, including newlines and tabs. Backslashes are not changed, so this function is for
/// display and for whole lines whose values have already been escaped.
std::string escape_controls(std::string_view text);

/// Escapes control characters and backslashes, so that different values remain different; for labels, symbols and
/// names.
std::string escape_value(std::string_view text);

/// Escapes the characters that would break a TSV cell: tab, line feed, carriage return and, so that cells remain
/// different, the backslash. All other bytes are unchanged.
std::string escape_cell(std::string_view text);

/// Returns a value in quotation marks, for messages: escaped with `escape_value`; the middle of a long value is
/// omitted.
std::string in_quotes(std::string_view text);

/// Returns one line of a message, with control characters escaped. The length of the message, and of each word in it,
/// is bounded.
std::string bounded_message(std::string_view text);

/// Escapes text that is written to a terminal in pieces: like `escape_controls`, but keeps line feeds and tabs. A
/// character may be split between two pieces.
class TerminalText {
 public:
  /// Returns the printable form of the input up to the last complete character.
  std::string next(std::string_view piece);
  /// Returns the printable form of the bytes of a character that was never completed.
  std::string finish();

 private:
  std::string pending_;  ///< the first bytes of a character
};

}  // namespace unfold
