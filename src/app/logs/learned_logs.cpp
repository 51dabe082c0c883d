#include "app/logs/learned_logs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/counts/distinct_count.h"
#include "data/logs/log_lines.h"
#include "model/logs/log_json.h"

namespace unfold {
namespace {

constexpr std::size_t kBeginningBytes = 4096;
constexpr Index kLinesForTime = 1000;

std::uint64_t hash_of_beginning(std::string_view bytes, Index size) {
  return hash_of_cell(bytes.substr(0, std::min(kBeginningBytes, static_cast<std::size_t>(size))));
}

std::optional<LogMoment> log_moment(std::string_view line, LogClock& clock) {
  const std::optional<LogTime> time = clock.read(line);
  return time ? std::optional(LogMoment{time->seconds, std::string(time->text)}) : std::nullopt;
}

/// Returns what follows the first `size` bytes, without the rest of a line that was cut off there.
std::string_view rest_after(std::string_view bytes, std::size_t size) {
  if (size > 0 && bytes[size - 1] != '\n') size = std::min(bytes.find('\n', size), bytes.size() - 1) + 1;
  return bytes.substr(std::min(size, bytes.size()));
}

std::uint64_t log_hash(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = log_part(json, key);
  if (!value.is_number_unsigned()) refuse_log_model("the learned logs are inconsistent");
  return value.get<std::uint64_t>();
}

}  // namespace

std::optional<LogMoment> first_log_time(std::string_view text, LogClock clock) {
  for (Index line = 0; !text.empty() && line < kLinesForTime; ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::optional<LogMoment> found = log_moment(text.substr(0, end), clock)) return found;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

std::optional<LogMoment> last_log_time(std::string_view text, LogClock clock) {
  for (Index line = 0; !text.empty() && line < kLinesForTime; ++line) {
    if (text.back() == '\n') text.remove_suffix(1);
    const std::size_t begin = text.rfind('\n') + 1;  // 0 if there is no line before
    if (std::optional<LogMoment> found = log_moment(text.substr(begin), clock)) return found;
    text = text.substr(0, begin);
  }
  return std::nullopt;
}

void LearnedLogs::add(const Input& log, const LogClock& clock) {
  const std::string_view bytes = log.bytes();
  Log one{.name = log.name(),
          .bytes = static_cast<Index>(bytes.size()),
          .beginning = hash_of_beginning(bytes, static_cast<Index>(bytes.size())),
          .all = hash_of_cell(bytes)};
  for_each_log_line(bytes, [&](std::string_view) { ++one.lines; });
  logs_.push_back(std::move(one));
  if (logs_.size() > kMost) logs_.erase(logs_.begin());
  const std::optional<LogMoment> last = last_log_time(bytes, clock);
  if (last && (!latest_ || last->seconds > latest_->seconds)) latest_ = last;
}

std::optional<RepeatedLog> LearnedLogs::beginning_of(const Input& log) const {
  const std::string_view bytes = log.bytes();
  std::vector<const Log*> candidates;
  for (const Log& one : logs_)
    if (one.bytes > 0 && one.bytes <= static_cast<Index>(bytes.size()) &&
        hash_of_beginning(bytes, one.bytes) == one.beginning)
      candidates.push_back(&one);
  std::ranges::stable_sort(candidates, std::ranges::greater(), [](const Log* one) { return one->bytes; });
  for (const Log* one : candidates) {
    const auto size = static_cast<std::size_t>(one->bytes);
    if (hash_of_cell(bytes.substr(0, size)) == one->all)
      return RepeatedLog{.name = one->name, .lines = one->lines, .rest = rest_after(bytes, size)};
  }
  return std::nullopt;
}

nlohmann::json LearnedLogs::to_json() const {
  nlohmann::json logs = nlohmann::json::array();
  for (const Log& one : logs_)
    logs.push_back({{"name", one.name},
                    {"bytes", one.bytes},
                    {"lines", one.lines},
                    {"beginning", one.beginning},
                    {"all", one.all}});
  nlohmann::json json{{"logs", std::move(logs)}};
  if (latest_) json["latest"] = {{"seconds", latest_->seconds}, {"text", latest_->text}};
  return json;
}

LearnedLogs LearnedLogs::from_json(const nlohmann::json& json) {
  LearnedLogs learned;
  for (const nlohmann::json& entry : log_list(json, "logs"))
    learned.logs_.push_back({.name = log_text(entry, "name"),
                             .bytes = log_count(entry, "bytes"),
                             .lines = log_count(entry, "lines"),
                             .beginning = log_hash(entry, "beginning"),
                             .all = log_hash(entry, "all")});
  if (learned.logs_.size() > kMost) refuse_log_model("the learned logs are inconsistent");
  if (json.contains("latest"))
    learned.latest_ = LogMoment{log_number(json["latest"], "seconds"), log_text(json["latest"], "text")};
  return learned;
}

}  // namespace unfold
