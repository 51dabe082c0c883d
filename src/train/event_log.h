#pragma once
/// The log file log.jsonl: one JSON object per event, each with "event" and "step". A checkpoint stores the length of
/// the log. A resumed run truncates the log to this length, so the log continues without gaps or duplicates.

#include <cstdint>
#include <string>

#include "unfold/train/events.h"

namespace unfold {

class EventLog final : public Observer {
 public:
  /// Opens `path` for appending. Throws RuntimeFailure on failure; later writes also throw on failure.
  explicit EventLog(std::string path);
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog() override;

  std::uint64_t length() const { return length_; }
  /// Truncates the log to `length`. If the log is shorter, appends an entry {"event":"gap"}.
  void cut_back(std::uint64_t length, Index step);

  /// Writes an entry; the trainer calls this only at its logging interval.
  void progress(const ProgressEvent& e) override;
  void curvature(const CurvatureEvent& e) override;
  void validation(const ValidationEvent& e) override;
  void sample(const SampleEvent& e) override;
  void rollback(const RollbackEvent& e) override;
  void done(const DoneEvent& e) override;

 private:
  void write(const std::string& line);
  [[noreturn]] void fail(const char* action, int error) const;

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t length_ = 0;
};

}  // namespace unfold
