#include "model/logs/log_detector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "model/logs/log_json.h"
#include "model/logs/log_math.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kLinesForChoice = 100000;
/// Most anomalies are new messages, whereas order and values can be unusual in more ways.
constexpr std::array<double, 3> kSourceWeights = {2.0 / 3, 1.0 / 6, 1.0 / 6};
/// Scores that differ by less are considered equal: the rarity of a template drifts by this amount while counts grow.
constexpr double kSameScore = 0.5;
constexpr std::size_t kMostRoles = 12, kKeptTemplates = 50000;
constexpr double kLeastGain = 0.03;  // minimum share of the bits of the events that an order must save
constexpr double kLeastBits = 0.01;  // minimum number of bits per line that an order must save
/// Groupings that save at least this share of the bits that the best one saves are considered equally good.
constexpr double kSimilarGain = 0.9;

struct RoleCount {
  std::string name = {};
  Index lines = 0;
  Index measured = 0;  // lines with a number with a unit or a fraction
  CountTable values = {};
};

/// Returns whether a value is a number with a unit, a sign or a fraction, which is not an identifier.
bool is_measured(const LogEventValue& value) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return value.number && !std::ranges::all_of(value.text, is_digit);
}

/// Returns whether a value may identify a group of lines. Measurements and free text do not, unless a key or brackets,
/// `[3005]`, indicate that they do.
bool may_group(const LogEventValue& value) {
  if (value.name == "num" && value.before[1] == "[") return true;
  static constexpr std::array<std::string_view, 5> kNot = {"num", "hex", "path", "url", "word"};
  return !value.key.empty() || std::ranges::find(kNot, value.name) == kNot.end();
}

/// Returns log2 of the weighted sum of 1 / p over the sources.
double combined_source_bits(const std::array<double, 3>& bits) {
  const double most = std::ranges::max(bits);
  double sum = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) sum += kSourceWeights[i] * exp2_of(bits[i] - most);
  return std::max(0.0, most + log2_of(sum));
}

struct LabelCount {
  Index lines = 0, words = 0;
  CountTable values{4096};
  bool keyed = false;
};

}  // namespace

double LogLineScore::p_value() const { return exp2_of(-p_bits); }

void LogDetector::find_places(const EachLine& each_line, const std::string& role) {
  WordSlotLearner learner;
  each_line([&](LogLine& line) { learner.count_words(line); });
  each_line([&](LogLine& line) { learner.see(line); });
  slots_ = learner.finish();
  choose_fields(each_line, role);
}

void LogDetector::choose_fields(const EachLine& each_line, const std::string& role) {
  std::map<std::uint64_t, RoleCount> roles;
  std::map<std::uint64_t, LabelCount> labels;
  LogEventReader reader;
  Index lines = 0;
  each_line([&](LogLine& line) {
    if (lines++ >= kLinesForChoice) return;
    slots_.mask(line);
    const LogEvent& event = reader.read(line);
    for (const LogEventValue& value : event.values) {
      if (may_group(value) && (roles.contains(value.role) || roles.size() < 1000)) {
        RoleCount& count = roles[value.role];
        if (count.lines++ == 0) count.name = role_text(value, event);
        count.measured += is_measured(value);
        count.values.add(value.hash);
      }
      if (value.key.empty() || (labels.size() >= 1000 && !labels.contains(value.label))) continue;
      LabelCount& count = labels[value.label];
      ++count.lines;
      count.words += !value.number;
      count.values.add(value.hash);
    }
  });
  lines = std::min(lines, kLinesForChoice);
  std::vector<std::pair<Index, std::uint64_t>> followed;
  for (const auto& [label, count] : labels)
    if (count.values.different() > 1 && count.values.different() <= 64 && count.values.novelty() < 0.05 &&
        20 * count.lines >= lines && 2 * count.words >= count.lines)
      followed.emplace_back(-count.lines, label);
  std::ranges::sort(followed);
  std::vector<std::uint64_t> chosen;
  for (std::size_t i = 0; i < std::min(followed.size(), LogOrderModel::kMostChains - 1); ++i)
    chosen.push_back(followed[i].second);
  std::vector<std::pair<Index, std::uint64_t>> covering;
  std::vector<std::pair<std::uint64_t, std::string>> candidates;
  for (const auto& [id, count] : roles) {
    if (!role.empty() && count.name == role) candidates = {{id, count.name}};
    const bool recurs = 10 * count.values.different() <= 7 * count.lines;
    const bool measured = 2 * count.measured > count.lines;
    if (count.values.different() > 1 && recurs && !measured && 4 * count.lines >= lines)
      covering.emplace_back(-count.lines, id);
  }
  if (!role.empty() && candidates.empty()) {
    std::vector<std::pair<Index, std::string_view>> names;
    names.reserve(roles.size());
    for (const auto& [id, count] : roles) names.emplace_back(-count.lines, count.name);
    std::ranges::sort(names);
    if (names.size() > kMostRoles) names.resize(kMostRoles);
    std::vector<std::string_view> frequent;
    frequent.reserve(names.size());
    for (const auto& [count, name] : names) frequent.push_back(name);
    throw UsageError(fmt::format("--group {}: no line has a field with that name; the most frequent fields are {}",
                                 role, fmt::join(frequent, ", ")));
  }
  std::ranges::sort(covering);
  if (role.empty()) {
    candidates.emplace_back(LogOrderModel::kNoRole, "");
    for (std::size_t i = 0; i < std::min(covering.size(), kMostRoles); ++i)
      candidates.emplace_back(covering[i].second, roles[covering[i].second].name);
  }
  std::vector<Index> groups;
  groups.reserve(candidates.size());
  for (const auto& [id, name] : candidates)
    groups.push_back(id == LogOrderModel::kNoRole ? 1 : roles[id].values.different());
  grouping_ = choose_grouping(each_line, chosen, candidates, groups);
  if (!role.empty()) grouping_.used = true;
  order_ = LogOrderModel(std::move(chosen), grouping_.role);
}

/// Returns the grouping under which the events are the most predictable in the second half of the lines. Among
/// similarly good ones, it is the one with the most groups: a request rather than its host. `groups`: the number of
/// groups of each role.
LogGrouping LogDetector::choose_grouping(const EachLine& each_line, const std::vector<std::uint64_t>& labels,
                                         const std::vector<std::pair<std::uint64_t, std::string>>& roles,
                                         const std::vector<Index>& groups) const {
  WordSlots slots = slots_;
  std::vector<LogOrderModel> models;
  models.reserve(roles.size());
  for (const auto& [role, name] : roles) models.emplace_back(labels, role);
  std::vector<double> with(roles.size()), without(roles.size());  // nats
  LogEventReader reader;
  Index total = 0, line_number = 0, judged = 0;
  each_line([&](LogLine&) { ++total; });
  total = std::min(total, kLinesForChoice);
  each_line([&](LogLine& line) {
    if (line_number >= total) return;
    slots.mask(line);
    const LogEvent& event = reader.read(line);
    const bool judge = 2 * line_number++ >= total;
    judged += judge;
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (judge) with[i] += models[i].nats(event, LogOrderContext::last);
      if (judge)
        without[i] +=
            std::min(models[i].nats(event, LogOrderContext::none), models[i].nats(event, LogOrderContext::group));
      models[i].add(event);
      models[i].add_to_group(event);
    }
  });
  const double scale = judged > 0 ? 1 / (kNatsPerBit * static_cast<double>(judged)) : 0;
  std::vector<double> gains;
  gains.reserve(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) gains.push_back((without[i] - with[i]) * scale);
  const double most = std::ranges::max(gains);
  std::size_t best = 0;
  if (most >= kLeastBits || roles.size() == 1) {
    best = static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
    for (std::size_t i = 0; i < models.size(); ++i)
      if (gains[i] >= kSimilarGain * most && groups[i] > groups[best]) best = i;
  }
  LogGrouping grouping{.role = roles[best].first, .name = roles[best].second};
  grouping.bits = with[best] * scale;
  grouping.unordered_bits = without[best] * scale;
  grouping.used = gains[best] >= kLeastBits && with[best] < (1 - kLeastGain) * without[best];
  return grouping;
}

void LogDetector::raw_scores(double words) {
  score_ = {};
  score_.raw[0] = std::max(words, 0.0);
  if (const Index count = templates_.count(event_->template_id); count > 0)
    score_.raw[0] = std::min(score_.raw[0], log_ratio(templates_.seen() + templates_.different(), count) / kNatsPerBit);
  if (grouping_.used) score_.order = order_.score(*event_);
  score_.raw[1] = score_.order.bits;
  score_.value = values_.score(*event_);
  score_.raw[2] = score_.value.bits;
}

void LogDetector::combine() {
  double most = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    score_.long_run[i] = sources_[i].p_bits(std::max(0.0, score_.raw[i] - kSameScore));
    score_.parts[i] = recent_[i].p_bits(score_.long_run[i]);
    if (score_.long_run[i] <= most) continue;
    most = score_.long_run[i];
    score_.source = static_cast<LogSource>(i);
  }
  // A new value is at the same time a rare event of its field.
  const bool of_field = score_.order.chain != 0 && score_.value.value != nullptr;
  if (score_.source == LogSource::order && of_field && score_.value.value->label == score_.order.chain)
    score_.source = LogSource::values;
  score_.surprise = combined_source_bits(score_.parts);
  score_.long_run_surprise = combined_source_bits(score_.long_run);
}

void LogDetector::remember_scores() {
  surprise_.add(score_.long_run_surprise);
  for (const LogSource source : {LogSource::words, LogSource::values})
    recent_[static_cast<std::size_t>(source)].add(score_.long_run[static_cast<std::size_t>(source)]);
}

const LogLineScore& LogDetector::score(const LogLine& line, double words) {
  event_ = &reader_.read(line);
  raw_scores(words);
  combine();
  score_.p_bits = surprise_.p_bits(score_.long_run_surprise);
  return score_;
}

void LogDetector::learn_scored(bool learn_scores) {
  templates_.add(event_->template_id);
  values_.add(*event_);
  if (grouping_.used) order_.add(*event_);
  ++lines_;
  if (!learn_scores) return;
  remember_scores();
  sources_[static_cast<std::size_t>(LogSource::values)].add(score_.raw[2]);
}

void LogDetector::learn(const LogLine& line) {
  event_ = &reader_.read(line);
  learn_scored(false);
}

void LogDetector::pass(const LogLine& line) {
  if (grouping_.used) order_.add(reader_.read(line), false);
}

void LogDetector::hold_out(const LogLine& line, double words) {
  event_ = &reader_.read(line);
  raw_scores(words);
  held_out_.push_back(score_.raw);
  learn_scored(false);
}

void LogDetector::calibrate() {
  for (const auto& raw : held_out_)
    for (std::size_t i = 0; i < 3; ++i) sources_[i].add(raw[i]);
  for (const auto& raw : held_out_) {
    score_.raw = raw;
    combine();
    remember_scores();
  }
  held_out_.clear();
  recent_ = {};
}

void LogDetector::decay(double factor) {
  templates_.decay(factor);
  values_.decay(factor);
  order_.decay(factor);
}

std::string LogDetector::expected(const LogLineScore& score) const {
  return score.value.value == nullptr ? std::string() : values_.expected(*score.value.value);
}

const LogEventValue* LogDetector::new_field() const {
  for (const LogEventValue& value : event_->values)
    if (!value.key.empty() && !values_.knows(value)) return &value;
  return nullptr;
}

nlohmann::json LogDetector::to_json(bool whole) const {
  return {{"slots", slots_.to_json()},
          {"grouping",
           {{"role", grouping_.role},
            {"name", grouping_.name},
            {"used", grouping_.used},
            {"bits", grouping_.bits},
            {"unordered-bits", grouping_.unordered_bits}}},
          {"templates", whole ? templates_.to_json() : templates_.to_json(kKeptTemplates, 1)},
          {"values", values_.to_json(whole)},
          {"order", order_.to_json(whole)},
          {"calibration", {sources_[0].to_json(), sources_[1].to_json(), sources_[2].to_json(), surprise_.to_json()}},
          {"recent", {recent_[0].to_json(), recent_[1].to_json(), recent_[2].to_json()}},
          {"lines", lines_}};
}

LogDetector LogDetector::from_json(const nlohmann::json& json) {
  LogDetector detector;
  detector.slots_ = WordSlots::from_json(log_part(json, "slots"));
  const nlohmann::json& grouping = log_part(json, "grouping");
  const nlohmann::json& role = log_part(grouping, "role");
  if (!role.is_number_unsigned()) refuse_log_model("the grouping is inconsistent");
  detector.grouping_ = {.role = role.get<std::uint64_t>(),
                        .name = log_text(grouping, "name"),
                        .used = log_flag(grouping, "used"),
                        .bits = log_number(grouping, "bits"),
                        .unordered_bits = log_number(grouping, "unordered-bits")};
  detector.templates_ = CountTable::from_json(log_part(json, "templates"), std::size_t{1} << 18);
  detector.values_ = LogValueModel::from_json(log_part(json, "values"));
  detector.order_ = LogOrderModel::from_json(log_part(json, "order"));
  const nlohmann::json& calibration = log_list(json, "calibration");
  if (calibration.size() != 4) refuse_log_model("the calibration is inconsistent");
  for (std::size_t i = 0; i < 3; ++i) detector.sources_[i] = TailCalibration::from_json(calibration[i]);
  detector.surprise_ = TailCalibration::from_json(calibration[3]);
  const nlohmann::json& recent = log_list(json, "recent");
  if (recent.size() != detector.recent_.size()) refuse_log_model("inconsistent recent scores");
  for (std::size_t i = 0; i < detector.recent_.size(); ++i) detector.recent_[i] = RecentScores::from_json(recent[i]);
  detector.lines_ = log_count(json, "lines");
  return detector;
}

}  // namespace unfold
