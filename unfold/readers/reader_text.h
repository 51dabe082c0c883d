#pragma once
/// What the readers of text formats share: valid text, its lines, the numbers in it, running text as positions, and
/// messages that name file and line.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/text_encoding.h"
#include "unfold/readers/example_reader.h"

namespace unfold {

/// Throws DataError: file, line (from 1; 0: none) and what is wrong.
[[noreturn]] void refuse_data(const std::string& source, Index line, const std::string& what);

std::string_view without_blanks(std::string_view text);  ///< at both ends: space, tab, carriage return
bool ends_in(std::string_view name, std::initializer_list<std::string_view> endings);

/// The text of an input in UTF-8, without byte order mark. Where it is not valid UTF-8 it is read as ISO-8859-1, in
/// which every byte is a character, and `remark` says so.
class ReaderText {
 public:
  /// Throws DataError where it holds a byte 0, which no text does.
  explicit ReaderText(const Input& input);
  ReaderText(const ReaderText&) = delete;
  ReaderText& operator=(const ReaderText&) = delete;

  std::string_view text() const { return text_; }
  const std::string& source() const { return source_; }
  /// No example yet, but source and remark.
  Examples no_examples() const;

 private:
  std::string source_, converted_, remark_;
  std::string_view text_;
};

/// Line after line, without line ends (LF or CRLF): for (ReaderLines lines(text); lines.next();) lines.line();
class ReaderLines {
 public:
  explicit ReaderLines(std::string_view text) : rest_(text) {}
  bool next();
  std::string_view line() const { return line_; }
  Index number() const { return number_; }  ///< from 1

 private:
  std::string_view rest_, line_;
  Index number_ = 0;
};

/// Appends the parts of a line between its tabs, or between runs of blanks.
void split_at(std::string_view line, char separator, std::vector<std::string_view>& out);
void split_at_blanks(std::string_view line, std::vector<std::string_view>& out);

/// A text as a number: with a point, an exponent, a sign, blanks around it.
struct NumberText {
  enum class Kind { none, missing, infinite, number };
  Kind kind = Kind::none;
  double value = 0;
};
/// Missing: nothing, NA, NaN, ?. Infinite: inf, infinity and what is larger than numbers can be.
NumberText number_of(std::string_view text);

/// Whether a table that is read line by line goes on in the middle of a cell in quotes. Which separator it has follows
/// from its first rows, so all are tried; each line is read once, however many lines a cell has.
class OpenQuotes {
 public:
  OpenQuotes();
  OpenQuotes(const OpenQuotes&);
  OpenQuotes& operator=(const OpenQuotes&);
  ~OpenQuotes();

  void add(std::string_view line);  ///< REQUIRES: it ends in its line end
  bool inside() const;

 private:
  struct Candidate;
  std::vector<Candidate> candidates_;
  std::string text_;
  char fallback_ = '\0';  ///< the separator if none gives all rows the same number of cells
};

/// What the options ask of a column.
enum class WantedEntries { as_they_look, texts, numbers };
WantedEntries wanted_entries(const ReaderOptions& options, const std::string& column);

/// A column of `texts` as numbers, one an entry. Throws DataError naming the line, lines[i], of what is no number or
/// infinite.
ExampleColumn number_column(const std::string& source, std::string name, const std::vector<std::string_view>& texts,
                            const std::vector<Index>& lines);
/// Marks the last entry of a column as missing, or not; flags are made when the first one is missing.
void mark_entry(ExampleColumn& column, bool missing);

/// Why a line of pairs does not go with those before it, which have `targets` or none.
const char* unlike_pairs(bool targets);

/// Running texts as positions, by the options.
class TextPositions {
 public:
  /// Reads of `texts` only how many words they have, to choose.
  TextPositions(const std::vector<std::string_view>& texts, const ReaderOptions& options);
  /// Appends the symbols of a text.
  void append(std::string_view text, std::vector<std::string>& out) const;
  bool characters() const { return kind_ != SymbolKind::words; }

 private:
  SymbolKind kind_;
};

}  // namespace unfold
