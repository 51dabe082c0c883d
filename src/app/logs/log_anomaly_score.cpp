#include "app/logs/log_anomaly_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "base/formats/text_encoding.h"
#include "model/logs/log_json.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

/// Maximum number of cached shapes. A log with more distinct shapes is masked too little for counts to be informative.
constexpr std::size_t kMostShapes = std::size_t{1} << 20;

double natural_log(double x) {
  double y = 0;
  vector_log(&x, &y, 1);
  return y;
}

double natural_log(Index x) { return natural_log(static_cast<double>(x)); }

LogCard required_card(const SymbolModel& model) {
  std::optional<LogCard> card = log_card(model);
  if (!card) throw UsageError("this model was not trained with --format log; train it on a log with this option");
  return *std::move(card);
}

/// Removes the label from a line and returns it.
std::string take_label(std::string_view& line) {
  const std::size_t length = std::min(line.find_first_of(" \t\r"), line.size());
  std::string label(line.substr(0, length));
  line.remove_prefix(std::min(line.find_first_not_of(" \t", length), line.size()));
  return label;
}

/// Returns a token, or the beginning of a long one.
std::string beginning_of_token(std::string_view token) {
  constexpr std::size_t kMostTokenBytes = 256;
  if (token.size() <= kMostTokenBytes) return std::string(token);
  std::size_t end = kMostTokenBytes;
  while (end > 0 && (static_cast<unsigned char>(token[end]) & 0xC0) == 0x80) --end;  // between two characters
  return std::string(token.substr(0, end)) + "...";
}

void require_rule(const LogCard& card, const std::string& name) {
  const auto is_named = [&](const LogRule& rule) { return rule.name == name; };
  if (!name.empty() && std::ranges::none_of(card.rules.rules(), is_named))
    throw UsageError(
        fmt::format("--context {}: this model has no rule of that name; common names are host and pid", name));
}

}  // namespace

double ScoredLogLine::bits() const { return unfold::bits(nats); }
double ScoredLogLine::bits_per_symbol() const { return unfold::bits(nats) / static_cast<double>(symbols); }
double ScoredLogLine::surprisal_bits() const { return unfold::bits(surprise); }
double ScoredLogLine::token_bits() const { return unfold::bits(token_nats); }

void LogLineReader::read(std::string_view line, Index lines) {
  number_ = lines_ + 1;
  lines_ += lines;
  ++records_;
  if (number_ == 1) {
    reject_utf16(name_, line);
    line = strip_bom(line);
  }
  const bool empty = line.find_first_of(" \t\r") == 0 || line.empty();
  if (label_column_ && empty && unlabeled_ == 0) unlabeled_ = number_;
  if (label_column_ && !labeled_ && !empty) labeled_ = begins_with_label(line);
  if (labeled_.value_or(false)) {
    if (unlabeled_ > 0)
      throw DataError(
          fmt::format("{}: line {} does not begin with a label, but other lines do; add a label or remove the line",
                      name_, unlabeled_));
    label_ = take_label(line);
  }
  text_ = line;
  shaper_.read(text_, parts_);
}

LogValueScorer::LogValueScorer(const SymbolModel& model, bool adapt, std::string name)
    : card_(required_card(model)), reader_(card_, std::move(name)), adapt_(adapt) {}

const std::vector<LogValueScorer::Scored>& LogValueScorer::score(std::string_view line, Index lines) {
  reader_.read(line, lines);
  scored_.clear();
  for (const MaskedValue& value : reader_.parts().masked) {
    scored_.push_back({value, card_.values.surprise(value)});
    if (adapt_) card_.values.count(value);
  }
  return scored_;
}

LogScorer::LogScorer(const SymbolModel& model, LogScoreOptions options)
    : model_(model),
      options_(std::move(options)),
      card_(required_card(model)),
      reader_(card_, options_.name),
      predictor_(model.predictor()) {
  require_rule(card_, options_.context);
  predictor_->set_learning(false);
}

/// Returns the surprisal of a shape: the sum over its tokens and the maximum.
LogScorer::Shape LogScorer::measured(std::string_view text) const {
  Shape shape;
  predictor_->reset();
  for (const Symbol symbol : model_.alphabet().encode(std::string(text) + "\n")) {
    double nats = -static_cast<double>(predictor_->log_probability(symbol));
    if (symbol == model_.alphabet().unknown()) nats += natural_log(card_.unknown_words);
    if (!std::isfinite(nats))
      throw ModelError(fmt::format("{}: the prediction for token {} of \"{}\" is not finite", model_.spec_text(),
                                   shape.symbols + 1, text));
    shape.nats += nats;
    if (shape.symbols++ == 0 || nats > shape.token_nats) {
      shape.token_nats = nats;
      shape.number = shape.symbols - 1;  // temporarily, the index of the token
    }
    predictor_->observe(symbol);
  }
  std::string_view rest = text;
  for (Index i = 0; i < shape.number; ++i) rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  shape.token = shape.number + 1 == shape.symbols ? kLineEndWord : beginning_of_token(rest.substr(0, rest.find(' ')));
  return shape;
}

LogScorer::Shape& LogScorer::shape_of_line() {
  const std::string& text = reader_.parts().shape;
  const auto found = shapes_.find(text);
  if (found != shapes_.end()) return found->second;
  if (shapes_.size() >= kMostShapes) forget_rare();
  Shape shape = measured(text);
  shape.number = shapes_made_++;
  return shapes_.emplace(text, std::move(shape)).first->second;
}

/// Evicts shapes seen only once; evicts all if that does not free enough.
void LogScorer::forget_rare() {
  std::erase_if(shapes_, [](const auto& entry) { return entry.second.seen <= 1; });
  if (shapes_.size() >= kMostShapes / 2) shapes_.clear();
  pairs_.clear();
  followed_.clear();
  previous_.clear();
}

double LogScorer::surprise(const Shape& shape) {
  const Index different = card_.shapes + shapes_seen_;
  std::array<double, 3> parts{natural_log(card_.lines) - shape.nats,
                              natural_log(different) - shape.nats / static_cast<double>(shape.symbols), 0};
  const bool seen = options_.adapt && shape.seen > 0;
  if (seen) parts[2] = natural_log(shape.seen);
  const double all = natural_log(card_.lines + different + (options_.adapt ? reader_.records() - 1 : 0));
  return -mixed_with_context(log_sum_exp(parts.data(), seen ? 3 : 2) - all, shape);
}

double LogScorer::mixed_with_context(double log_probability, const Shape& shape) {
  if (options_.context.empty()) return log_probability;
  const auto value =
      std::ranges::find_if(reader_.parts().masked, [&](const MaskedValue& v) { return v.name == options_.context; });
  if (value == reader_.parts().masked.end()) return log_probability;
  const auto [last, first_time] = previous_.try_emplace(std::string(value->text), shape.number);
  if (first_time) return log_probability;
  const Index before = std::exchange(last->second, shape.number);
  Context& context = followed_[before];
  Index& together = pairs_[fmt::format("{} {}", before, shape.number)];
  if (context.lines > 0) {
    const std::array<double, 2> parts{natural_log(context.different) + log_probability,
                                      together > 0 ? natural_log(together) : 0};
    log_probability = log_sum_exp(parts.data(), together > 0 ? 2 : 1) - natural_log(context.lines + context.different);
  }
  ++context.lines;
  context.different += together++ == 0;
  return log_probability;
}

ScoredLogLine LogScorer::score(std::string_view line, Index lines) {
  reader_.read(line, lines);
  Shape& shape = shape_of_line();
  ScoredLogLine scored{.number = reader_.number(),
                       .symbols = shape.symbols,
                       .nats = shape.nats,
                       .surprise = surprise(shape),
                       .token = shape.token,
                       .token_nats = shape.token_nats,
                       .label = reader_.label()};
  if (options_.adapt && shape.seen++ == 0) ++shapes_seen_;
  return scored;
}

std::string LogScorer::template_text(std::uint64_t template_id) const { return card_.templates.text_of(template_id); }

nlohmann::json LogScorer::state() const {
  std::vector<std::pair<std::string_view, Index>> sorted;
  for (const auto& [text, shape] : shapes_)
    if (shape.seen > 0) sorted.emplace_back(text, shape.seen);
  std::ranges::sort(sorted);
  nlohmann::json shapes = nlohmann::json::array(), seen = shapes;
  for (const auto& [text, count] : sorted) {
    shapes.push_back(text);
    seen.push_back(count);
  }
  return {{"lines", reader_.lines()},
          {"records", reader_.records()},
          {"labelled", reader_.labeled() ? nlohmann::json(*reader_.labeled()) : nlohmann::json()},
          {"shapes", std::move(shapes)},
          {"seen", std::move(seen)},
          {"shapes-seen", shapes_seen_}};
}

void LogScorer::restore(const nlohmann::json& json) {
  const nlohmann::json& labeled = log_part(json, "labelled");
  reader_.continue_after(log_count(json, "lines"), log_count(json, "records"),
                         labeled.is_boolean() ? std::optional(labeled.get<bool>()) : std::nullopt);
  const nlohmann::json& shapes = log_list(json, "shapes");
  const std::vector<Index> seen = log_counts(json, "seen");
  if (seen.size() != shapes.size() || seen.size() > kMostShapes) refuse_log_model("the shapes are inconsistent");
  shapes_.clear();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!shapes[i].is_string()) refuse_log_model("the shapes are inconsistent");
    const std::string text = shapes[i].get<std::string>();
    Shape shape = measured(text);
    shape.number = shapes_made_++;
    shape.seen = seen[i];
    shapes_.emplace(text, std::move(shape));
  }
  shapes_seen_ = log_count(json, "shapes-seen");
}

LogAnomalyScorer::LogAnomalyScorer(const SymbolModel& model, const LogScoreOptions& options)
    : adapt_(options.adapt),
      decides_(options.false_alarms.has_value()),
      words_(model, options),
      detector_(log_detector(model)),
      alarms_({.share = options.false_alarms.value_or(LogAlarmOptions().share)}),
      rates_(decides_ || options.rates ? log_rates(model) : LogRateModel()) {}

LogAnomaly LogAnomalyScorer::score(std::string_view line, Index lines) {
  LogAnomaly anomaly{.words = words_.score(line, lines)};
  anomaly.score = detector_.score(words_.line().parts(), anomaly.words.surprisal_bits());
  const std::optional<LogTime> time = decides_ || !rates_.empty() ? words_.line().time() : std::optional<LogTime>();
  if (decides_) {
    anomaly.limit = alarms_.threshold();
    const LogAlarm* alarm =
        alarms_.see(detector_, anomaly.score, anomaly.words.number, time ? time->text : std::string_view());
    if (alarm != nullptr) {
      anomaly.alarm = *alarm;
      anomaly.expected = detector_.expected(anomaly.score);
    }
    const LogAlarm* drift = alarms_.see_drift(anomaly.words.number, time ? time->text : std::string_view());
    if (drift != nullptr) anomaly.drift = *drift;
  }
  if (time) find_rates(time->seconds, time->text, anomaly);
  if (adapt_) detector_.learn_scored();
  return anomaly;
}

/// Finds unusual rates at the time of the line that was scored last.
void LogAnomalyScorer::find_rates(double seconds, std::string_view time, LogAnomaly& anomaly) {
  if (rates_.empty()) return;
  const Index line = anomaly.words.number;
  for (const LogRateAnomaly& rate : rates_.see(seconds, detector_.event().template_id, alarms_.share_bits())) {
    const LogAlarm* alarm = decides_ ? alarms_.see_rate(rate, line, time) : nullptr;
    if (alarm != nullptr)
      anomaly.rates.push_back({rate, *alarm});
    else if (!decides_)
      anomaly.rates.push_back({rate,
                               {.kind = rate.burst ? LogAlarmKind::burst : LogAlarmKind::silence,
                                .count = 1,
                                .first_line = line,
                                .last_line = line,
                                .first_time = std::string(time),
                                .last_time = std::string(time)}});
  }
}

nlohmann::json LogAnomalyScorer::state() const {
  return {{"words", words_.state()},
          {"detector", detector_.to_json(true)},
          {"alarms", alarms_.to_json()},
          {"rates", rates_.to_json()}};
}

void LogAnomalyScorer::restore(const nlohmann::json& json) {
  words_.restore(log_part(json, "words"));
  detector_ = LogDetector::from_json(log_part(json, "detector"));
  alarms_.restore(log_part(json, "alarms"));
  rates_ = LogRateModel::from_json(log_part(json, "rates"));
}

std::string LogAnomalyScorer::template_text(std::uint64_t template_id) const {
  return words_.template_text(template_id);
}

std::string LogAnomalyScorer::describe(const LogRateAlarm& alarm) const {
  const LogRateAnomaly& rate = alarm.rate;
  const std::string text = rate.template_id == 0 ? std::string() : template_text(rate.template_id);
  return fmt::format("{} of {}: {} lines in {:g} s instead of {:.3g}{}{}",
                     kLogAlarmKinds[static_cast<std::size_t>(alarm.alarm.kind)],
                     rate.template_id == 0 ? "all lines" : template_name(rate.template_id), rate.count, rate.seconds,
                     rate.expected, text.empty() ? "" : ": ", text);
}

}  // namespace unfold
