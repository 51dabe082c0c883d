#pragma once
/// A file with the state of a log scorer, so that scoring continues exactly after a restart, a crash or kill -9.
///
///   LogStateFile file("state");
///   if (file.snapshot()) restore(*file.snapshot());
///   for (const std::string& line : file.replayed()) score(line);      // without output
///   file.append(line);                                                // for every line scored
///   file.commit();                                                    // after its row was written
///   if (file.wants_snapshot()) file.write_snapshot(state());
///
/// The state is a snapshot, written atomically, and a journal (`FILE.journal`) with the lines since then. A crash
/// between the output of rows and `commit` repeats these rows after the restart; nothing is lost. The journal is
/// bounded by the size of the snapshot or a few megabytes.
///
/// Throws DataError for a file that is not a state, and RuntimeFailure if it cannot be written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "base/types.h"

namespace unfold {

/// How much of a log file was read. Another run finds the file again by its first line.
struct LogInputPosition {
  std::uint64_t first_line = 0;  ///< its hash
  Index bytes = 0;

  void pass(std::string_view line);
  /// Whether `path` is a regular file that begins with the same line and can therefore be continued.
  bool continues(const std::string& path) const;
  nlohmann::json to_json() const;
  static LogInputPosition from_json(const nlohmann::json& json);
};

class LogStateFile {
 public:
  /// `model`: identifies the model; the state of a different model is refused.
  LogStateFile(std::string path, std::uint64_t model);
  ~LogStateFile();
  LogStateFile(const LogStateFile&) = delete;
  LogStateFile& operator=(const LogStateFile&) = delete;

  const nlohmann::json* snapshot() const { return snapshot_ ? &**snapshot_ : nullptr; }
  const std::vector<std::string>& replayed() const { return replayed_; }
  void append(std::string_view line);
  void commit();
  bool wants_snapshot() const;
  void write_snapshot(const nlohmann::json& state);

 private:
  void read();
  void read_journal();
  void begin_journal();
  void write_journal(std::string_view bytes);

  std::string path_;
  std::uint64_t model_;
  std::optional<JsonBox> snapshot_;
  std::vector<std::string> replayed_;
  std::string pending_;
  Index generation_ = 0;
  std::size_t journal_bytes_ = 0, snapshot_bytes_ = 0;
  int journal_ = -1;
};

}  // namespace unfold
