#include "app/logs/log_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/logs/log_json.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

constexpr const char* kStateFormat = "unfold log state 5";
constexpr std::string_view kJournalFormat = "unfold log journal 2 ";
constexpr std::size_t kLeastJournal = std::size_t{4} << 20;
/// Bit of the size field of a record that marks an event instead of a line.
constexpr std::uint32_t kEventBit = 0x80000000u;

std::string read_whole(const std::string& path) { return std::string(FileBytes(path).bytes()); }

std::string journal_head(Index generation) { return fmt::format("{}{:020}\n", kJournalFormat, generation); }

}  // namespace

LogStateFile::LogStateFile(std::string path, std::uint64_t model) : path_(std::move(path)), model_(model) {
  std::error_code ignored;
  if (std::filesystem::exists(path_, ignored)) read();
}

LogStateFile::~LogStateFile() {
  if (journal_ >= 0) ::close(journal_);
}

void LogStateFile::read() {
  const std::string bytes = read_whole(path_);
  nlohmann::json json = nlohmann::json::from_cbor(bytes, true, false);
  if (json.is_discarded() || !json.is_object() || json.value("format", "") != kStateFormat)
    throw DataError(fmt::format(
        "{} is not a state file of unfold score; choose another file for --state, or remove this one", path_));
  if (log_part(json, "model") != model_)
    throw DataError(
        fmt::format("{} is the state of a different model; remove the file, or use --state with another file", path_));
  generation_ = log_count(json, "generation");
  snapshot_bytes_ = bytes.size();
  snapshot_.emplace(log_part(json, "state"));
  read_journal();
}

/// Reads the lines after the snapshot. An incomplete record at the end was not committed.
void LogStateFile::read_journal() {
  const std::string path = path_ + ".journal", head = journal_head(generation_);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const std::string bytes = read_whole(path);
  if (!bytes.starts_with(head)) return;  // the journal belongs to an earlier snapshot
  std::size_t at = head.size();
  while (at + sizeof(std::uint32_t) <= bytes.size()) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    const bool is_event = (size & kEventBit) != 0;
    size &= ~kEventBit;
    if (bytes.size() - at - sizeof size < size) break;
    LogJournalRecord record{.line = bytes.substr(at + sizeof size, size)};
    if (is_event) {
      nlohmann::json event = nlohmann::json::from_cbor(record.line, true, false);
      if (event.is_discarded()) refuse_log_model("the journal is inconsistent");
      record = {.event = JsonBox(std::move(event))};
    }
    replayed_.push_back(std::move(record));
    at += sizeof size + size;
  }
  journal_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (journal_ < 0 || ::ftruncate(journal_, static_cast<off_t>(at)) != 0 ||
      ::lseek(journal_, static_cast<off_t>(at), SEEK_SET) < 0)
    throw RuntimeFailure(fmt::format("{} cannot be written: {}; check its permissions", path, std::strerror(errno)));
  journal_bytes_ = at;
}

void LogStateFile::append(std::string_view line) {
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(line.size(), kEventBit - 1));
  append_record(size, line.substr(0, size));
}

void LogStateFile::append_event(const nlohmann::json& event) {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(event);
  append_record(static_cast<std::uint32_t>(bytes.size()) | kEventBit,
                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void LogStateFile::append_record(std::uint32_t size, std::string_view bytes) {
  pending_.append(reinterpret_cast<const char*>(&size), sizeof size).append(bytes);
}

void LogStateFile::commit() {
  if (pending_.empty()) return;
  if (journal_ < 0) begin_journal();
  write_journal(pending_);
  pending_.clear();
}

bool LogStateFile::wants_snapshot() const { return journal_bytes_ > std::max(kLeastJournal, snapshot_bytes_); }

void LogStateFile::write_snapshot(const nlohmann::json& state) {
  ++generation_;
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(
      {{"format", kStateFormat}, {"model", model_}, {"generation", generation_}, {"state", state}});
  snapshot_bytes_ = bytes.size();
  write_file_atomically(path_, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  pending_.clear();
  begin_journal();
}

void LogStateFile::begin_journal() {
  const std::string path = path_ + ".journal";
  if (journal_ >= 0) ::close(journal_);
  journal_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (journal_ < 0)
    throw RuntimeFailure(fmt::format("{} cannot be written: {}; check its folder", path, std::strerror(errno)));
  journal_bytes_ = 0;
  write_journal(journal_head(generation_));
}

void LogStateFile::write_journal(std::string_view bytes) {
  journal_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = ::write(journal_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw RuntimeFailure(
          fmt::format("{}.journal cannot be written: {}; free some space", path_, std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace unfold
