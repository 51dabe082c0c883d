#pragma once
/// The lines of a log that is read in several runs (`score --state`). Every line is returned once, even if the log was
/// rotated between two runs.
///
///   LogInput input("app.log");
///   for (const std::string& note : input.continue_after(position)) remark(note);   // or open(), without a state
///   for (std::string_view line; input.next(line);) use(line, input.position());
///
/// A position is identified by the device and inode of the file and by the bytes before it. If the file was renamed,
/// compressed, or copied and truncated (`app.log.1`, `app.log-20240131.gz`), the rest of that copy is read first, then
/// the copies that were made later, then the log. Copies with numbers are ordered by number, others by modification
/// time. If no file matches the position, the log is read from its beginning. After a run over an empty log, the copies
/// that were modified later are read first.
///
/// The last line of the log is returned only when it has a line ending. If a copy ends within a line, the line
/// continues in the next file.
///
/// Throws DataError like LineSource, but for an empty log only if there is no position.

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/line_source.h"
#include "unfold/base/types.h"

namespace unfold {

/// The position up to which a log was read.
struct LogInputPosition {
  static constexpr std::size_t kRecentBytes = 4096;
  std::uint64_t device = 0, inode = 0;  ///< device and inode of the log; 0: no regular file was read
  Index bytes = 0;                      ///< position in the file, after decompression
  std::string recent = {};              ///< the last bytes before the position, at most kRecentBytes
  std::string carry = {};               ///< the beginning of an incomplete line, read from the preceding file
  Index since = 0;                      ///< modification time of an empty log, in nanoseconds

  /// Called before the first line of a file.
  void begin(std::uint64_t its_device, std::uint64_t its_inode, std::string its_carry);
  /// Advances past a line and its line ending; `line` includes the carry.
  void pass(std::string_view line, char line_end = '\n');
  nlohmann::json to_json() const;
  /// Throws ModelError for JSON that `to_json` cannot have produced.
  static LogInputPosition from_json(const nlohmann::json& json);
};

class LogInput {
 public:
  /// "-" is standard input.
  explicit LogInput(std::string path) : path_(std::move(path)) {}
  /// Reads the whole log.
  void open();
  /// Reads the lines after a position. Returns notes on rotated and truncated files.
  std::vector<std::string> continue_after(const LogInputPosition& position);

  /// Sets `line` to the next line; returns false at the end. `line` is valid until the next call.
  bool next(std::string_view& line);
  /// Returns whether `next` can return without waiting for input.
  bool ready() const { return source_ != nullptr && source_->ready(); }
  /// See LineSource::within_line.
  bool within_line() const { return source_ != nullptr && source_->within_line(); }
  /// See LineSource::wait.
  bool wait(std::chrono::milliseconds longest) const { return source_ == nullptr || source_->wait(longest); }
  const LogInputPosition& position() const { return position_; }
  /// Returns whether the last line is the first one of a file; `position` then referred to a different file before this
  /// line.
  bool began_file() const { return began_file_; }
  const std::string& file() const { return pieces_[piece_].path; }  ///< file of the last line
  const std::string& carry() const { return carry_; }               ///< carry of the last line
  std::size_t left_bytes() const { return left_bytes_; }  ///< bytes of an incomplete line at the end; 0: there is none
  std::string name() const { return path_ == "-" ? "standard input" : path_; }

 private:
  struct Piece {
    std::string path;
    Index from = 0;
    std::uint64_t device = 0, inode = 0;
  };
  bool open_piece();
  bool leaves(std::string_view line);

  std::string path_;
  std::vector<Piece> pieces_;
  std::size_t piece_ = 0;
  bool resumed_ = false, began_file_ = false, begins_ = false;
  std::unique_ptr<LineSource> source_;
  LogInputPosition position_;
  std::string carry_, next_carry_, line_;
  std::size_t left_bytes_ = 0;
};

}  // namespace unfold
