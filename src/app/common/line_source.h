#pragma once
/// Streaming reader for the lines of a file, standard input or a pipe.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "unfold/base/formats/file.h"
#include "unfold/base/types.h"

namespace unfold {

class LineSource {
 public:
  static constexpr std::size_t kMostBeforeLineEnd = std::size_t{1} << 20;
  /// Opens a file; "-" is standard input. Compressed files are decompressed completely. Throws DataError.
  explicit LineSource(const std::string& path);
  /// Reads lines from input that is already in memory.
  explicit LineSource(Input input);
  ~LineSource();
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// Sets `line` to the next line without its line ending; returns false at the end. `line` is valid until the next
  /// call. Throws DataError for empty input and read errors.
  bool next(std::string_view& line);
  /// Also accepts CR line endings, in a file without LF. Call it before `next`. A pipe is read to its end, or up to
  /// kMostBeforeLineEnd bytes, before CR is considered a line ending.
  void accept_carriage_returns() { accepts_returns_ = true; }
  /// Sets the line ending of a file that is continued: LF or CR.
  void set_line_end(char line_end) { line_end_ = line_end; }
  char line_end() const { return line_end_; }
  /// Skips the first bytes of a file (counted after decompression). Call it before `next`.
  void skip(Index bytes);
  /// Returns whether the last line returned by `next` had a line ending, which may be missing only in the last line of
  /// a file.
  bool line_ended() const { return line_ended_; }
  /// Returns whether `next` can return without waiting for input.
  bool ready() const;
  /// Returns whether the beginning of the next line was read, but not its end.
  bool within_line() const { return !rest_.empty() && !ready(); }
  /// Waits until there is more input or the input has ended; returns false if neither happens within `longest`.
  bool wait(std::chrono::milliseconds longest) const;
  const std::string& name() const { return name_; }

 private:
  bool fill();
  bool finds_carriage_returns(std::size_t searched, bool ended);

  std::string name_;
  std::optional<Input> whole_;
  std::string_view rest_;  // part of `whole_` or of `buffer_`
  std::string buffer_;
  int descriptor_ = -1;
  bool ended_ = false, any_ = false, line_ended_ = true, accepts_returns_ = false;
  char line_end_ = '\n';
};

}  // namespace unfold
