#pragma once
/// Internal: data with fields as they come, example by example or, of a table, row by row: from a file, a pipe or
/// standard input that may never end. Memory is bounded by the longest example.

#include <deque>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "app/common/line_source.h"
#include "data/examples/specification.h"
#include "data/readers/example_reader.h"
#include "data/readers/reader_text.h"

namespace unfold {

/// What a stream gives as one piece.
enum class StreamPiece {
  example,  ///< a line, or a block of lines up to an empty one, or rows of a table that belong together
  row       ///< a row of a table; `begins` says whether a new sequence does
};

class FieldStream {
 public:
  /// Throws UsageError for formats that are not lines, and for a table without --sequences whose examples are asked
  /// for: it is one example that ends with the stream.
  /// `reach`: rows before the last one that `window` keeps.
  FieldStream(const std::string& path, ReaderOptions options, const DataSpecification& data, StreamPiece piece,
              Index reach = 0);

  /// The next piece as one example; false at the end. Waits for it. Every piece has the columns of the first one; what
  /// it lacks is missing. Throws DataError with the line of the stream.
  bool next(Examples& examples);
  bool begins() const { return begins_; }
  /// Of rows: the last one and those of its sequence before it, as one example.
  const Examples& window() const { return window_; }
  /// Whether the next line is already available.
  bool ready() const { return source_.ready(); }

 private:
  bool next_line(std::string& line);
  bool next_block(std::string& block);
  bool next_row(std::string& row);
  void read_ahead();
  bool next_rows(std::string& rows);
  std::string sequence_of(const Examples& examples) const;
  Examples read(const std::string& front, const std::string& text, Index line) const;
  Examples read_row(const std::string& row, Index line) const;
  void learn_header(const std::string& line);
  void complete(Examples& examples);
  void remark_once(Examples& piece);
  void note_sequence(Examples& piece);
  void remember(const Examples& row);

  LineSource source_;
  ReaderOptions options_;
  const DataSpecification& data_;
  StreamPiece piece_;
  Index reach_;
  Examples window_;
  std::string header_;     // the line that names columns, put before each piece
  std::string first_row_;  // of a table without such a line
  OpenQuotes quotes_;      // of a table: behind the header or the first row
  bool headed_ = false, one_column_ = false, begins_ = true, started_ = false, returned_ = false;
  std::set<std::string> remarked_;                   // remarks that were made
  std::unordered_set<std::size_t> ended_;            // of a table: hashes of the sequences so far
  Index line_ = 0, first_ = 0;                       // lines read; the first one of the piece
  std::string sequence_;                             // of a table: the sequence that the last row belongs to
  std::deque<std::pair<std::string, Index>> ahead_;  // rows that were read ahead, and where they begin
  std::vector<ExampleColumn> columns_;               // of the first piece, without entries
};

}  // namespace unfold
