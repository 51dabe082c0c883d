#include "cli/score_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "app/logs/log_input.h"
#include "app/logs/log_metrics.h"
#include "app/logs/log_state.h"
#include "base/decimals.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/metrics_text.h"
#include "cli/terminal/result_position.h"
#include "model/logs/log_json.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using LogJson = nlohmann::ordered_json;

/// Resolves --alarms-per-day with the number of lines per day in training.
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

nlohmann::json output_json(const std::optional<ResultPosition>& output) {
  if (!output) return nullptr;
  return {{"device", output->device}, {"inode", output->inode}, {"bytes", output->bytes}};
}

std::optional<ResultPosition> output_of(const nlohmann::json& json) {
  if (json.is_null()) return std::nullopt;
  const nlohmann::json &device = log_part(json, "device"), &inode = log_part(json, "inode");
  if (!device.is_number_unsigned() || !inode.is_number_unsigned()) refuse_log_model("inconsistent output");
  return ResultPosition{
      .device = device.get<std::uint64_t>(), .inode = inode.get<std::uint64_t>(), .bytes = log_count(json, "bytes")};
}

class LogRows {
 public:
  LogRows(Console& console, const SymbolModel& model, const ScoreLogOptions& options)
      : console_(console),
        options_(options),
        rows_(console, options.rows, "surprise"),
        scorer_(model, with_share(model, options)),
        input_(options.rows.data) {
    if (options.state) state_.emplace(*options.state, log_fingerprint(model));
  }
  void run();

 private:
  bool only_alarms() const { return options_.scorer.false_alarms || options_.alarms_per_day; }
  void resume();
  void record(std::string_view line);
  void save();
  void write_metrics(bool at_end);
  nlohmann::json state() const;
  void see(const LogAnomaly& scored);
  void finish();
  void print_repeated() const;
  std::string heading(bool labelled) const;
  std::string row(const LogAnomaly& scored, const std::string* label) const;
  std::string json_row(const LogAnomaly& scored, const std::string* label) const;
  void add_alarm(const LogAnomaly& scored, LogJson& json) const;
  std::string masked() const;

  Console& console_;
  const ScoreLogOptions& options_;
  ScoreRows rows_;
  LogAnomalyScorer scorer_;
  LogInput input_;
  std::optional<LogStateFile> state_;
  std::chrono::steady_clock::time_point next_metrics_ = {};
};

void LogRows::run() {
  constexpr std::size_t kCommitEach = std::size_t{1} << 15;
  if (state_)
    resume();
  else
    input_.open();
  std::size_t waiting = 0;  // bytes of lines whose rows may not be written yet
  for (std::string_view line; input_.next(line);) {
    if (state_) record(line);
    see(scorer_.score(line));
    waiting += line.size() + 1;
    if (input_.ready() && (!state_ || waiting < kCommitEach)) continue;
    flush_results();
    if (state_) save();
    write_metrics(false);
    waiting = 0;
  }
  finish();
}

nlohmann::json LogRows::state() const {
  const std::optional<ResultPosition> output = result_position();
  return {{"scorer", scorer_.state()}, {"position", input_.position().to_json()}, {"output", output_json(output)}};
}

/// Restores the state and continues after the lines that have already been scored. Rows that an interrupted run wrote
/// without recording them are not written twice.
void LogRows::resume() {
  LogInputPosition position;
  std::optional<ResultPosition> output;
  if (const nlohmann::json* snapshot = state_->snapshot()) {
    scorer_.restore(log_part(*snapshot, "scorer"));
    position = LogInputPosition::from_json(log_part(*snapshot, "position"));
    output = output_of(log_part(*snapshot, "output"));
  }
  for (const LogJournalRecord& record : state_->replayed()) {
    if (!record.event) {
      position.pass(record.line);
      (void)scorer_.score(record.line);
    } else if (const nlohmann::json& event = **record.event; event.contains("output")) {
      output = output_of(event["output"]);
    } else {
      position = LogInputPosition::from_json(log_part(event, "file"));
    }
  }
  for (const std::string& note : input_.continue_after(position)) console_.remark(note);
  if (output) continue_results(*output);
  if (state_->snapshot() == nullptr) state_->write_snapshot(state());
}

/// Adds a line to the journal, after the beginning of its file.
void LogRows::record(std::string_view line) {
  if (input_.began_file()) {
    const LogInputPosition& now = input_.position();
    LogInputPosition begin;
    begin.begin(now.device, now.inode, input_.carry());
    state_->append_event({{"file", begin.to_json()}});
    if (scorer_.line().number() > 0)
      console_.remark(fmt::format("line {} is line 1 of {}", scorer_.line().number() + 1, input_.file()));
  }
  state_->append(line);
}

void LogRows::save() {
  state_->append_event({{"output", output_json(result_position())}});
  state_->commit();
  if (state_->wants_snapshot()) state_->write_snapshot(state());
}

/// Writes the counters, while lines are read every ten seconds.
void LogRows::write_metrics(bool at_end) {
  constexpr std::chrono::seconds kPause{10};
  if (!options_.metrics) return;
  const auto now = std::chrono::steady_clock::now();
  if (!at_end && now < next_metrics_) return;
  next_metrics_ = now + kPause;
  write_file_atomically(*options_.metrics, prometheus_text(scorer_));
}

void LogRows::finish() {
  const std::string roc = rows_.finish(input_.name());
  if (options_.rows.json && !roc.empty()) print_result(fmt::format("{{\"roc\":{}}}\n", roc));
  if (only_alarms()) print_repeated();
  if (input_.left_bytes() > 0)
    console_.remark(fmt::format("{}: the last {} bytes have no line end; they are left for the next run", input_.name(),
                                input_.left_bytes()));
  write_metrics(true);
  if (!state_) return;
  flush_results();
  state_->write_snapshot(state());
}

void LogRows::print_repeated() const {
  constexpr std::size_t kMostRemarks = 20;
  const std::vector<const LogAlarm*> repeated = scorer_.alarms().repeated();
  for (const LogAlarm* alarm : repeated)
    if (options_.rows.json)
      print_result(one_line({{"repeated", kLogAlarmKinds[static_cast<std::size_t>(alarm->kind)]},
                             {"first_line", alarm->first_line},
                             {"last_line", alarm->last_line},
                             {"first_seen", alarm->first_time},
                             {"last_seen", alarm->last_time},
                             {"count", alarm->count}}));
  if (options_.rows.json) return;
  for (std::size_t i = 0; i < std::min(kMostRemarks, repeated.size()); ++i)
    console_.remark(fmt::format("the alarm of line {} has {} lines, the last one is line {}", repeated[i]->first_line,
                                repeated[i]->count, repeated[i]->last_line));
  console_.remark(fmt::format("{} alarms in {} lines", scorer_.alarms().alarms(), scorer_.alarms().lines()));
}

void LogRows::see(const LogAnomaly& scored) {
  const ScoredLogLine& words = scored.words;
  if (words.number == 1) {
    const bool labelled = words.label || rows_.has_label_file();
    rows_.begin(labelled, heading(labelled));
  }
  if (only_alarms() && (!scored.alarm || scored.alarm->count > 1)) return;
  rows_.see(
      {words.number, scored.surprisal_bits(), words.bits(), words.bits_per_symbol(), words.label},
      [&](const std::string* label) { return options_.rows.json ? json_row(scored, label) : row(scored, label); });
}

/// Adds what an alarm shows in addition to the scores: the time, the template, the value with its alternatives, the
/// counts.
void LogRows::add_alarm(const LogAnomaly& scored, LogJson& json) const {
  const LogEvent& event = scorer_.detector().event();
  json["alarm"] = kLogAlarmKinds[static_cast<std::size_t>(scored.alarm->kind)];
  json["time"] = scored.alarm->last_time;
  for (const LogEventValue& value : event.values) {
    const bool host = value.name == "host" || value.key == "host" || value.key == "hostname" || value.key == "service";
    if (host && !json.contains("host")) json["host"] = std::string(value.text);
    if (scorer_.detector().grouping().used && value.role == scorer_.detector().grouping().role)
      json["key"] = {{scorer_.detector().grouping().name, std::string(value.text)}};
  }
  json["template"] = template_name(event.template_id);
  json["template_text"] = std::string(event.shape);
  if (!scored.alarm->cause.empty()) json["field"] = scored.alarm->cause;
  if (const LogEventValue* value = scored.score.value.value;
      value != nullptr && scored.score.source == LogSource::values) {
    json["name"] = label_text(*value);
    json["value"] = std::string(value->text);
    json["expected"] = scorer_.detector().expected(scored.score);
    json["position"] = value->text.data() >= scorer_.line().text().data() &&
                               value->text.data() < scorer_.line().text().data() + scorer_.line().text().size()
                           ? LogJson(value->text.data() - scorer_.line().text().data() + 1)
                           : LogJson();
  }
  json["count"] = scored.alarm->count;
  json["first_seen"] = scored.alarm->first_time;
  json["last_seen"] = scored.alarm->last_time;
}

std::string LogRows::heading(bool labelled) const {
  return fmt::format(
      "line\tsymbols\tbits\tbits_per_symbol\tsurprise\ttoken\ttoken_bits\tp_value\tsource\twords\torder\tvalues"
      "{}{}{}\n",
      labelled ? "\tlabel" : "", options_.masked ? "\tmasked" : "", options_.rows.text ? "\ttext" : "");
}

std::string LogRows::masked() const {
  std::string all;
  for (const MaskedValue& value : scorer_.line().parts().masked)
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", value.name, value.text);
  std::ranges::replace(all, '\t', ' ');
  return all;
}

/// The text is the last column, so that it may contain tabs.
std::string LogRows::row(const LogAnomaly& anomaly, const std::string* label) const {
  const ScoredLogLine& s = anomaly.words;
  const LogLineScore& score = anomaly.score;
  std::string text =
      fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.3g}\t{}\t{}\t{}\t{}", s.number, s.symbols, decimals(s.bits()),
                  decimals(s.bits_per_symbol()), decimals(anomaly.surprisal_bits()), s.token, decimals(s.token_bits()),
                  score.p_value(), kLogSources[static_cast<std::size_t>(score.source)], decimals(score.parts[0]),
                  decimals(score.parts[1]), decimals(score.parts[2]));
  if (label != nullptr) text += '\t' + *label;
  if (options_.masked) text += '\t' + masked();
  if (options_.rows.text) text.append(1, '\t').append(scorer_.line().text());
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
                  {"p_value", anomaly.score.p_value()},
                  {"source", kLogSources[static_cast<std::size_t>(anomaly.score.source)]},
                  {"words", unsigned_zero(anomaly.score.parts[0])},
                  {"order", unsigned_zero(anomaly.score.parts[1])},
                  {"values", unsigned_zero(anomaly.score.parts[2])}};
  if (label != nullptr) json["label"] = *label;
  if (options_.masked) {
    json["masked"] = LogJson::array();
    for (const MaskedValue& value : scorer_.line().parts().masked)
      json["masked"].push_back({{"name", std::string(value.name)}, {"text", std::string(value.text)}});
  }
  if (anomaly.alarm) add_alarm(anomaly, json);
  if (options_.rows.text || only_alarms()) json["text"] = std::string(scorer_.line().text());
  return one_line(json);
}

/// Prints one row per masked value.
class LogValueRows {
 public:
  LogValueRows(Console& console, const SymbolModel& model, const ScoreLogOptions& options)
      : options_(options),
        rows_(console, options.rows, "surprise"),
        scorer_(model, options.scorer.adapt),
        source_(options.rows.data) {
    if (rows_.has_label_file())
      throw UsageError("--labels applies to lines; --by value only supports labels contained in the lines");
  }
  void run();

 private:
  void see(const LogValueScorer::Scored& scored);
  std::string row(const LogValueScorer::Scored& scored, const std::string* label) const;
  std::string json_row(const LogValueScorer::Scored& scored, const std::string* label) const;

  const ScoreLogOptions& options_;
  ScoreRows rows_;
  LogValueScorer scorer_;
  LineSource source_;
};

void LogValueRows::run() {
  for (std::string_view line; source_.next(line);) {
    const std::vector<LogValueScorer::Scored>& values = scorer_.score(line);
    const LogLineReader& read = scorer_.line();
    if (read.number() == 1)
      rows_.begin(read.label().has_value(),
                  fmt::format("line\tname\tvalue\tsurprise{}{}\n", read.label() ? "\tlabel" : "",
                              options_.rows.text ? "\ttext" : ""));
    for (const LogValueScorer::Scored& scored : values) see(scored);
    if (!source_.ready()) flush_results();
  }
  const std::string roc = rows_.finish(source_.name());
  if (options_.rows.json && !roc.empty()) print_result(fmt::format("{{\"roc\":{}}}\n", roc));
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

void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options) {
  end_with_success_on_termination();
  if (options.by_value)
    LogValueRows(console, model, options).run();
  else
    LogRows(console, model, options).run();
}

}  // namespace unfold
