#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "app/common/line_source.h"
#include "app/compare/evaluation_data.h"
#include "app/logs/log_anomaly_score.h"
#include "app/logs/log_data.h"
#include "app/report/report_parts.h"
#include "base/printable.h"
#include "data/counts/distinct_count.h"
#include "data/logs/log_time.h"
#include "model/logs/log_math.h"
#include "model/registry/run_folder.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr std::size_t kMostAnomalies = 25, kMostTemplates = 40, kMostShownText = 240, kBarsOfTimeline = 120;
constexpr double kReportedShare = 0.001;  // false alarms
constexpr Index kBetweenProgress = 4096;  // lines

/// A line that is listed in the report.
struct ListedLine {
  Index number = 0;
  double surprise = 0, unreduced = 0, p_value = 1;
  LogSource source = LogSource::words;
  std::string time = {}, template_id = {}, text = {};
};

struct ReportedAlarm {
  LogAlarm alarm = {};
  std::string text = {};
};

/// What the report shows of one template.
struct TemplateLines {
  Index lines = 0;
  std::string text = {};
};

/// Lines by time or, without times, by line number. The number of stretches is bounded: when there are twice as many
/// as shown, neighbors are joined.
class Timeline {
 public:
  void see(double at, double surprise, bool is_new) {
    if (stretches_.empty()) begin_ = at;
    for (; position(at) >= 2 * kBarsOfTimeline; width_ *= 2) join();
    const std::size_t here = position(at);
    if (here >= stretches_.size()) stretches_.resize(here + 1);
    Stretch& stretch = stretches_[here];
    ++stretch.lines;
    stretch.new_templates += is_new;
    stretch.highest = std::max(stretch.highest, surprise);
  }
  template <class Value>
  ChartSeries series(const std::string& label, double unit, Value value) const {
    ChartSeries series{.curve = {label, {}}};
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      const double y = value(stretches_[i]);
      series.curve.points.push_back({static_cast<double>(i) * width_ / unit, {y, y, y}});
    }
    return series;
  }
  struct Stretch {
    Index lines = 0, new_templates = 0;
    double highest = 0;
  };
  double width() const { return width_; }

 private:
  std::size_t position(double at) const {
    return static_cast<std::size_t>(std::clamp((at - begin_) / width_, 0.0, 1e15));
  }
  void join() {
    std::vector<Stretch> half((stretches_.size() + 1) / 2);
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      Stretch& to = half[i / 2];
      to.lines += stretches_[i].lines;
      to.new_templates += stretches_[i].new_templates;
      to.highest = std::max(to.highest, stretches_[i].highest);
    }
    stretches_ = std::move(half);
  }

  double begin_ = 0, width_ = 1;
  std::vector<Stretch> stretches_;
};

std::string shown(std::string_view text) {
  if (text.size() <= kMostShownText) return escape_controls(text);
  while (text.size() > kMostShownText || (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80)
    text.remove_suffix(1);
  if (static_cast<unsigned char>(text.back()) >= 0xC0) text.remove_suffix(1);
  return escape_controls(text) + "…";
}

/// Scores a log and collects what the sections show, in bounded memory.
class LogInspection {
 public:
  LogInspection(const SymbolModel& model, const LogCard& card)
      : card_(card), scorer_(model, {.name = "the log", .false_alarms = kReportedShare}) {
    for (const LogTemplateCount& one : card.templates.most_frequent()) known_.emplace(one.id, one.lines);
  }
  void see(std::string_view line, Index lines) {
    const LogAnomaly scored = scorer_.score(line, lines);
    const std::optional<LogTime> time = scorer_.line().time();
    const std::uint64_t id = scorer_.detector().event().template_id;
    TemplateLines& of_template = templates_[id];
    const bool is_first = of_template.lines++ == 0;
    if (is_first) of_template.text = shown(scorer_.detector().event().shape);
    const bool is_new = is_first && is_unseen(id);
    ++lines_;
    if (time && !begin_) begin_ = std::string(time->text);
    timed_ += time.has_value();
    const double surprise = scored.score.surprise;
    by_line_.see(static_cast<double>(lines_), surprise, is_new);
    if (time) by_time_.see(time->seconds, surprise, is_new);
    list(scored, time ? std::string(time->text) : std::string());
    const auto text = [&] { return shown(scorer_.line().text()); };
    if (scored.alarm) list_alarm(*scored.alarm, 0, text);
    for (const LogRateAlarm& rate : scored.rates)
      list_alarm(rate.alarm, rate.rate.template_id, [&] { return shown(scorer_.describe(rate)); });
    if (scored.drift) {
      list_alarm(*scored.drift, hash_of_cell(scored.drift->cause), text);
      changes_.push_back(scored.drift->cause);
    }
    if (scored.alarm && scored.alarm->kind == LogAlarmKind::drift && scored.alarm->count == 1)
      changes_.push_back(scored.alarm->cause);
  }
  Index lines() const { return lines_; }

  PageSection anomalies() const {
    PageSection section{.id = "anomalies",
                        .title = "Most anomalous lines",
                        .note =
                            "At most one line of each template. The anomaly score is in bits. It is reduced while "
                            "the lines before it are unusual, too; the p-value is the share of normal lines whose "
                            "unreduced score is at least as high. The source is the words of the line, its order or "
                            "its values."};
    std::vector<std::vector<std::string>> rows;
    for (const ListedLine& one : listed_)
      rows.push_back({fmt::format("{}", one.number), one.time, fmt::format("{:.1f}", one.surprise),
                      fmt::format("{:.1f}", one.unreduced), fmt::format("{:.2g}", one.p_value),
                      kLogSources[static_cast<std::size_t>(one.source)], one.template_id, one.text});
    section.missing = "The log has no lines.";
    if (!rows.empty())
      section.blocks.push_back(
          table_block({"line", "time", "score", "unreduced", "p-value", "source", "template", "text"}, rows));
    return section;
  }
  PageSection alarms() const {
    PageSection section{
        .id = "alarms",
        .title = "Alarms",
        .note = fmt::format("The alarms of unfold score --false-alarms {}. Repetitions of an anomaly are counted; for "
                            "a burst or a silence, the count is the number of time windows.",
                            kReportedShare)};
    std::vector<std::vector<std::string>> rows;
    for (const auto& [key, one] : alarms_)
      rows.push_back({fmt::format("{}", one.alarm.first_line), kLogAlarmKinds[static_cast<std::size_t>(one.alarm.kind)],
                      one.alarm.first_time, one.alarm.last_time, fmt::format("{}", one.alarm.count),
                      one.alarm.cause.empty() ? one.text : one.alarm.cause});
    section.missing = "There is no alarm.";
    if (rows.empty()) return section;
    section.blocks.push_back(table_block({"line", "kind", "first seen", "last seen", "count", "text"}, rows));
    if (scorer_.alarms().alarms() > static_cast<Index>(rows.size()))
      section.blocks.push_back(
          note_block(fmt::format("The first {} of {} alarms.", rows.size(), scorer_.alarms().alarms())));
    return section;
  }
  PageSection timeline() const {
    PageSection section{.id = "timeline",
                        .title = "Timeline",
                        .note =
                            "Number of lines, highest anomaly score and "
                            "new templates over the log."};
    section.missing = "The log has no lines.";
    if (lines_ == 0) return section;
    const bool timed = 2 * timed_ > lines_;
    const Timeline& shown = timed ? by_time_ : by_line_;
    constexpr double kHour = 3600;
    const double unit = timed ? kHour : 1;
    const Axis x{.label = timed ? fmt::format("hours since {}", begin_.value_or("")) : "line"};
    const std::string each = timed ? fmt::format("{:g} s", shown.width()) : fmt::format("{:g} lines", shown.width());
    if (timed)
      section.blocks.push_back(chart_block(
          "Lines", x, {"lines in " + each},
          {shown.series("lines", unit, [](const Timeline::Stretch& s) { return static_cast<double>(s.lines); })}));
    section.blocks.push_back(
        chart_block("Highest anomaly score", x, {"bits"},
                    {shown.series("score", unit, [](const Timeline::Stretch& s) { return s.highest; })}));
    const bool has_new = std::ranges::any_of(templates_, [&](const auto& known) { return is_unseen(known.first); });
    if (!has_new) {
      section.blocks.push_back(note_block("All templates of the log occurred in training."));
      return section;
    }
    section.blocks.push_back(chart_block("Templates that training did not contain", x, {"new templates in " + each},
                                         {shown.series("new templates", unit, [](const Timeline::Stretch& s) {
                                           return static_cast<double>(s.new_templates);
                                         })}));
    return section;
  }
  PageSection templates() const {
    PageSection section{.id = "templates",
                        .title = "Templates",
                        .note = "The most frequent templates of the log, with their share in training."};
    std::vector<std::pair<Index, std::uint64_t>> sorted;
    for (const auto& [id, one] : templates_) sorted.emplace_back(-one.lines, id);
    std::ranges::sort(sorted);
    const std::size_t all = sorted.size();
    sorted.resize(std::min(all, kMostTemplates));
    std::vector<std::vector<std::string>> rows;
    rows.reserve(sorted.size());
    for (const auto& [count, id] : sorted) rows.push_back(template_row(id));
    section.missing = "The log has no lines.";
    if (rows.empty()) return section;
    section.blocks.push_back(table_block({"template", "lines", "share", "in training", "text"}, rows));
    if (all > rows.size())
      section.blocks.push_back(note_block(fmt::format("{} of {} templates are shown.", rows.size(), all)));
    return section;
  }
  PageSection drift() const {
    PageSection section{.id = "drift",
                        .title = "Drift",
                        .note =
                            "What changed since training: new fields, new templates, and templates that have "
                            "become more or less frequent."};
    for (const std::string& change : changes_) section.blocks.push_back(note_block(change + "."));
    for (const LogNewField& field : scorer_.alarms().new_fields())
      if (!field.reported) section.blocks.push_back(note_block(scorer_.alarms().describe(field) + "."));
    Index unseen = 0, unseen_lines = 0;
    std::vector<std::pair<double, std::uint64_t>> changed;
    for (const auto& [id, one] : templates_) {
      if (is_unseen(id)) ++unseen, unseen_lines += one.lines;
      changed.emplace_back(-change_of(id), id);
    }
    for (const auto& [id, lines] : known_)
      if (!templates_.contains(id)) changed.emplace_back(-change_of(id), id);
    section.blocks.push_back(note_block(fmt::format(
        "{} of {} templates and {:.2g} % of the lines did not occur in training{}.", unseen, templates_.size(),
        100.0 * static_cast<double>(unseen_lines) / static_cast<double>(std::max<Index>(1, lines_)),
        knows_all_templates() ? "" : " or are rarer than the templates that the model lists")));
    std::ranges::sort(changed);
    std::vector<std::vector<std::string>> rows;
    for (const auto& [change, id] : changed)
      if (-change >= kLeastChange && rows.size() < kMostAnomalies) rows.push_back(template_row(id));
    if (!rows.empty())
      section.blocks.push_back(table_block({"template", "lines", "share", "in training", "text"}, rows));
    return section;
  }

 private:
  static constexpr double kLeastChange = 10;  // nats

  /// The model lists only the most frequent templates.
  bool knows_all_templates() const { return known_.size() < LogTemplateList::kMostStored; }
  bool is_unseen(std::uint64_t id) const { return !known_.contains(id); }
  Index in_training(std::uint64_t id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? 0 : found->second;
  }
  Index here(std::uint64_t id) const {
    const auto found = templates_.find(id);
    return found == templates_.end() ? 0 : found->second.lines;
  }
  /// Returns the log likelihood ratio (G-test) of the share of a template in the log and in training.
  double change_of(std::uint64_t id) const {
    const auto a = static_cast<double>(here(id)), b = static_cast<double>(in_training(id));
    const auto n = static_cast<double>(std::max<Index>(1, lines_)),
               m = static_cast<double>(std::max<Index>(1, card_.lines));
    const double share = (a + b) / (n + m);
    const auto term = [](double count, double expected) { return count > 0 ? count * log_of(count / expected) : 0.0; };
    return term(a, n * share) + term(b, m * share);
  }
  std::vector<std::string> template_row(std::uint64_t id) const {
    const auto percent = [](Index part, Index all) {
      return fmt::format("{:.3g}\u00a0%",
                         100.0 * static_cast<double>(part) / static_cast<double>(std::max<Index>(1, all)));
    };
    const auto found = templates_.find(id);
    return {template_name(id), fmt::format("{}", here(id)), percent(here(id), lines_),
            is_unseen(id) && !knows_all_templates() ? "rare or none" : percent(in_training(id), card_.lines),
            found != templates_.end() ? found->second.text : shown(card_.templates.text_of(id))};
  }
  /// Lists an alarm, or counts its repetition. `id` distinguishes alarms of the same kind in the same line.
  template <class Text>
  void list_alarm(const LogAlarm& alarm, std::uint64_t id, Text text) {
    const auto [place, first] = alarms_.try_emplace({alarm.first_line, alarm.kind, id});
    if (first) place->second.text = text();
    place->second.alarm = alarm;
    if (alarms_.size() > kMostAnomalies) alarms_.erase(std::prev(alarms_.end()));
  }
  void list(const LogAnomaly& scored, const std::string& time) {
    const double surprise = scored.score.surprise;
    if (listed_.size() >= kMostAnomalies && surprise <= listed_.back().surprise) return;
    const std::string id = template_name(scorer_.detector().event().template_id);
    const auto same = std::ranges::find(listed_, id, &ListedLine::template_id);
    if (same != listed_.end() && same->surprise >= surprise) return;
    if (same != listed_.end()) listed_.erase(same);
    const auto place = std::ranges::find_if(listed_, [&](const ListedLine& one) { return one.surprise < surprise; });
    listed_.insert(place, {.number = scored.words.number,
                           .surprise = surprise,
                           .unreduced = scored.score.long_run_surprise,
                           .p_value = scored.score.p_value(),
                           .source = scored.score.source,
                           .time = time,
                           .template_id = id,
                           .text = shown(scorer_.line().text())});
    if (listed_.size() > kMostAnomalies) listed_.pop_back();
  }

  const LogCard& card_;
  LogAnomalyScorer scorer_;
  std::unordered_map<std::uint64_t, Index> known_;  // lines in training
  std::unordered_map<std::uint64_t, TemplateLines> templates_;
  std::vector<ListedLine> listed_;                                                  // in descending order of the score
  std::map<std::tuple<Index, LogAlarmKind, std::uint64_t>, ReportedAlarm> alarms_;  // by first line
  std::vector<std::string> changes_;
  Timeline by_line_, by_time_;
  std::optional<std::string> begin_;
  Index lines_ = 0, timed_ = 0;
};

/// Scores all lines of the files.
void read_logs(const std::vector<std::string>& files, const SymbolModel& model, LogInspection& inspection,
               Reporter& reporter) {
  for (const std::string& file : files) {
    LineSource source(file);
    source.accept_carriage_returns();
    std::optional<LogRecordJoiner> joiner = record_joiner(model);
    for (std::string_view line; source.next(line);) {
      const std::optional<LogRecord> record = joiner ? joiner->add(line) : LogRecord{.text = line};
      if (record) inspection.see(record->text, record->lines);
      if (inspection.lines() % kBetweenProgress == 0)
        reporter.progress({.what = "report", .done = static_cast<double>(inspection.lines()), .unit = "lines"});
    }
    if (const std::optional<LogRecord> last = joiner ? joiner->finish() : std::nullopt)
      inspection.see(last->text, last->lines);
  }
}

}  // namespace

bool holds_log_model(const std::string& run) {
  const std::unique_ptr<Model> model = load_model_file(model_file(run));
  const auto* const symbols = dynamic_cast<const SymbolModel*>(model.get());
  if (symbols == nullptr) return false;
  const std::optional<LogCard> card = log_card(*symbols);
  return card && !card->session_lines;
}

std::vector<PageSection> inspect_log(const ReportRequest& request, Reporter& reporter) {
  const std::unique_ptr<SymbolModel> model = load_model(request.runs.front());
  const LogCard card = *log_card(*model);
  const bool own = request.data.empty();
  const std::vector<std::string> files = own ? settings_of_run(request.runs.front()).data : request.data;
  if (files.empty()) throw UsageError("report: name the log with --data, because this is a model file without a run");
  LogInspection inspection(*model, card);
  read_logs(files, *model, inspection, reporter);
  std::vector<PageSection> sections = {inspection.anomalies(), inspection.alarms(), inspection.timeline(),
                                       inspection.templates(), inspection.drift()};
  if (own) sections.front().note += " This is the log of training; name another one with --data.";
  return sections;
}

}  // namespace unfold
