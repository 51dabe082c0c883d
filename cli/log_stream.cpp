#include "cli/log_stream.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/terminal/metrics_text.h"
#include "cli/terminal/result_position.h"
#include "model/logs/log_json.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

nlohmann::json output_json(const std::optional<ResultPosition>& output) {
  if (!output) return nullptr;
  return {{"device", output->device}, {"inode", output->inode}, {"bytes", output->bytes}};
}

std::optional<ResultPosition> output_of(const nlohmann::json& json) {
  if (json.is_null()) return std::nullopt;
  const nlohmann::json &device = log_part(json, "device"), &inode = log_part(json, "inode");
  if (!device.is_number_unsigned() || !inode.is_number_unsigned()) refuse_log_model("the output is inconsistent");
  return ResultPosition{
      .device = device.get<std::uint64_t>(), .inode = inode.get<std::uint64_t>(), .bytes = log_count(json, "bytes")};
}

}  // namespace

LogStream::LogStream(Console& console, const ScoreLogOptions& options, const SymbolModel& model)
    : console_(console), options_(options), input_(options.rows.data), joiner_(record_joiner(model)) {
  if (options.state) state_.emplace(*options.state, log_fingerprint(model));
}

void LogStream::add(std::string_view line, bool replayed) {
  const std::optional<LogRecord> record = joiner_ ? joiner_->add(line) : LogRecord{.text = line};
  if (!record) return;
  if (replayed) return replay(*record);
  note_records(*record);
  see(*record);
}

/// Notes the first record of several lines, if training contained none.
void LogStream::note_records(const LogRecord& record) {
  if (record.lines == 1 || noted_records_ || joiner_->expects_records()) return;
  noted_records_ = true;
  const Index first = lines() + 1;
  console_.remark(
      fmt::format("lines {} to {} are read as one record, as are other stack traces and indented lines; training "
                  "contained none (unfold train --record-start '' reads each line separately)",
                  first, first + record.lines - 1));
}

void LogStream::end_record(bool replayed) {
  const std::optional<LogRecord> record = joiner_ ? joiner_->finish() : std::nullopt;
  if (!record) return;
  if (replayed) return replay(*record);
  if (state_) state_->append_event({{"record", "ended"}});
  note_records(*record);
  see(*record);
}

/// Scores the current record if no line follows it within a pause.
void LogStream::end_record_after(std::chrono::milliseconds pause) {
  if (pending_lines() == 0 || input_.ready() || input_.wait(pause)) return;
  end_record(false);
}

/// Scores the current record if no other line has arrived and training contained no records of several lines.
void LogStream::end_unexpected_record() {
  if (joiner_ && !joiner_->expects_records() && !input_.within_line()) end_record_after({});
}

void LogStream::run() {
  constexpr std::size_t kCommitEach = std::size_t{1} << 15;
  if (state_)
    resume();
  else
    input_.open();
  std::size_t waiting = 0;  // bytes of lines whose rows may not be written yet
  for (std::string_view line; input_.next(line);) {
    if (state_) record(line);
    add(line, false);
    waiting += line.size() + 1;
    if (input_.ready() && (!state_ || waiting < kCommitEach)) continue;
    end_unexpected_record();
    const auto write_rows = [&] {
      flush_results();
      if (state_) save();
    };
    write_rows();
    write_metrics(false);
    waiting = 0;
    if (pending_lines() == 0) continue;
    end_record_after(kPauseAfterRecord);
    if (pending_lines() == 0) write_rows();
  }
  end_record(false);
  finish();
  if (input_.left_bytes() > 0)
    console_.remark(fmt::format("{}: the last {} bytes have no line ending; they are left for the next run",
                                input_.name(), input_.left_bytes()));
  write_metrics(true);
  if (!state_) return;
  flush_results();
  state_->write_snapshot(state());
}

nlohmann::json LogStream::state() const {
  const std::optional<ResultPosition> output = result_position();
  nlohmann::json json = {
      {"scorer", scorer_state()}, {"position", input_.position().to_json()}, {"output", output_json(output)}};
  if (pending_lines() > 0) json["record"] = {{"text", joiner_->pending().text}, {"lines", joiner_->pending().lines}};
  return json;
}

/// Restores the state and continues after the lines that have already been scored. Rows that an interrupted run wrote
/// without recording them are not written twice.
void LogStream::resume() {
  LogInputPosition position;
  std::optional<ResultPosition> output;
  if (const nlohmann::json* snapshot = state_->snapshot()) {
    restore(log_part(*snapshot, "scorer"));
    position = LogInputPosition::from_json(log_part(*snapshot, "position"));
    output = output_of(log_part(*snapshot, "output"));
    if (joiner_ && snapshot->contains("record")) {
      const nlohmann::json& record = (*snapshot)["record"];
      joiner_->continue_with(log_text(record, "text"), log_count(record, "lines"));
    }
  }
  for (const LogJournalRecord& record : state_->replayed()) {
    if (!record.event) {
      position.pass(record.line);
      add(record.line, true);
    } else if (const nlohmann::json& event = **record.event; event.contains("output")) {
      output = output_of(event["output"]);
    } else if (event.contains("record")) {
      end_record(true);
    } else {
      position = LogInputPosition::from_json(log_part(event, "file"));
    }
  }
  for (const std::string& note : input_.continue_after(position)) console_.remark(note);
  if (output) continue_results(*output);
  if (state_->snapshot() == nullptr) state_->write_snapshot(state());
}

/// Adds a line to the journal, after the beginning of its file.
void LogStream::record(std::string_view line) {
  if (input_.began_file()) {
    const LogInputPosition& now = input_.position();
    LogInputPosition begin;
    begin.begin(now.device, now.inode, input_.carry());
    state_->append_event({{"file", begin.to_json()}});
    const Index before = lines() + pending_lines();
    if (before > 0) console_.remark(fmt::format("line {} is line 1 of {}", before + 1, input_.file()));
  }
  state_->append(line);
}

void LogStream::save() {
  state_->append_event({{"output", output_json(result_position())}});
  state_->commit();
  if (state_->wants_snapshot()) state_->write_snapshot(state());
}

/// Writes the counters, every ten seconds while lines are read.
void LogStream::write_metrics(bool at_end) {
  constexpr std::chrono::seconds kPause{10};
  if (!options_.metrics) return;
  const auto now = std::chrono::steady_clock::now();
  if (!at_end && now < next_metrics_) return;
  next_metrics_ = now + kPause;
  write_file_atomically(*options_.metrics, metrics());
}

}  // namespace unfold
