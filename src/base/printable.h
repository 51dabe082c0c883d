#pragma once
/// Text that is safe to print. Names of files, labels, field names and arguments may hold any bytes, among them
/// sequences that a terminal would execute (colors, titles, cursor movements).
///
/// Control characters are the C0 set (below U+0020), DEL, the C1 set (U+0080 to U+009F), and bytes that are not valid
/// UTF-8, because a terminal may read those as C1. They are written as `\n`, `\t`, `\r`, `\x1B` (one byte) or `\u{9B}`
/// (a character of the C1 set), as Alphabet::name does.

#include <string>
#include <string_view>

namespace unfold {

/// Escapes control characters, line ends and tabs included. Backslashes stay as they are, so this is for whole lines
/// whose values are escaped already, and for display.
std::string escape_controls(std::string_view text);

/// Escapes control characters and backslashes, so that different values stay different: for labels, symbols and names.
std::string escape_value(std::string_view text);

/// Escapes what would break a cell of TSV: tab, line feed, carriage return and, so that cells stay different, the
/// backslash. All other bytes stay as they are.
std::string escape_cell(std::string_view text);

/// A value between quotation marks, for messages: escaped with `escape_value`, and without its middle where it is long.
std::string in_quotes(std::string_view text);

/// One line of a message: control characters escaped, words without a blank and the whole message of bounded length.
std::string bounded_message(std::string_view text);

/// Text on its way to a terminal, in pieces: as `escape_controls`, but line feeds and tabs are kept. A character may be
/// divided between two pieces.
class TerminalText {
 public:
  /// The printable form of everything up to the last whole character.
  std::string next(std::string_view piece);
  /// The printable form of the bytes of a character that was never completed.
  std::string finish();

 private:
  std::string pending_;  ///< the first bytes of a character
};

}  // namespace unfold
