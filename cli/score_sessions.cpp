#include "cli/score_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/logs/log_metrics.h"
#include "app/logs/log_sessions.h"
#include "base/decimals.h"
#include "base/printable.h"
#include "cli/log_stream.h"
#include "cli/terminal/metrics_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

class SessionRows final : public LogStream {
 public:
  SessionRows(Console& console, const SymbolModel& model, const ScoreLogOptions& options)
      : LogStream(console, options, model),
        rows_(console, options.rows, "surprise"),
        scorer_(model, options.scorer.adapt, options.scorer.name),
        alarms_({.share = with_share(model, options).false_alarms.value_or(LogAlarmOptions().share)}) {
    if (rows_.has_label_file() && !scorer_.one_per_line())
      throw UsageError(
          "--labels FILE labels single lines and cannot be used with sessions of several lines; use a log that "
          "contains its labels, or leave out --labels");
  }

 private:
  void see(const LogRecord& record) override;
  void replay(const LogRecord& record) override;
  void finish() override;
  nlohmann::json scorer_state() const override { return {{"scorer", scorer_.state()}, {"alarms", alarms_.to_json()}}; }
  void restore(const nlohmann::json& state) override {
    scorer_.restore(state.at("scorer"));
    alarms_.restore(state.at("alarms"));
  }
  Index lines() const override { return scorer_.line().lines(); }
  std::string metrics() const override { return prometheus_text(alarms_); }

  void begin();
  const LogAlarm* decide(const ScoredSession& scored);
  void print(const ScoredSession& scored, const LogAlarm* alarm);
  std::string row(const ScoredSession& scored, const std::string* label) const;
  std::string json_row(const ScoredSession& scored, const LogAlarm* alarm, const std::string* label) const;

  ScoreRows rows_;
  LogSessionScorer scorer_;
  LogAlarms alarms_;
  double limit_ = 0;  // limit of the p-value when the last session was compared with it
};

void SessionRows::begin() {
  if (scorer_.line().number() != 1) return;
  const bool labeled = scorer_.line().labeled().value_or(false) || rows_.has_label_file();
  rows_.begin(labeled, fmt::format("line\tsession\tfirst_line\tevents\tsurprise\tp_value\tsource{}\tend\treason\n",
                                   labeled ? "\tlabel" : ""));
}

const LogAlarm* SessionRows::decide(const ScoredSession& scored) {
  if (!only_alarms()) return nullptr;
  limit_ = alarms_.threshold();
  return alarms_.see_session(scored.score.p_bits, reason_of(scored.score, scorer_.names()), scored.session.last_line,
                             scored.session.last_time_text);
}

void SessionRows::see(const LogRecord& record) {
  const std::vector<ScoredSession>& ended = scorer_.read(record.text, record.lines);
  begin();
  for (const ScoredSession& scored : ended) print(scored, decide(scored));
}

void SessionRows::replay(const LogRecord& record) {
  for (const ScoredSession& scored : scorer_.read(record.text, record.lines)) (void)decide(scored);
}

/// With a state, open sessions are continued by the next run.
void SessionRows::finish() {
  if (!has_state())
    for (const ScoredSession& scored : scorer_.finish()) print(scored, decide(scored));
  const std::string roc = rows_.finish(name());
  if (options().rows.json && !roc.empty()) print_result(fmt::format("{{\"roc\":{}}}\n", roc));
  if (only_alarms()) print_repeated_alarms(console(), alarms_, options().rows.json, "sessions");
}

void SessionRows::print(const ScoredSession& scored, const LogAlarm* alarm) {
  if (only_alarms() && (alarm == nullptr || alarm->count > 1)) return;
  const std::optional<std::string> label =
      scored.session.label.empty() ? std::nullopt : std::optional(scored.session.label);
  const double surprise = scored.score.surprise;
  rows_.see({scored.session.last_line, surprise, surprise, surprise, label}, [&](const std::string* its_label) {
    return options().rows.json ? json_row(scored, alarm, its_label) : row(scored, its_label);
  });
}

std::string SessionRows::row(const ScoredSession& scored, const std::string* label) const {
  const LogSession& session = scored.session;
  const SessionScore& score = scored.score;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{:.3g}\t{}{}{}\t{}\t{}\n", session.last_line, escape_cell(session.key),
                     session.first_line, session.events.size(), decimals(score.surprise), score.p_value(),
                     kSessionSources[static_cast<std::size_t>(score.source)], label == nullptr ? "" : "\t",
                     label == nullptr ? "" : *label, kLogSessionEnds[static_cast<std::size_t>(session.end)],
                     escape_cell(reason_of(score, scorer_.names())));
}

std::string SessionRows::json_row(const ScoredSession& scored, const LogAlarm* alarm, const std::string* label) const {
  const LogSession& session = scored.session;
  const SessionScore& score = scored.score;
  nlohmann::ordered_json json = {{"line", session.last_line},
                                 {"session", session.key},
                                 {"first_line", session.first_line},
                                 {"events", session.events.size()},
                                 {"surprise", unsigned_zero(score.surprise)},
                                 {"p_value", score.p_value()},
                                 {"source", kSessionSources[static_cast<std::size_t>(score.source)]}};
  for (const SessionSource source : scorer_.card().scorer.chosen()) {
    const auto i = static_cast<std::size_t>(source);
    json[kSessionSources[i]] = unsigned_zero(score.bits[i]);
  }
  if (label != nullptr) json["label"] = *label;
  json["end"] = kLogSessionEnds[static_cast<std::size_t>(session.end)];
  json["reason"] = reason_of(score, scorer_.names());
  if (!scorer_.one_per_line()) json["field"] = scorer_.card().field;
  if (!session.first_time_text.empty()) {
    json["first_time"] = session.first_time_text;
    json["last_time"] = session.last_time_text;
  }
  if (alarm != nullptr) {
    json["alarm"] = kLogAlarmKinds[static_cast<std::size_t>(alarm->kind)];
    json["limit"] = limit_;
    json["count"] = alarm->count;
  }
  return one_line(json);
}

}  // namespace

void score_sessions(Console& console, const SymbolModel& model, const ScoreLogOptions& options) {
  SessionRows(console, model, options).run();
}

}  // namespace unfold
