#include "cli/score_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/common/perplexity.h"
#include "app/logs/log_metrics.h"
#include "base/decimals.h"
#include "cli/log_stream.h"
#include "cli/score_sessions.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/metrics_text.h"
#include "model/logs/log_math.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using LogJson = nlohmann::ordered_json;

/// Bursts and silences for --top. A burst of many windows is one row: the window with the lowest p-value. After
/// kSeparate lines without an unusual window of the same template, the next one has a separate row.
class RankedRates {
 public:
  static constexpr Index kSeparate = 1000;
  using Use = std::function<void(const LogRateAlarm&)>;

  /// Adds a window. Calls `use` if an earlier burst or silence of the same template has ended.
  void add(const LogRateAlarm& found, const Use& use) {
    Group& group = groups_[{found.rate.template_id, found.rate.burst}];
    if (group.last_line > 0 && found.alarm.last_line - group.last_line >= kSeparate) use(std::exchange(group, {}).best);
    if (group.last_line == 0 || found.rate.p_bits > group.best.rate.p_bits) group.best = found;
    group.last_line = found.alarm.last_line;
  }
  /// Calls `use` for those that have not ended.
  void finish(const Use& use) {
    for (const auto& [key, group] : groups_) use(group.best);
    groups_.clear();
  }

 private:
  struct Group {
    LogRateAlarm best = {};
    Index last_line = 0;
  };
  std::map<std::pair<std::uint64_t, bool>, Group> groups_;
};

class LogRows final : public LogStream {
 public:
  LogRows(Console& console, const SymbolModel& model, const ScoreLogOptions& options)
      : LogStream(console, options, model),
        rows_(console, options.rows, "surprise"),
        scorer_(model, scorer_options(model, options)) {}

 private:
  static LogScoreOptions scorer_options(const SymbolModel& model, const ScoreLogOptions& options) {
    LogScoreOptions scorer = with_share(model, options);
    scorer.rates = options.rows.top > 0;
    return scorer;
  }
  void see(const LogRecord& record) override { see(scorer_.score(record.text, record.lines)); }
  void replay(const LogRecord& record) override { (void)scorer_.score(record.text, record.lines); }
  void finish() override;
  nlohmann::json scorer_state() const override { return scorer_.state(); }
  void restore(const nlohmann::json& state) override { scorer_.restore(state); }
  Index lines() const override { return scorer_.line().lines(); }
  std::string metrics() const override { return prometheus_text(scorer_.alarms()); }
  void see(const LogAnomaly& scored);
  std::string rate_row(const LogRateAlarm& found) const;
  std::string rate_json_row(const LogRateAlarm& found) const;
  void rank(const LogRateAlarm& found);
  void print_drift(const LogAnomaly& scored) const;
  std::string heading(bool labeled) const;
  std::string row(const LogAnomaly& scored, const std::string* label) const;
  std::string json_row(const LogAnomaly& scored, const std::string* label) const;
  void add_alarm(const LogAnomaly& scored, LogJson& json) const;
  std::string masked() const;

  ScoreRows rows_;
  LogAnomalyScorer scorer_;
  RankedRates rates_;
  bool labeled_ = false;  // whether there is a column of labels
};

void LogRows::finish() {
  rates_.finish([&](const LogRateAlarm& found) { rank(found); });
  const std::string roc = rows_.finish(name());
  if (options().rows.json && !roc.empty()) print_result(fmt::format("{{\"roc\":{}}}\n", roc));
  if (only_alarms()) print_repeated_alarms(console(), scorer_.alarms(), options().rows.json, "lines");
}

void LogRows::see(const LogAnomaly& scored) {
  const ScoredLogLine& words = scored.words;
  if (words.number == 1) {
    const bool labeled = words.label || rows_.has_label_file();
    rows_.begin(labeled, heading(labeled));
  }
  labeled_ = words.label || rows_.has_label_file();
  for (const LogRateAlarm& found : scored.rates) {
    if (!only_alarms())
      rates_.add(found, [&](const LogRateAlarm& ended) { rank(ended); });
    else if (found.alarm.count == 1)
      print_result(options().rows.json ? rate_json_row(found) : rate_row(found));
  }
  if (only_alarms() && scored.drift) print_drift(scored);
  if (only_alarms() && (!scored.alarm || scored.alarm->count > 1)) return;
  rows_.see(
      {words.number, scored.surprisal_bits(), words.bits(), words.bits_per_symbol(), words.label,
       scorer_.line().lines() - words.number + 1},
      [&](const std::string* label) { return options().rows.json ? json_row(scored, label) : row(scored, label); });
}

/// Ranks a burst or a silence among the lines.
void LogRows::rank(const LogRateAlarm& found) {
  const double surprise = found.rate.p_bits;
  rows_.rank({.number = found.alarm.last_line, .score = surprise, .bits = surprise, .bits_per_symbol = surprise},
             [&] { return options().rows.json ? rate_json_row(found) : rate_row(found); });
}

/// Returns the row of an unusual rate of lines. The columns that describe a line are empty.
std::string LogRows::rate_row(const LogRateAlarm& found) const {
  const LogRateAnomaly& rate = found.rate;
  return fmt::format("{0}\t\t\t\t{1}\t{2}\t\t{1}\t{3:.3g}\t{4}\t\t\t{5}{6}{7}\n", found.alarm.last_line,
                     decimals(rate.p_bits), rate.template_id == 0 ? "all lines" : template_name(rate.template_id),
                     exp2_of(-rate.p_bits), kLogAlarmKinds[static_cast<std::size_t>(found.alarm.kind)],
                     labeled_ ? "\t" : "", options().masked ? "\t" : "",
                     options().rows.text ? "\t" + scorer_.describe(found) : "");
}

std::string LogRows::rate_json_row(const LogRateAlarm& found) const {
  const LogRateAnomaly& rate = found.rate;
  const std::string kind = kLogAlarmKinds[static_cast<std::size_t>(found.alarm.kind)];
  LogJson json = {{"line", found.alarm.last_line},
                  {"surprise", rate.p_bits},
                  {"unreduced", rate.p_bits},
                  {"p_value", exp2_of(-rate.p_bits)},
                  {"source", kind}};
  if (only_alarms()) {
    json["alarm"] = kind;
    json["limit"] = exp2_of(-scorer_.alarms().share_bits());
  }
  json["time"] = found.alarm.last_time;
  if (rate.template_id != 0) {
    json["template"] = template_name(rate.template_id);
    json["template_text"] = scorer_.template_text(rate.template_id);
  }
  json["lines"] = rate.count;
  json["expected"] = rate.expected;
  json["seconds"] = rate.seconds;
  if (only_alarms()) {
    json["count"] = found.alarm.count;
    json["first_seen"] = found.alarm.first_time;
    json["last_seen"] = found.alarm.last_time;
  }
  json["text"] = scorer_.describe(found);
  return one_line(json);
}

/// Prints an alarm about a field that appeared earlier. The columns that describe a line are empty.
void LogRows::print_drift(const LogAnomaly& scored) const {
  const LogAlarm& drift = *scored.drift;
  const std::string kind = kLogAlarmKinds[static_cast<std::size_t>(drift.kind)];
  if (!options().rows.json) {
    print_result(fmt::format("{}\t\t\t\t\t\t\t\t\t{}\t\t\t{}{}{}\n", scored.words.number, kind,
                             scored.words.label ? "\t" : "", options().masked ? "\t" : "",
                             options().rows.text ? "\t" + drift.cause : ""));
    return;
  }
  print_result(one_line({{"line", scored.words.number},
                         {"source", kind},
                         {"alarm", kind},
                         {"time", drift.last_time},
                         {"first_line", drift.first_line},
                         {"first_seen", drift.first_time},
                         {"last_seen", drift.last_time},
                         {"text", drift.cause}}));
}

/// Adds what an alarm shows in addition to the scores: the time, the template, the value with its alternatives, the
/// counts.
void LogRows::add_alarm(const LogAnomaly& scored, LogJson& json) const {
  const LogEvent& event = scorer_.detector().event();
  json["alarm"] = kLogAlarmKinds[static_cast<std::size_t>(scored.alarm->kind)];
  json["limit"] = scored.limit;
  json["time"] = scored.alarm->last_time;
  for (const LogEventValue& value : event.values) {
    const bool host = value.name == "host" || value.key == "host" || value.key == "hostname" || value.key == "service";
    if (host && !json.contains("host")) json["host"] = std::string(value.text);
    if (scorer_.detector().grouping().used && value.role == scorer_.detector().grouping().role)
      json["key"] = {{scorer_.detector().grouping().name, std::string(value.text)}};
  }
  json["template"] = template_name(event.template_id);
  json["template_text"] = std::string(event.shape);
  if (!scored.alarm->cause.empty())
    json[scored.alarm->kind == LogAlarmKind::drift ? "change" : "field"] = scored.alarm->cause;
  if (const LogEventValue* value = scored.score.value.value;
      value != nullptr && scored.score.source == LogSource::values) {
    json["name"] = label_text(*value);
    json["value"] = std::string(value->text);
    json["expected"] = scored.expected;
    json["position"] = value->text.data() >= scorer_.line().text().data() &&
                               value->text.data() < scorer_.line().text().data() + scorer_.line().text().size()
                           ? LogJson(value->text.data() - scorer_.line().text().data() + 1)
                           : LogJson();
  }
  json["count"] = scored.alarm->count;
  json["first_seen"] = scored.alarm->first_time;
  json["last_seen"] = scored.alarm->last_time;
}

std::string LogRows::heading(bool labeled) const {
  return fmt::format(
      "line\tsymbols\tbits\tbits_per_symbol\tsurprise\ttoken\ttoken_bits\tunreduced\tp_value\tsource\twords\torder"
      "\tvalues"
      "{}{}{}\n",
      labeled ? "\tlabel" : "", options().masked ? "\tmasked" : "", options().rows.text ? "\ttext" : "");
}

std::string LogRows::masked() const {
  std::string all;
  for (const MaskedValue& value : scorer_.line().parts().masked)
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", value.name, value.text);
  std::ranges::replace(all, '\t', ' ');
  return all;
}

/// The text is the last column and may therefore contain tabs.
std::string LogRows::row(const LogAnomaly& anomaly, const std::string* label) const {
  const ScoredLogLine& s = anomaly.words;
  const LogLineScore& score = anomaly.score;
  std::string text = fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.3g}\t{}\t{}\t{}\t{}", s.number, s.symbols,
                                 decimals(s.bits()), decimals(s.bits_per_symbol()), decimals(anomaly.surprisal_bits()),
                                 s.token, decimals(s.token_bits()), decimals(score.long_run_surprise), score.p_value(),
                                 kLogSources[static_cast<std::size_t>(score.source)], decimals(score.parts[0]),
                                 decimals(score.parts[1]), decimals(score.parts[2]));
  if (label != nullptr) text += '\t' + *label;
  if (options().masked) text += '\t' + masked();
  if (options().rows.text) text.append(1, '\t').append(scorer_.line().text());
  if (text.back() == '\r') text.pop_back();
  return text + '\n';
}

std::string LogRows::json_row(const LogAnomaly& anomaly, const std::string* label) const {
  const ScoredLogLine& s = anomaly.words;
  LogJson json = {{"line", s.number},
                  {"symbols", s.symbols},
                  {"bits", unsigned_zero(s.bits())},
                  {"bits_per_symbol", unsigned_zero(s.bits_per_symbol())},
                  {"surprise", unsigned_zero(anomaly.surprisal_bits())},
                  {"token", s.token},
                  {"token_bits", unsigned_zero(s.token_bits())},
                  {"unreduced", unsigned_zero(anomaly.score.long_run_surprise)},
                  {"p_value", anomaly.score.p_value()},
                  {"source", kLogSources[static_cast<std::size_t>(anomaly.score.source)]},
                  {"words", unsigned_zero(anomaly.score.parts[0])},
                  {"order", unsigned_zero(anomaly.score.parts[1])},
                  {"values", unsigned_zero(anomaly.score.parts[2])}};
  if (label != nullptr) json["label"] = *label;
  if (options().masked) {
    json["masked"] = LogJson::array();
    for (const MaskedValue& value : scorer_.line().parts().masked)
      json["masked"].push_back({{"name", std::string(value.name)}, {"text", std::string(value.text)}});
  }
  if (anomaly.alarm) add_alarm(anomaly, json);
  if (options().rows.text || only_alarms()) json["text"] = std::string(scorer_.line().text());
  return one_line(json);
}

/// Prints one row per masked value.
class LogValueRows {
 public:
  LogValueRows(Console& console, const SymbolModel& model, const ScoreLogOptions& options)
      : options_(options),
        rows_(console, options.rows, "surprise"),
        scorer_(model, options.scorer.adapt),
        source_(options.rows.data),
        joiner_(record_joiner(model)) {
    if (rows_.has_label_file())
      throw UsageError(
          "--labels FILE cannot be combined with --by value; use a log that contains its labels, or leave out "
          "--labels");
  }
  void run();

 private:
  void see(const LogRecord& record);
  void see(const LogValueScorer::Scored& scored);
  std::string row(const LogValueScorer::Scored& scored, const std::string* label) const;
  std::string json_row(const LogValueScorer::Scored& scored, const std::string* label) const;

  const ScoreLogOptions& options_;
  ScoreRows rows_;
  LogValueScorer scorer_;
  LineSource source_;
  std::optional<LogRecordJoiner> joiner_;  // no value: each line is a record
};

void LogValueRows::run() {
  source_.accept_carriage_returns();
  for (std::string_view line; source_.next(line);) {
    const std::optional<LogRecord> record = joiner_ ? joiner_->add(line) : LogRecord{.text = line};
    if (record) see(*record);
    if (source_.ready()) continue;
    flush_results();
    const bool waits = joiner_ && (joiner_->expects_records() || source_.within_line());
    if (!joiner_ || source_.wait(waits ? LogStream::kPauseAfterRecord : std::chrono::milliseconds())) continue;
    if (const std::optional<LogRecord> last = joiner_->finish()) see(*last);
    flush_results();
  }
  if (const std::optional<LogRecord> last = joiner_ ? joiner_->finish() : std::nullopt) see(*last);
  const std::string roc = rows_.finish(source_.name());
  if (options_.rows.json && !roc.empty()) print_result(fmt::format("{{\"roc\":{}}}\n", roc));
}

void LogValueRows::see(const LogRecord& record) {
  const std::vector<LogValueScorer::Scored>& values = scorer_.score(record.text, record.lines);
  const LogLineReader& read = scorer_.line();
  if (read.number() == 1)
    rows_.begin(read.label().has_value(),
                fmt::format("line\tname\tvalue\tsurprise{}{}\n", read.label() ? "\tlabel" : "",
                            options_.rows.text ? "\ttext" : ""));
  for (const LogValueScorer::Scored& scored : values) see(scored);
}

void LogValueRows::see(const LogValueScorer::Scored& scored) {
  const LogLineReader& read = scorer_.line();
  const double surprise = bits(scored.surprise);
  rows_.see({read.number(), surprise, surprise, surprise, read.label()}, [&](const std::string* label) {
    return options_.rows.json ? json_row(scored, label) : row(scored, label);
  });
}

std::string LogValueRows::row(const LogValueScorer::Scored& scored, const std::string* label) const {
  std::string value(scored.value.text);
  std::ranges::replace(value, '\t', ' ');
  std::string text =
      fmt::format("{}\t{}\t{}\t{}", scorer_.line().number(), scored.value.name, value, decimals(bits(scored.surprise)));
  if (label != nullptr) text += '\t' + *label;
  if (options_.rows.text) text.append(1, '\t').append(scorer_.line().text());
  if (text.back() == '\r') text.pop_back();
  return text + '\n';
}

std::string LogValueRows::json_row(const LogValueScorer::Scored& scored, const std::string* label) const {
  LogJson json = {{"line", scorer_.line().number()},
                  {"name", std::string(scored.value.name)},
                  {"value", std::string(scored.value.text)},
                  {"surprise", unsigned_zero(bits(scored.surprise))}};
  if (label != nullptr) json["label"] = *label;
  if (options_.rows.text) json["text"] = std::string(scorer_.line().text());
  return one_line(json);
}

}  // namespace

LogScoreOptions with_share(const SymbolModel& model, const ScoreLogOptions& options) {
  LogScoreOptions scorer = options.scorer;
  if (!options.alarms_per_day) return scorer;
  const std::optional<LogCard> card = log_card(model);
  if (!card || card->lines_per_day <= 0)
    throw UsageError(
        "--alarms-per-day needs the times of the training lines, and none were found; use --false-alarms SHARE");
  scorer.false_alarms = std::clamp(*options.alarms_per_day / card->lines_per_day, 1e-9, 0.5);
  return scorer;
}

void print_repeated_alarms(Console& console, const LogAlarms& alarms, bool json, std::string_view what) {
  constexpr std::size_t kMostRemarks = 20;
  const std::vector<const LogAlarm*> repeated = alarms.repeated();
  for (const LogAlarm* alarm : repeated)
    if (json)
      print_result(one_line({{"repeated", kLogAlarmKinds[static_cast<std::size_t>(alarm->kind)]},
                             {"first_line", alarm->first_line},
                             {"last_line", alarm->last_line},
                             {"first_seen", alarm->first_time},
                             {"last_seen", alarm->last_time},
                             {"count", alarm->count}}));
  if (json) return;
  for (std::size_t i = 0; i < std::min(kMostRemarks, alarms.new_fields().size()); ++i)
    console.remark(alarms.describe(alarms.new_fields()[i]));
  for (std::size_t i = 0; i < std::min(kMostRemarks, repeated.size()); ++i)
    console.remark(fmt::format("the alarm of line {} has {} {}; the last one is in line {}{}{}",
                               repeated[i]->first_line, repeated[i]->count, what, repeated[i]->last_line,
                               repeated[i]->kind == LogAlarmKind::drift ? ": " : "",
                               repeated[i]->kind == LogAlarmKind::drift ? repeated[i]->cause : std::string()));
  console.remark(fmt::format("{} alarms in {} {}; p-values up to {:.2g} raise one at the end", alarms.alarms(),
                             alarms.lines(), what, alarms.threshold()));
}

void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options) {
  end_with_success_on_termination();
  if (options.by_session)
    score_sessions(console, model, options);
  else if (options.by_value)
    LogValueRows(console, model, options).run();
  else
    LogRows(console, model, options).run();
}

}  // namespace unfold
