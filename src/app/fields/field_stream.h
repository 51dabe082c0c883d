#pragma once
/// Internal: streaming reader for data with fields, example by example or, for a table, row by row, from a file, a pipe
/// or standard input that may never end. Memory is bounded by the longest example.

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "app/common/line_source.h"
#include "app/common/reporter.h"
#include "data/readers/example_reader.h"
#include "data/readers/open_quotes.h"
#include "unfold/data/examples/specification.h"

namespace unfold {

/// The unit that a stream returns as one piece.
enum class StreamPiece {
  example,  ///< a line, or a block of lines up to an empty one, or rows of a table that belong together
  row       ///< a row of a table; `begins`: whether it begins a new sequence
};

class FieldStream {
 public:
  /// Throws UsageError for formats that do not consist of lines, and if examples of a table without --sequences are
  /// requested, because such a table is a single example that ends with the stream. `reach`: rows before the last one
  /// that `window` keeps. `reporter` receives a warning for each row that BadRows::skip leaves out; may be null.
  FieldStream(const std::string& path, ReaderOptions options, const DataSpecification& data, StreamPiece piece,
              Index reach = 0, Reporter* reporter = nullptr);

  /// Waits for the next piece and reads it as one example; returns false at the end. Every piece has the columns of the
  /// first one; absent columns are missing values. Throws a DataError that names the line of the stream.
  bool next(Examples& examples);
  bool begins() const { return begins_; }
  /// For rows: the last row and the preceding rows of its sequence, as one example.
  const Examples& window() const { return window_; }
  /// Returns whether the next line is already available.
  bool ready() const { return source_.ready(); }

 private:
  bool next_line(std::string& line);
  bool next_block(std::string& block);
  bool next_row(std::string& row);
  void read_ahead();
  void read_record();
  bool next_rows(std::string& rows);
  std::string sequence_of(const Examples& examples) const;
  Examples read(const std::string& front, const std::string& text, Index line) const;
  Examples read_row(const std::string& row, Index line) const;
  bool read_or_skip(const std::function<Examples()>& read_one, Examples& examples) const;
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
  Reporter* reporter_;
  bool skips_bad_rows_;
  Examples window_;
  std::string header_;     // the header line, which is prepended to each piece
  std::string first_row_;  // first row of a table without a header line
  OpenQuotes quotes_;      // for a table: the state of quotes after the header or first row
  bool headed_ = false, one_column_ = false, begins_ = true, started_ = false, returned_ = false;
  std::set<std::string> remarked_;                   // notes that were already reported
  std::unordered_set<std::size_t> ended_;            // for a table: hashes of the sequences so far
  Index line_ = 0, first_ = 0;                       // number of lines read; first line of the piece
  std::string sequence_;                             // for a table: the sequence of the last row
  std::deque<std::pair<std::string, Index>> ahead_;  // rows that were read ahead, and where they begin
  std::vector<ExampleColumn> columns_;               // columns of the first piece, without entries
};

}  // namespace unfold
