#pragma once
/// log.jsonl: one JSON object per event, each with "event" and "step". A checkpoint holds the length of the log, and a
/// resumed run cuts the log back to it, so the log goes on without a gap and without repetition.

#include <cstdint>
#include <string>

#include "unfold/training/events.h"

namespace unfold {

class EventLog final : public Observer {
 public:
  /// Opens `path` for appending. Throws RuntimeFailure when that fails, and later when writing does.
  explicit EventLog(std::string path);
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog() override;

  std::uint64_t length() const { return length_; }
  /// Cuts back; a log that is shorter gets an entry {"event":"gap"} that says so.
  void cut_back(std::uint64_t length, Index step);

  void progress(const ProgressEvent& e) override;  ///< writes; the trainer calls it at its logging interval only
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
