#include "app/logs/log_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "app/logs/log_anomaly_score.h"
#include "app/logs/log_sessions.h"
#include "base/formats/text_encoding.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "data/counts/distinct_count.h"
#include "data/logs/log_time.h"
#include "data/schema/table_layout.h"
#include "data/text/labels.h"
#include "model/logs/log_json.h"
#include "unfold/base/formats/json.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr const char* kLogKey = "log";
constexpr const char* kLineSessions = "line";  // --group: each line is a session
constexpr Index kLeastLinesToHoldOut = 50, kHeldOutShare = 5, kHeldOutBlocks = 10;

LogRules rules_of(const TrainSettings& settings) {
  return settings.log_rules ? LogRules::read(Input::open(*settings.log_rules)) : LogRules();
}

Index count_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  const auto number = found == json.end() ? std::nullopt : whole_number<Index>(*found);
  if (!number || *number < 1) throw ModelError(fmt::format("the model card: log.{} is not a number above 0", key));
  return *number;
}

/// Returns the number of lines with each label as readable text: "-: 904, KERNDTLB: 60".
std::string count_labels(const std::vector<std::string>& labels) {
  std::map<std::string, Index> counts;
  for (const std::string& label : labels) ++counts[label];
  std::string text;
  for (const auto& [label, count] : counts) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", label, count);
  return text;
}

/// Rejects UTF-16, from which a model would learn zeros between letters.
void check_encoding(const std::vector<Input>& inputs) {
  for (const Input& input : inputs) reject_utf16(input.name(), input.bytes());
}

/// Returns a note on bytes that do not occur in text; empty if there are none among the first 16 MB.
std::string note_on_binary(const Input& input) {
  constexpr std::size_t kChecked = std::size_t{1} << 24;
  const std::string_view text = input.bytes().substr(0, kChecked);
  const auto is_binary = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r' && byte != '\f' && byte != 0x1B) ||
           byte == 0x7F;
  };
  const auto count = std::ranges::count_if(text, is_binary);
  if (count == 0) return {};
  const auto line = 1 + std::count(text.begin(), std::ranges::find_if(text, is_binary), '\n');
  return fmt::format(
      "note: {} contains {} control characters, which do not occur in text, the first in line {}; check "
      "whether it is a log",
      input.name(), count, line);
}

/// Returns 0 if the lines have no times.
double lines_per_day(const std::vector<Input>& inputs, const LogClock& beginning) {
  double lines = 0, seconds = 0;
  for (const Input& input : inputs) {
    std::optional<LogTime> first, last;
    Index here = 0;
    LogClock clock = beginning;
    for_each_log_line(input.bytes(), [&](std::string_view line) {
      ++here;
      const std::optional<LogTime> time = clock.read(line);
      if (time && !first) first = time;
      if (time) last = time;
    });
    if (!first || last->seconds <= first->seconds) continue;
    lines += static_cast<double>(here);
    seconds += last->seconds - first->seconds;
  }
  constexpr double kSecondsOfDay = 86400;
  return seconds > 0 ? lines * kSecondsOfDay / seconds : 0;
}

/// Notes that a log begins before the log that is read before it, such as app.log.1 after app.log.
void note_reversed_logs(const std::vector<Input>& inputs, const LogClock& clock, Reporter& reporter) {
  constexpr double kDay = 86400, kHalfAYear = 183 * kDay;
  std::optional<LogMoment> before;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::optional<LogMoment> now = first_log_time(inputs[i].bytes(), clock);
    // Times without a date begin again every day, and dates without a year every year.
    if (before && now && before->seconds >= kDay && now->seconds < before->seconds &&
        before->seconds - now->seconds < kHalfAYear) {
      return reporter.remark(
          fmt::format("note: {} begins before {}, which is read first; name the oldest log first, because the order of "
                      "the lines is learned",
                      inputs[i].name(), inputs[i - 1].name()));
    }
    before = std::move(now);
  }
}

/// If every line is a session, returns the format of the sessions; std::nullopt if a field groups lines.
std::optional<SessionLines> find_session_lines(const std::vector<Input>& inputs,
                                               const std::optional<std::string>& group) {
  if (inputs.empty() || (group && *group != kLineSessions)) return std::nullopt;
  const std::optional<SessionLines> found = guess_session_lines(inputs.front().bytes());
  if (!found && group)
    throw UsageError(fmt::format("--group {}: the lines are not sessions of event numbers, such as \"blk_7,5 5 22 11\"",
                                 kLineSessions));
  return found;
}

Index lines_of(const std::vector<Input>& inputs) {
  Index lines = 0;
  for (const Input& input : inputs) for_each_log_line(input.bytes(), [&](std::string_view) { ++lines; });
  return lines;
}

void require_record_start(const std::vector<Input>& inputs, const std::string& pattern) {
  const LogRecordStart start({.pattern = pattern});
  bool any = false;
  for (const Input& input : inputs)
    for_each_log_line(input.bytes(), [&](std::string_view line) { any = any || start.begins(line, false); });
  if (!any) throw UsageError(fmt::format("--record-start: no line matches {}", in_quotes(pattern)));
}

/// Returns the rule by which the lines of a record are recognized, even if this log contains only records of one line;
/// no value for a log without times that contains lines which would continue a record.
std::optional<LogRecordRule> guess_record_rule(const std::vector<Input>& inputs) {
  if (inputs.empty()) return std::nullopt;
  LogRecordRule rule{.timed = begins_records_with_times(inputs.front().bytes()), .in_training = false};
  if (rule.timed) return rule;
  const LogRecordStart start(rule);
  const bool any = std::ranges::any_of(inputs, [&](const Input& i) { return continues_records(i.bytes(), start); });
  return any ? std::nullopt : std::optional(rule);
}

/// Joins the lines of records, as the card states. `joined`: is set if there are records of several lines.
std::vector<Input> records_of_inputs(std::vector<Input> inputs, const std::optional<LogRecordRule>& rule,
                                     bool* joined = nullptr) {
  if (!rule) return inputs;
  for (Input& input : inputs) {
    std::optional<std::string> records = joined_records(input.bytes(), *rule);
    if (!records) continue;
    if (joined != nullptr) *joined = true;
    input.require_whole();
    input = Input::from_bytes(input.name(), *std::move(records));
  }
  return inputs;
}

LogRecordRule record_rule_of(const nlohmann::json& json) {
  return {.pattern = log_text(json, "start"),
          .timed = log_flag(json, "timed"),
          .in_training = log_flag(json, "in-training")};
}

LogDateOrder date_order_of(const nlohmann::json& json) {
  const auto found = json.find("dates");
  if (found == json.end()) return LogDateOrder::day_month_year;
  for (std::size_t i = 0; i < kLogDateOrders.size(); ++i)
    if (*found == kLogDateOrders[i]) return static_cast<LogDateOrder>(i);
  throw ModelError("the model card: log.dates is not an order of day, month and year");
}

std::optional<double> time_of(const nlohmann::json& json) {
  constexpr double kMost = 2.5e11;  // before the year 10000
  if (!json.contains("time")) return std::nullopt;
  const double time = log_number(json, "time");
  if (!(std::fabs(time) < kMost)) throw ModelError("the model card: log.time is not the time of a log");
  return time;
}

std::vector<Input> shapes_of_inputs(const LogCard& card, const std::vector<Input>& inputs) {
  LogShaper shaper(card);
  const auto read = [&](std::string_view line, LogLine& out) { shaper.read(line, out); };
  std::vector<Input> result;
  result.reserve(inputs.size());
  for (const Input& input : inputs)
    result.push_back(Input::from_bytes(input.name(), shapes_of(input.bytes(), read).text));
  return result;
}

/// Returns the first complete time of a log whose first lines mix complete times with others; no value for other logs.
std::optional<double> time_of_mixed_log(const std::vector<Input>& inputs, LogDateOrder order) {
  constexpr Index kMostLines = 1000;
  std::optional<double> complete;
  bool incomplete = false;
  Index lines = 0;
  for (const Input& input : inputs)
    for_each_log_line(input.bytes(), [&](std::string_view line) {
      if (lines++ >= kMostLines) return;
      const std::optional<LogTime> time = log_time(line, order);
      if (!time) return;
      if (time->gap != LogTimeGap::none)
        incomplete = true;
      else if (!complete)
        complete = time->seconds;
    });
  return incomplete ? complete : std::nullopt;
}

}  // namespace

nlohmann::json to_json(const LogCard& card) {
  nlohmann::json json = {{"rules", card.rules.text()},
                         {"label-column", card.label_column},
                         {"lines", card.lines},
                         {"shapes", card.shapes},
                         {"unknown-words", card.unknown_words},
                         {"values", card.values.to_json()},
                         {"fields", card.fields},
                         {"slots", card.slots.to_json()},
                         {"lines-per-day", card.lines_per_day},
                         {"dates", kLogDateOrders[static_cast<std::size_t>(card.clock.order())]},
                         {"templates", card.templates.to_json()}};
  if (card.records)
    json["records"] = {
        {"start", card.records->pattern}, {"timed", card.records->timed}, {"in-training", card.records->in_training}};
  if (card.clock.now()) json["time"] = *card.clock.now();
  if (card.session_lines) json["session-lines"] = {{"id", card.session_lines->has_id}};
  return json;
}

void LogShaper::read(std::string_view line, LogLine& out) {
  if (!session_lines_) {
    scanner_.scan(line, out);
    slots_.mask(out);
    return;
  }
  out.repaired = find_invalid_utf8(line) >= 0 ? replace_invalid_utf8(line) : std::string();
  session_lines_->split(out.repaired.empty() ? line : std::string_view(out.repaired), parts_);
  out.shape.clear();
  out.masked.clear();
  if (!parts_.id.empty()) out.masked.push_back({"id", parts_.id, {}});
  for (const std::string_view event : parts_.events) out.shape.append(out.shape.empty() ? "" : " ").append(event);
}

nlohmann::json LogTraining::to_json() const {
  nlohmann::json json = unfold::to_json(card_);
  json["detector"] = detector_.to_json(false);
  if (parts_) json.update(**parts_);
  return json;
}

std::uint64_t log_fingerprint(const SymbolModel& model) {
  return hash_of_cell(model.configuration().value(kLogKey, nlohmann::json()).dump());
}

LogDetector log_detector(const SymbolModel& model) {
  const auto found = model.configuration().find(kLogKey);
  if (found == model.configuration().end())
    throw UsageError("this model was not trained with --format log; train it on a log with this option");
  return LogDetector::from_json(log_part(*found, "detector"));
}

LogRateModel log_rates(const SymbolModel& model) {
  const auto found = model.configuration().find(kLogKey);
  if (found == model.configuration().end() || !found->is_object() || !found->contains("rates")) return {};
  return LogRateModel::from_json((*found)["rates"]);
}

std::optional<LogRecordJoiner> record_joiner(const SymbolModel& model) {
  const std::optional<LogCard> card = log_card(model);
  if (!card || !card->records) return std::nullopt;
  return std::optional<LogRecordJoiner>(std::in_place, LogRecordStart(*card->records));
}

std::optional<LogCard> log_card(const SymbolModel& model) {
  const auto found = model.configuration().find(kLogKey);
  if (found == model.configuration().end()) return std::nullopt;
  const nlohmann::json& json = *found;
  if (!json.is_object() || !json.contains("rules") || !json["rules"].is_string() || !json.contains("label-column") ||
      !json["label-column"].is_boolean())
    throw ModelError("the model card: `log` does not specify how the log was read");
  if (model.alphabet().kind() != SymbolKind::words || model.alphabet().unknown() == kNoSymbol)
    throw ModelError("the model card: a log requires an alphabet of words with <unk>");
  try {
    return LogCard{
        .rules = LogRules::parse(json["rules"].get<std::string>(), "rules in the model card"),
        .label_column = json["label-column"].get<bool>(),
        .lines = count_of(json, "lines"),
        .shapes = count_of(json, "shapes"),
        .unknown_words = count_of(json, "unknown-words"),
        .values = LogValues::from_json(json.value("values", nlohmann::json::object())),
        .fields = json.contains("fields") && log_flag(json, "fields"),
        .slots = json.contains("slots") ? WordSlots::from_json(json["slots"]) : WordSlots(),
        .lines_per_day = json.contains("lines-per-day") ? log_number(json, "lines-per-day") : 0,
        .templates = json.contains("templates") ? LogTemplateList::from_json(json["templates"]) : LogTemplateList(),
        .session_lines = json.contains("session-lines")
                             ? std::optional(SessionLines{log_flag(json["session-lines"], "id")})
                             : std::nullopt,
        .records = json.contains("records") ? std::optional(record_rule_of(json["records"])) : std::nullopt,
        .clock = LogClock(date_order_of(json), time_of(json))};
  } catch (const UsageError& error) {
    throw ModelError(error.what());
  }
}

/// Selects every fifth block of lines; none in a short log.
class LogTraining::HeldOut {
 public:
  explicit HeldOut(Index lines)
      : block_(lines < kLeastLinesToHoldOut ? 0 : std::max<Index>(1, lines / (kHeldOutShare * kHeldOutBlocks))) {}
  bool operator()(Index line) const { return block_ > 0 && line / block_ % kHeldOutShare == kHeldOutShare - 1; }

 private:
  Index block_;
};

LogTraining::LogTraining(const TrainSettings& settings)
    : card_{.rules = rules_of(settings), .fields = true}, scanner_(card_.rules, true) {
  // Reports an invalid expression before the data is read.
  if (settings.record_start) (void)LogRecordStart({.pattern = *settings.record_start});
}

/// Finds the order of day, month and year in numeric dates.
void LogTraining::find_date_order(const std::vector<Input>& inputs, Reporter& reporter) {
  LogDateOrders orders;
  for (const Input& input : inputs) for_each_log_line(input.bytes(), [&](std::string_view line) { orders.add(line); });
  const std::optional<LogDateOrder> found = orders.most_likely();
  const LogDateOrder order = found.value_or(LogDateOrder::day_month_year);
  card_.clock = LogClock(order, time_of_mixed_log(inputs, order));
  if (!found) return;
  reporter.remark(fmt::format("dates such as {} are read as {}", in_quotes(orders.example()),
                              kLogDateOrders[static_cast<std::size_t>(*found)]));
}

/// Joins the lines of records if --record-start is given or the log has records of several lines.
void LogTraining::join_records(std::vector<Input>& inputs, const TrainSettings& s, Reporter& reporter) {
  if (s.record_start && s.record_start->empty()) return;  // matches every line
  if (s.record_start) {
    require_record_start(inputs, *s.record_start);
    card_.records = LogRecordRule{.pattern = *s.record_start};
  } else {
    card_.records = guess_record_rule(inputs);
  }
  if (!card_.records) return;
  const Index lines = lines_of(inputs);
  inputs = log_records(card_, std::move(inputs));
  if (!card_.records->in_training) return;
  const char* const reason = s.record_start
                                 ? ""
                                 : ": indented lines and stack traces without a time are joined to the line before "
                                   "them; --record-start '' reads each line separately";
  reporter.remark(fmt::format("{} lines are read as {} records{}", lines, lines_of(inputs), reason));
}

/// Learns the positions of words and values, and calibrates the scores on every fifth block of lines.
void LogTraining::learn_detector(const std::vector<Input>& inputs, const std::optional<std::string>& group) {
  const auto each_text = [&](const std::function<void(std::string_view)>& use) {
    for (const Input& input : inputs) for_each_log_line(input.bytes(), use);
  };
  LogLine line;
  const auto each_line = [&](const std::function<void(LogLine&)>& use) {
    each_text([&](std::string_view text) {
      scanner_.scan(text, line);
      use(line);
    });
  };
  card_.lines_per_day = lines_per_day(inputs, card_.clock);
  detector_.find_places(each_line, group.value_or(""));
  card_.slots = detector_.slots();
  const HeldOut held_out(lines_of(inputs));
  Index number = 0;
  each_line([&](LogLine& read) {
    detector_.mask(read);
    if (held_out(number++))
      detector_.pass(read);
    else
      detector_.learn(read);
  });
  const std::unique_ptr<SymbolModel> words = words_model(inputs, held_out);
  if (words == nullptr) return;
  LogScorer scorer(*words);
  detector_.begin_calibration();
  number = 0;
  each_text([&](std::string_view text) {
    scanner_.scan(text, line);
    detector_.mask(line);
    if (held_out(number++))
      detector_.hold_out(line, scorer.score(text).surprisal_bits());
    else
      detector_.pass(line);
  });
  detector_.calibrate();
}

/// Learns the sessions of the log, if a field identifies them or each line is one.
void LogTraining::learn_sessions(const std::vector<Input>& inputs, bool required, Reporter& reporter) {
  const LogGrouping& grouping = detector_.grouping();
  if (!card_.session_lines && grouping.role == LogOrderModel::kNoRole) return;
  LogShaper shaper(card_);
  LogLine line;
  const auto each_line = [&](const std::function<void(std::string_view, const LogLine&)>& use) {
    for (const Input& input : inputs)
      for_each_log_line(input.bytes(), [&](std::string_view text) {
        shaper.read(text, line);
        use(text, line);
      });
  };
  const std::optional<LogSessionCard> found = unfold::learn_sessions(each_line, grouping, detector_.followed_fields(),
                                                                     card_.session_lines, card_.clock, required);
  if (!found) return;
  parts_.emplace(nlohmann::json{{"sessions", unfold::to_json(*found)}});
  reporter.remark(describe(*found));
}

/// Returns a word model of the lines that are not held out; null if none is held out.
std::unique_ptr<SymbolModel> LogTraining::words_model(const std::vector<Input>& inputs, const HeldOut& held_out) const {
  LogCard card{.rules = card_.rules, .fields = card_.fields, .slots = card_.slots};
  LogShaper shaper(card);
  LogLine line;
  std::string text;
  std::unordered_set<std::uint64_t> different;
  Index all = 0;
  for (const Input& input : inputs)
    for_each_log_line(input.bytes(), [&](std::string_view raw) {
      if (held_out(all++)) return;
      shaper.read(raw, line);
      text.append(line.shape).append(1, '\n');
      different.insert(hash_of_cell(line.shape));
      ++card.lines;
    });
  if (card.lines == all) return nullptr;
  card.shapes = static_cast<Index>(different.size());
  std::vector<Input> shapes;
  shapes.push_back(Input::from_bytes("the log", std::move(text)));
  Alphabet alphabet = build_alphabet(shapes, {.kind = SymbolKind::words, .with_unknown = true});
  const Corpus corpus = Corpus::load(std::move(shapes), std::move(alphabet), {});
  const Split training = whole_corpus(corpus, "training");
  std::unique_ptr<FittedModel> model = make_fitted_model(kDefaultLogModel, corpus.alphabet());
  Team team(1);
  model->fit({.corpus = corpus, .training = training}, {}, team);
  model->configuration()[kLogKey] = unfold::to_json(card);
  return model;
}

std::vector<Input> LogTraining::read_data(std::vector<Input> inputs, TrainSettings& s, Reporter& reporter) {
  check_encoding(inputs);
  for (const Input& input : inputs) reporter.note_if(note_on_binary(input));
  inputs = with_line_feeds(std::move(inputs));
  find_date_order(inputs, reporter);
  note_reversed_logs(inputs, card_.clock, reporter);
  for (const Input& input : inputs) learned_.add(input, card_.clock);
  join_records(inputs, s, reporter);
  if (!s.label_column && std::ranges::all_of(inputs, [](const Input& i) { return begins_with_labels(i.bytes()); })) {
    s.label_column = true;
    if (!s.only_label) s.only_label = std::string(kNormalLabel);
    std::vector<std::string> labels;
    for (const Input& input : inputs) {
      const std::vector<std::string> some = split_labels(input).labels;
      labels.insert(labels.end(), some.begin(), some.end());
    }
    reporter.remark(fmt::format("the first column contains labels ({}); training uses only lines with the label {}",
                                count_labels(labels), *s.only_label));
  }
  card_.label_column = s.label_column;
  inputs = unlabeled(std::move(inputs), s.label_column, s.only_label);
  card_.session_lines = find_session_lines(inputs, s.sequences);
  if (card_.session_lines) card_.records.reset();
  if (card_.session_lines && s.record_start)
    throw UsageError("--record-start: each line of this file is a session; leave it out");
  std::optional<std::string> group = s.sequences;
  if (card_.session_lines) group.reset();
  if (!card_.session_lines) learn_detector(inputs, group);
  learn_sessions(inputs, group.has_value(), reporter);
  LogShaper shaper(card_);
  std::vector<double> times;
  std::vector<std::uint64_t> templates;
  LogClock clock = card_.clock;
  const auto read = [&](std::string_view line, LogLine& out) {
    shaper.read(line, out);
    const std::optional<LogTime> time = card_.session_lines ? std::nullopt : clock.read(line);
    if (!time) return;
    times.push_back(time->seconds);
    templates.push_back(hash_of_cell(out.shape));
  };
  std::vector<Input> result;
  for (const Input& input : inputs) {
    LogTemplates shapes = shapes_of(input.bytes(), read, [&](const LogLine& line) {
      for (const MaskedValue& value : line.masked) card_.values.count(value);
      card_.templates.count(line.shape);
      shapes_.add(line.shape);
    });
    input.require_whole();
    card_.lines += shapes.lines;
    card_.shapes += shapes.different;
    if (!is_fitted_model(s.model))
      card_.unknown_words = std::max(card_.unknown_words, make_rare_words_unknown(shapes.text));
    result.push_back(Input::from_bytes(input.name(), std::move(shapes.text)));
  }
  if (shapes_.removed() == 0) card_.shapes = shapes_.different();
  LogRateModel rates;
  rates.fit(times, templates);
  if (!rates.empty()) {
    nlohmann::json parts = parts_ ? **parts_ : nlohmann::json::object();
    parts["rates"] = rates.to_json();
    parts_.emplace(std::move(parts));
  }
  return result;
}

std::vector<Input> LogTraining::read_more(const std::vector<Input>& inputs, const TrainSettings& s) const {
  check_encoding(inputs);
  return shapes_of_inputs(
      card_, unlabeled(records_of_inputs(with_line_feeds(inputs), card_.records), s.label_column, s.only_label));
}

Input with_line_feeds(Input log) {
  if (line_end_of(log.bytes()) == '\n') return log;
  log.require_whole();
  std::string text(log.bytes());
  std::ranges::replace(text, '\r', '\n');
  return Input::from_bytes(log.name(), std::move(text));
}

std::vector<Input> with_line_feeds(std::vector<Input> logs) {
  for (Input& log : logs) log = with_line_feeds(std::move(log));
  return logs;
}

std::vector<Input> log_records(LogCard& card, std::vector<Input> inputs) {
  bool joined = false;
  inputs = records_of_inputs(std::move(inputs), card.records, &joined);
  if (joined) card.records->in_training = true;
  return inputs;
}

std::vector<Input> log_shapes(const LogCard& card, const std::vector<Input>& inputs,
                              const std::optional<std::string>& only) {
  check_encoding(inputs);
  return shapes_of_inputs(card,
                          unlabeled(records_of_inputs(with_line_feeds(inputs), card.records), card.label_column, only));
}

}  // namespace unfold
