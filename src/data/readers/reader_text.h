#pragma once
/// Shared functions of the readers of text formats: decoding, lines, numbers, and running text as positions.

#include <string>
#include <string_view>
#include <vector>

#include "base/formats/text_encoding.h"
#include "data/examples/mark_entry.h"
#include "data/files/line_parts.h"
#include "data/readers/example_reader.h"
#include "data/schema/table_layout.h"

namespace unfold {

bool ends_in(std::string_view name, std::initializer_list<std::string_view> endings);

/// Returns bytes as UTF-8: unchanged if they are valid UTF-8, otherwise decoded as Windows-1252, which contains all
/// characters of ISO-8859-1.
std::string in_utf8(std::string_view bytes);

/// Returns the text of an input in UTF-8, without a byte order mark. If it is not valid UTF-8, it is decoded like
/// in_utf8, and `remark` is set to a note about this, which names ISO-8859-1 if no further characters occur.
class ReaderText {
 public:
  /// Throws DataError if the input contains a zero byte, since it is then not text.
  explicit ReaderText(const Input& input);
  ReaderText(const ReaderText&) = delete;
  ReaderText& operator=(const ReaderText&) = delete;

  std::string_view text() const { return text_; }
  /// Like the function above, but before any conversion, for file names, which need not be UTF-8.
  std::string_view bytes() const { return bytes_; }
  const std::string& source() const { return source_; }
  /// Returns an empty set of examples with source and remark set.
  Examples no_examples() const;

 private:
  std::string source_, converted_, remark_;
  std::string_view text_, bytes_;
};

/// Iterates over lines without line endings: for (ReaderLines lines(text); lines.next();) lines.line();
/// Line endings are LF and CRLF, or CR alone if the text has no LF.
class ReaderLines {
 public:
  explicit ReaderLines(std::string_view text) : rest_(text), line_end_(line_end_of(text)) {}
  bool next();
  std::string_view line() const { return line_; }
  Index number() const { return number_; }  ///< from 1

 private:
  std::string_view rest_, line_;
  char line_end_;
  Index number_ = 0;
};

/// The result of parsing a number, with decimal point, exponent and sign, and with surrounding blanks ignored.
struct NumberText {
  enum class Kind { none, missing, infinite, number };
  Kind kind = Kind::none;
  double value = 0;
};
/// missing: empty, NA, NaN, ?. infinite: inf, infinity, and overflow.
NumberText number_of(std::string_view text);

/// The type that the options request for a column.
enum class RequestedType { as_they_look, texts, numbers };
RequestedType requested_type(const ReaderOptions& options, const std::string& column);

/// Converts a column of `texts` to numbers, one per entry. Throws a DataError that names the line, lines[i], of an
/// entry that is not a number or is infinite.
ExampleColumn number_column(const std::string& source, std::string name, const std::vector<std::string_view>& texts,
                            const std::vector<Index>& lines);

/// Returns the error message for a line of pairs that does not match the preceding lines, which either have `targets`
/// or have none.
const char* pair_mismatch(bool targets);

/// Splits running texts into positions according to the options.
class TextPositions {
 public:
  /// `texts` are only used to choose between words and characters by their word counts.
  TextPositions(const std::vector<std::string_view>& texts, const ReaderOptions& options);
  explicit TextPositions(SymbolKind kind) : kind_(kind) {}
  /// Returns whether texts with this number of words in total are names, which are read as characters.
  static bool are_names(Index words, Index texts);
  /// Appends the symbols of a text.
  void append(std::string_view text, TextList& out) const;
  bool characters() const { return kind_ != SymbolKind::words; }

 private:
  SymbolKind kind_;
};

}  // namespace unfold
