#pragma once
/// A file with the state of a log scorer, from which scoring continues exactly after a restart, a crash or kill -9.
///
///   LogStateFile file("state", model);
///   if (file.snapshot()) restore(*file.snapshot());
///   for (const LogJournalRecord& record : file.replayed()) replay(record);   // lines are scored without output
///   file.append(line);                                                       // for every line scored
///   file.append_event({{"output", bytes}});                                  // anything else
///   file.commit();                                                           // after its row was written
///   if (file.wants_snapshot()) file.write_snapshot(state());
///
/// The state is a snapshot, written atomically, and a journal (`FILE.journal`) with the lines and events since then. A
/// crash between the output of rows and `commit` leaves rows whose lines are scored again; nothing is lost. The journal
/// is bounded by the size of the snapshot or a few megabytes.
///
/// Throws DataError for a file that is not a state, and RuntimeFailure if it cannot be written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/formats/json.h"
#include "unfold/base/types.h"

namespace unfold {

/// A line, or an event as JSON.
struct LogJournalRecord {
  std::string line = {};
  std::optional<JsonBox> event = {};
};

class LogStateFile {
 public:
  /// `model`: identifies the model; the state of a different model is rejected.
  LogStateFile(std::string path, std::uint64_t model);
  ~LogStateFile();
  LogStateFile(const LogStateFile&) = delete;
  LogStateFile& operator=(const LogStateFile&) = delete;

  const nlohmann::json* snapshot() const { return snapshot_ ? &**snapshot_ : nullptr; }
  const std::vector<LogJournalRecord>& replayed() const { return replayed_; }
  void append(std::string_view line);
  void append_event(const nlohmann::json& event);
  void commit();
  bool wants_snapshot() const;
  void write_snapshot(const nlohmann::json& state);

 private:
  void read();
  void read_journal();
  void begin_journal();
  void append_record(std::uint32_t size, std::string_view bytes);
  void write_journal(std::string_view bytes);

  std::string path_;
  std::uint64_t model_;
  std::optional<JsonBox> snapshot_;
  std::vector<LogJournalRecord> replayed_;
  std::string pending_;
  Index generation_ = 0;
  std::size_t journal_bytes_ = 0, snapshot_bytes_ = 0;
  int journal_ = -1;
};

}  // namespace unfold
