#include "model/logs/log_alarms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/counts/distinct_count.h"
#include "model/logs/log_json.h"
#include "model/logs/log_math.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kLowestCorrection = -2 * kNatsPerBit, kHighestCorrection = 3 * kNatsPerBit;
constexpr double kCorrectionStep = 0.5;
constexpr double kForget = 1.0 / 500;  // decay of recent causes per line
constexpr double kDriftBegins = 10, kDriftEnds = 3;

std::uint64_t cause_key(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15 + b;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 32);
}

/// "10:31:05", or "line 4711" for lines without times.
std::string since(std::string_view time, Index line) {
  return time.empty() ? fmt::format("line {}", line) : std::string(time);
}

std::string count_of(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

double LogAlarms::share_now() const { return options_.share * exp2_of(correction_ / kNatsPerBit); }

/// Returns the cause of an anomaly: an earlier cause, or a new cause with count 0.
LogAlarm& LogAlarms::cause_of(const LogDetector& detector, const LogLineScore& score, std::uint64_t& key) {
  const LogEvent& event = detector.event();
  if (const auto known = causes_.find(cause_key(event.template_id, 2)); known != causes_.end()) {
    key = known->first;
    return known->second;
  }
  if (const LogEventValue* field = detector.new_field()) {
    key = cause_key(field->label, 1);
    LogAlarm& alarm = causes_[key];
    alarm.kind = LogAlarmKind::field;
    if (alarm.count == 0) alarm.cause = label_text(*field);
    return alarm;
  }
  if (detector.has_new_template())
    if (LogAlarm* const alarm = alarm_of_new_field(event, key)) return *alarm;
  LogAlarmKind kind = LogAlarmKind::template_;
  key = cause_key(event.template_id, 2);
  if (score.source == LogSource::order && !detector.has_new_template()) {
    kind = LogAlarmKind::order;
    key =
        cause_key(score.order.chain ^ (static_cast<std::uint64_t>(score.order.previous) << 32 | score.order.event), 3);
  } else if (score.source == LogSource::values && score.value.value != nullptr) {
    kind = LogAlarmKind::value;
    key = cause_key(score.value.value->label ^ cause_key(score.value.value->hash, 0), 4);
  }
  LogAlarm& alarm = causes_[key];
  alarm.kind = kind;
  return alarm;
}

/// Returns the alarm of a field of the line that appeared less than 1 / share lines ago; null if there is none.
LogAlarm* LogAlarms::alarm_of_new_field(const LogEvent& event, std::uint64_t& key) {
  for (const LogEventValue& value : event.values) {
    if (value.key.empty()) continue;
    const auto found = causes_.find(cause_key(value.label, 1));
    if (found == causes_.end() || static_cast<double>(lines_ - found->second.began) * options_.share >= 1) continue;
    key = found->first;
    return &found->second;
  }
  return nullptr;
}

/// Counts the lines with new fields; `alarm`: the alarm of this line, or null.
void LogAlarms::count_fields(const LogEvent& event, const LogAlarm* alarm, Index line, std::string_view time) {
  for (const LogEventValue& value : event.values) {
    if (value.key.empty()) continue;
    const auto known = std::ranges::find(fields_, value.label, &LogNewField::label);
    if (known != fields_.end()) {
      ++known->count;
    } else if (alarm != nullptr && alarm->kind == LogAlarmKind::field && alarm->cause == label_text(value) &&
               fields_.size() < kMostFields) {
      fields_.push_back({.name = alarm->cause,
                         .label = value.label,
                         .count = 1,
                         .began = lines_ - 1,
                         .first_line = line,
                         .first_time = std::string(time)});
    }
  }
}

const LogAlarm* LogAlarms::see_drift(Index line, std::string_view time) {
  for (LogNewField& field : fields_) {
    if (field.reported || lines_ - field.began < kFieldLines) continue;
    field.reported = true;
    if (field.count < kFieldCount) continue;
    field_drift_ = {.kind = LogAlarmKind::drift,
                    .count = 1,
                    .first_line = field.first_line,
                    .last_line = line,
                    .first_time = field.first_time,
                    .last_time = std::string(time),
                    .cause = describe(field),
                    .last_seen = lines_,
                    .began = field.began};
    ++alarms_;
    ++by_kind_[static_cast<std::size_t>(LogAlarmKind::drift)];
    return &field_drift_;
  }
  return nullptr;
}

std::string LogAlarms::describe(const LogNewField& field) const {
  const double share = static_cast<double>(field.count) / static_cast<double>(std::max<Index>(1, lines_ - field.began));
  return fmt::format("new field {} in {:.2g} % of the lines since {}", field.name, 100 * share,
                     since(field.first_time, field.first_line));
}

/// Starts an alarm that represents the causes of the last lines, and describes them.
void LogAlarms::begin_drift() {
  constexpr std::size_t kMostNames = 5;
  std::vector<const LogAlarm*> recent;
  for (const auto& [key, alarm] : causes_)
    if (alarm.count > 0 && static_cast<double>(lines_ - alarm.began) * kForget <= 1) recent.push_back(&alarm);
  std::ranges::sort(recent, {}, &LogAlarm::first_line);
  std::array<std::size_t, kLogAlarmKinds.size()> counts = {};
  std::vector<std::string> parts, fields;
  for (const LogAlarm* alarm : recent) {
    ++counts[static_cast<std::size_t>(alarm->kind)];
    if (alarm->kind == LogAlarmKind::field && fields.size() < kMostNames) fields.push_back(alarm->cause);
  }
  if (!fields.empty()) parts.push_back(fmt::format("new field {}", fmt::join(fields, ", ")));
  for (const auto& [kind, what] :
       {std::pair(LogAlarmKind::template_, "new template"), std::pair(LogAlarmKind::value, "unusual value"),
        std::pair(LogAlarmKind::order, "unusual order"), std::pair(LogAlarmKind::session, "unusual session")})
    if (const std::size_t count = counts[static_cast<std::size_t>(kind)]; count > 0)
      parts.push_back(count_of(count, what));
  drift_ = {.kind = LogAlarmKind::drift};
  if (recent.empty()) return;
  drift_.cause = fmt::format("the log changed: {} since {}", fmt::join(parts, ", "),
                             since(recent.front()->first_time, recent.front()->first_line));
}

/// Returns whether new causes are so frequent that a single alarm represents them.
bool LogAlarms::drifts(bool is_new) {
  recent_ += is_new;
  drifting_ = drifting_ ? recent_ > kDriftEnds : recent_ > kDriftBegins;
  return drifting_;
}

const LogAlarm* LogAlarms::see(const LogDetector& detector, const LogLineScore& score, Index line,
                               std::string_view time) {
  const LogAlarm* const alarm =
      see(score.p_bits, line, time, [&](std::uint64_t& key) -> LogAlarm& { return cause_of(detector, score, key); });
  count_fields(detector.event(), alarm, line, time);
  return alarm;
}

const LogAlarm* LogAlarms::see_session(double p_bits, const std::string& reason, Index line, std::string_view time) {
  return see(p_bits, line, time, [&](std::uint64_t& key) -> LogAlarm& {
    key = cause_key(hash_of_cell(reason), 5);
    LogAlarm& alarm = causes_[key];
    alarm.kind = LogAlarmKind::session;
    alarm.cause = reason;
    return alarm;
  });
}

double LogAlarms::share_bits() const { return -log2_of(options_.share); }

const LogAlarm* LogAlarms::see_rate(const LogRateAnomaly& rate, Index line, std::string_view time) {
  if (rate.p_bits < share_bits()) return nullptr;
  if (causes_.size() >= kMostCauses) causes_.clear();
  LogAlarm& alarm = causes_[cause_key(rate.template_id, rate.burst ? 6 : 7)];
  const bool pauses = static_cast<double>(lines_ - alarm.last_seen) * options_.share >= 1;
  if (alarm.count == 0 || pauses)
    alarm = {.kind = rate.burst ? LogAlarmKind::burst : LogAlarmKind::silence,
             .first_line = line,
             .first_time = std::string(time),
             .began = lines_};
  if (alarm.count++ == 0) {
    ++alarms_;
    ++by_kind_[static_cast<std::size_t>(alarm.kind)];
  }
  alarm.last_line = line;
  alarm.last_seen = lines_;
  alarm.last_time = std::string(time);
  return &alarm;
}

const LogAlarm* LogAlarms::see(double p_bits, Index line, std::string_view time, const FindCause& find_cause) {
  ++lines_;
  recent_ *= 1 - kForget;
  const bool is_anomalous = p_bits >= -log2_of(share_now());
  LogAlarm* alarm = nullptr;
  bool counts = false;  // whether the alarm counts toward the share: a new alarm or a drift alarm
  if (is_anomalous) {
    ++anomalous_;
    if (causes_.size() >= kMostCauses) causes_.clear();
    std::uint64_t key = 0;
    alarm = &find_cause(key);
    const bool is_new = alarm->count == 0;
    const bool drifted = drifting_;
    if (drifts(is_new) && is_new) {
      causes_.erase(key);
      if (!drifted) begin_drift();
      alarm = &drift_;
    }
    const bool pauses = static_cast<double>(lines_ - alarm->last_seen) * options_.share >= 1;
    if (alarm->count == 0 || pauses)
      *alarm = {.kind = alarm->kind,
                .first_line = line,
                .first_time = std::string(time),
                .cause = alarm->cause,
                .began = lines_};
    counts = alarm->count++ == 0;
    alarms_ += counts;
    by_kind_[static_cast<std::size_t>(alarm->kind)] += counts;
    alarm->last_line = line;
    alarm->last_seen = lines_;
    alarm->last_time = std::string(time);
  } else {
    drifts(false);
  }
  correction_ += kCorrectionStep * (options_.share - (counts ? 1 : 0));
  correction_ = std::clamp(correction_, kLowestCorrection, kHighestCorrection);
  return alarm;
}

std::vector<const LogAlarm*> LogAlarms::repeated() const {
  std::vector<const LogAlarm*> result;
  for (const auto& [key, alarm] : causes_)
    if (alarm.count > 1) result.push_back(&alarm);
  if (drift_.count > 1) result.push_back(&drift_);
  std::ranges::sort(result, {}, &LogAlarm::first_line);
  return result;
}

namespace {

nlohmann::json alarm_json(const LogAlarm& alarm) {
  return {{"kind", static_cast<int>(alarm.kind)},
          {"count", alarm.count},
          {"first-line", alarm.first_line},
          {"last-line", alarm.last_line},
          {"first-time", alarm.first_time},
          {"last-time", alarm.last_time},
          {"cause", alarm.cause},
          {"last-seen", alarm.last_seen},
          {"began", alarm.began}};
}

LogAlarm alarm_of(const nlohmann::json& json) {
  const Index kind = log_count(json, "kind");
  if (kind >= static_cast<Index>(kLogAlarmKinds.size())) refuse_log_model("the kind of an alarm is unknown");
  return {.kind = static_cast<LogAlarmKind>(kind),
          .count = log_count(json, "count"),
          .first_line = log_count(json, "first-line"),
          .last_line = log_count(json, "last-line"),
          .first_time = log_text(json, "first-time"),
          .last_time = log_text(json, "last-time"),
          .cause = log_text(json, "cause"),
          .last_seen = log_count(json, "last-seen"),
          .began = log_count(json, "began")};
}

nlohmann::json field_json(const LogNewField& field) {
  return {{"name", field.name},        {"label", field.label},           {"count", field.count},
          {"began", field.began},      {"first-line", field.first_line}, {"first-time", field.first_time},
          {"reported", field.reported}};
}

LogNewField field_of(const nlohmann::json& json) {
  const nlohmann::json& label = log_part(json, "label");
  if (!label.is_number_unsigned()) refuse_log_model("a new field has no label");
  return {.name = log_text(json, "name"),
          .label = label.get<std::uint64_t>(),
          .count = log_count(json, "count"),
          .began = log_count(json, "began"),
          .first_line = log_count(json, "first-line"),
          .first_time = log_text(json, "first-time"),
          .reported = log_flag(json, "reported")};
}

}  // namespace

nlohmann::json LogAlarms::to_json() const {
  std::vector<std::uint64_t> keys;
  for (const auto& [key, alarm] : causes_) keys.push_back(key);
  std::ranges::sort(keys);
  nlohmann::json alarms = nlohmann::json::array();
  for (const std::uint64_t key : keys) alarms.push_back(alarm_json(causes_.at(key)));
  nlohmann::json fields = nlohmann::json::array();
  for (const LogNewField& field : fields_) fields.push_back(field_json(field));
  return {{"keys", keys},
          {"causes", alarms},
          {"drift", alarm_json(drift_)},
          {"correction", correction_},
          {"recent", recent_},
          {"drifting", drifting_},
          {"alarms", alarms_},
          {"anomalous", anomalous_},
          {"lines", lines_},
          {"by-kind", by_kind_},
          {"fields", fields}};
}

void LogAlarms::restore(const nlohmann::json& json) {
  const std::vector<std::uint64_t> keys = log_hashes(json, "keys");
  const nlohmann::json& causes = log_list(json, "causes");
  if (keys.size() != causes.size() || keys.size() > kMostCauses) refuse_log_model("the alarms are inconsistent");
  causes_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) causes_[keys[i]] = alarm_of(causes[i]);
  drift_ = alarm_of(log_part(json, "drift"));
  correction_ = log_number(json, "correction");
  recent_ = log_number(json, "recent");
  drifting_ = log_flag(json, "drifting");
  alarms_ = log_count(json, "alarms");
  anomalous_ = log_count(json, "anomalous");
  lines_ = log_count(json, "lines");
  const std::vector<Index> by_kind = log_counts(json, "by-kind");
  if (by_kind.size() != by_kind_.size()) refuse_log_model("the alarms are inconsistent");
  std::ranges::copy(by_kind, by_kind_.begin());
  const nlohmann::json& fields = log_list(json, "fields");
  if (fields.size() > kMostFields) refuse_log_model("inconsistent alarms");
  fields_.clear();
  for (const nlohmann::json& field : fields) fields_.push_back(field_of(field));
}

}  // namespace unfold
