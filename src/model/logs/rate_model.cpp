#include "model/logs/rate_model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/logs/log_json.h"
#include "model/logs/log_math.h"

namespace unfold {
namespace {

constexpr std::array<double, 11> kWindowLengths = {1, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400, 604800};
constexpr double kPriorWindows = 10, kPriorDispersion = 1.5, kLeastExpected = 0.05;
constexpr double kMostPauseBits = 100, kNever = 1e9;
constexpr Index kFirstCheck = 8;  // bursts are checked in open windows at this count and its doublings

}  // namespace

void LogRateModel::fit(const std::vector<double>& times, const std::vector<std::uint64_t>& templates) {
  double span = 0;
  std::unordered_map<std::uint64_t, Index> counts;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i > 0 && times[i] > times[i - 1] && times[i] - times[i - 1] < kWindowLengths.back())
      span += times[i] - times[i - 1];
    ++counts[templates[i]];
  }
  if (span <= 0) return;
  std::vector<std::pair<Index, std::uint64_t>> sorted;
  sorted.reserve(counts.size());
  for (const auto& [id, count] : counts) sorted.emplace_back(-count, id);
  std::ranges::sort(sorted);
  if (sorted.size() > kMostTemplates) sorted.resize(kMostTemplates);
  for (const auto& [count, id] : sorted) {
    templates_.push_back(id);
    index_.emplace(id, templates_.size());
  }
  double last = 0;
  for (const double seconds : kWindowLengths) {
    const double lines = static_cast<double>(times.size()) * seconds / span;
    if (lines < kLinesPerWindow || span / seconds < static_cast<double>(kLeastWindows) || seconds < 5 * last ||
        scales_.size() == 3)
      continue;
    last = seconds;
    scales_.push_back({.seconds = seconds});
    scales_.back().series.resize(templates_.size() + 1);
  }
  if (!scales_.empty()) pauses_.resize(templates_.size() + 1);
  learns_ = true;
  for (std::size_t i = 0; i < times.size(); ++i) (void)see(times[i], templates[i], 0);
  learns_ = false;
  end_log();
}

void LogRateModel::end_log() {
  for (Scale& scale : scales_) scale.started = false;
  for (Pauses& pauses : pauses_) pauses.started = pauses.silent = false;
}

/// Begins counting at a time. The recent means are initialized with the means of all windows.
void LogRateModel::begin_window(Scale& scale, double time) const {
  scale.started = true;
  scale.begin = std::floor(time / scale.seconds) * scale.seconds;
  scale.recent_windows = scale.late = 0;
  for (Series& series : scale.series) {
    series.now = 0;
    series.recent = series.mean;
    series.reported = series.silent = false;
  }
}

double LogRateModel::bits_of(const Scale& scale, const Series& series, bool burst) {
  const auto n = static_cast<double>(series.now);
  const double expected =
      std::max(burst ? std::max(series.recent, series.mean) : std::min(series.recent, series.mean), kLeastExpected);
  if (burst ? n <= expected : n >= expected) return 0;
  const double deviance = (n > 0 ? n * log2_of(n / expected) : 0) - (n - expected) / kNatsPerBit;
  const double dispersion =
      (series.dispersion + kPriorWindows * kPriorDispersion) / (static_cast<double>(scale.windows) + kPriorWindows);
  return deviance / std::max(1.0, dispersion);
}

void LogRateModel::report(Scale& scale, std::size_t series, bool burst, double bits, double least_bits) {
  Series& here = scale.series[series];
  if (burst ? here.reported : here.silent) return;
  const double p_bits = scale.tails[burst ? 0 : 1].p_bits(bits);
  if (p_bits < least_bits) return;
  (burst ? here.reported : here.silent) = true;
  found_.push_back({.burst = burst,
                    .template_id = series == 0 ? 0 : templates_[series - 1],
                    .count = here.now,
                    .expected = burst ? std::max(here.recent, here.mean) : std::min(here.recent, here.mean),
                    .seconds = scale.seconds,
                    .p_bits = p_bits});
}

double LogRateModel::bits_of(const Pauses& pauses, double seconds) {
  if (!pauses.started || pauses.windows < kLeastPauses || pauses.longest <= 0 || seconds <= 0) return 0;
  const double k = log2_of(static_cast<double>(pauses.windows + 1));
  return std::min(kMostPauseBits, k * seconds / pauses.longest);
}

/// Reports a pause that lasts until `end`, if it is unusual.
void LogRateModel::report_pause(std::size_t series, double end, double least_bits) {
  Pauses& pauses = pauses_[series];
  const double seconds = end - pauses.last, bits = bits_of(pauses, seconds);
  most_pause_ = std::max(most_pause_, bits);
  if (learns_ || bits <= 0) return;
  const double p_bits = pause_tail_.p_bits(bits);
  if (p_bits < least_bits || bits <= log2_of(static_cast<double>(pauses.windows + 1))) return;
  pauses.silent = true;
  const Scale& scale = scales_.front();
  const Series& counts = scale.series[series];
  found_.push_back({.template_id = series == 0 ? 0 : templates_[series - 1],
                    .expected = std::min(counts.recent, counts.mean) * seconds / scale.seconds,
                    .seconds = seconds,
                    .p_bits = p_bits});
}

/// Ends the pause of a series at its next line.
void LogRateModel::end_pause(std::size_t series, double time, double least_bits) {
  Pauses& pauses = pauses_[series];
  if (pauses.started && time <= pauses.last) return;
  if (pauses.started) {
    report_pause(series, time, least_bits);
    const double seconds = time - pauses.last;
    const bool first = learns_ || pauses.longest <= 0;
    pauses.longest = std::max(pauses.longest, first ? seconds : std::min(seconds, 2 * pauses.longest));
  }
  pauses.started = true;
  pauses.last = time;
  pauses.silent = false;
}

/// Judges the pauses at the end of a window of the shortest length.
void LogRateModel::close_pauses(double end, double least_bits) {
  const Scale& scale = scales_.front();
  for (std::size_t i = 0; i < pauses_.size(); ++i) {
    pauses_[i].windows += scale.series[i].now > 0;
    if (pauses_[i].started && !pauses_[i].silent && !stopped_) report_pause(i, end, i == 0 ? kNever : least_bits);
  }
  if (learns_ && scale.windows >= kFirstWindows) pause_tail_.add(most_pause_);
  most_pause_ = 0;
}

/// The time before a line belongs to no pause.
void LogRateModel::restart_pauses(double time) {
  for (Pauses& pauses : pauses_) {
    if (pauses.started) pauses.last = time;
    pauses.silent = false;
  }
}

void LogRateModel::close_window(Scale& scale, double least_bits) {
  const bool judges = scale.recent_windows >= kFirstWindows && !stopped_;
  if (&scale == &scales_.front() && !pauses_.empty()) close_pauses(scale.begin + scale.seconds, least_bits);
  const bool empty = scale.series[0].now == 0;
  std::array<double, 2> most{};
  for (std::size_t i = 0; i < scale.series.size(); ++i) {
    Series& series = scale.series[i];
    for (const bool burst : {true, false}) {
      // A silence of the whole log includes the silence of every template.
      if (!burst && (!judges || (i > 0 && (empty || scale.series[0].silent)))) continue;
      const double bits = bits_of(scale, series, burst);
      most[burst ? 0 : 1] = std::max(most[burst ? 0 : 1], bits);
      if (!learns_ && bits > 0) report(scale, i, burst, bits, least_bits);
    }
  }
  if (learns_ && scale.windows >= kFirstWindows) scale.tails[0].add(most[0]);
  if (learns_ && judges) scale.tails[1].add(most[1]);
  ++scale.windows;
  ++scale.recent_windows;
  for (Series& series : scale.series) {
    const auto n = static_cast<double>(series.now);
    if (scale.windows > kFirstWindows)
      series.dispersion += (n - series.recent) * (n - series.recent) / (series.recent + 0.5);
    series.recent += (n - series.recent) / std::min(static_cast<double>(scale.recent_windows + 1), kRecentWindows);
    series.mean += (n - series.mean) / static_cast<double>(scale.windows);
    if (series.now > 0) series.silent = false;
    series.now = 0;
    series.reported = false;
  }
  scale.begin += scale.seconds;
}

/// Closes the windows that end before a time.
void LogRateModel::pass(Scale& scale, double time, double least_bits) {
  if (!scale.started) return begin_window(scale, time);
  if (time < scale.begin) {
    if (++scale.late < kLateLines) return;
    begin_window(scale, time);
    if (&scale == &scales_.front()) restart_pauses(time);
    return;
  }
  scale.late = 0;
  const double passed = std::floor((time - scale.begin) / scale.seconds);
  const bool gap = passed > static_cast<double>(kLongestGap);
  const std::size_t before = found_.size();
  const double closed = stopped_ ? std::min(passed, 1.0) : gap ? 2 : passed;
  for (double i = 0; i < closed; ++i) close_window(scale, least_bits);
  if (stopped_) return begin_window(scale, time);
  for (std::size_t i = before; i < found_.size(); ++i)
    if (!found_[i].burst && found_[i].template_id == 0 && found_[i].count == 0) {  // the whole log was silent until
                                                                                   // this line
      found_[i].expected *= passed - 1;
      found_[i].seconds *= passed - 1;
    }
  if (gap) begin_window(scale, time);
}

const std::vector<LogRateAnomaly>& LogRateModel::see(double time, std::uint64_t template_id, double least_bits) {
  found_.clear();
  const auto known = index_.find(template_id);
  const std::array<std::size_t, 2> counted = {0, known == index_.end() ? templates_.size() + 1 : known->second};
  if (!pauses_.empty()) {
    end_pause(0, time, least_bits);
    stopped_ = !found_.empty();
    if (stopped_) restart_pauses(time);
  }
  for (Scale& scale : scales_) {
    pass(scale, time, least_bits);
    for (const std::size_t i : counted) {
      if (i >= scale.series.size()) continue;
      const Index n = ++scale.series[i].now;
      const bool doubled = n >= kFirstCheck && (n & (n - 1)) == 0;
      if (doubled && !learns_ && scale.late == 0)
        report(scale, i, true, bits_of(scale, scale.series[i], true), least_bits);
    }
  }
  stopped_ = false;
  if (counted[1] < pauses_.size()) end_pause(counted[1], time, least_bits);
  return found_;
}

nlohmann::json LogRateModel::to_json() const {
  nlohmann::json scales = nlohmann::json::array();
  for (const Scale& scale : scales_) {
    nlohmann::json now = nlohmann::json::array(), recent = now, mean = now, dispersion = now, flags = now;
    for (const Series& series : scale.series) {
      now.push_back(series.now);
      recent.push_back(series.recent);
      mean.push_back(series.mean);
      dispersion.push_back(series.dispersion);
      flags.push_back(int{series.reported} + 2 * int{series.silent});
    }
    scales.push_back({{"seconds", scale.seconds},
                      {"started", scale.started},
                      {"begin", scale.begin},
                      {"windows", scale.windows},
                      {"recent-windows", scale.recent_windows},
                      {"late", scale.late},
                      {"now", now},
                      {"recent", recent},
                      {"mean", mean},
                      {"dispersion", dispersion},
                      {"flags", flags},
                      {"bursts", scale.tails[0].to_json()},
                      {"silences", scale.tails[1].to_json()}});
  }
  nlohmann::json json = {{"templates", templates_}, {"scales", scales}};
  if (pauses_.empty()) return json;
  nlohmann::json last = nlohmann::json::array(), longest = last, windows = last, flags = last;
  for (const Pauses& pauses : pauses_) {
    last.push_back(pauses.last);
    longest.push_back(pauses.longest);
    windows.push_back(pauses.windows);
    flags.push_back(int{pauses.started} + 2 * int{pauses.silent});
  }
  json["pauses"] = {{"last", last},   {"longest", longest},  {"windows", windows},
                    {"flags", flags}, {"most", most_pause_}, {"scores", pause_tail_.to_json()}};
  return json;
}

void LogRateModel::restore_pauses(const nlohmann::json& json) {
  const std::vector<Index> windows = log_counts(json, "windows"), flags = log_counts(json, "flags");
  const std::vector<double> last = log_numbers(json, "last"), longest = log_numbers(json, "longest");
  const std::size_t size = templates_.size() + 1;
  if (scales_.empty() || windows.size() != size || flags.size() != size || last.size() != size ||
      longest.size() != size)
    refuse_log_model("the rates are inconsistent");
  pauses_.reserve(size);
  for (std::size_t i = 0; i < size; ++i)
    pauses_.push_back({.started = (flags[i] & 1) != 0,
                       .last = last[i],
                       .longest = longest[i],
                       .windows = windows[i],
                       .silent = (flags[i] & 2) != 0});
  most_pause_ = log_number(json, "most");
  pause_tail_ = TailCalibration::from_json(log_part(json, "scores"));
}

LogRateModel LogRateModel::from_json(const nlohmann::json& json) {
  LogRateModel model;
  model.templates_ = log_hashes(json, "templates");
  for (std::size_t i = 0; i < model.templates_.size(); ++i) model.index_.emplace(model.templates_[i], i + 1);
  for (const nlohmann::json& entry : log_list(json, "scales")) {
    Scale scale{.seconds = log_number(entry, "seconds"),
                .started = log_flag(entry, "started"),
                .begin = log_number(entry, "begin"),
                .windows = log_count(entry, "windows"),
                .recent_windows = log_count(entry, "recent-windows"),
                .late = log_count(entry, "late")};
    const std::vector<Index> now = log_counts(entry, "now"), flags = log_counts(entry, "flags");
    const std::vector<double> recent = log_numbers(entry, "recent"), mean = log_numbers(entry, "mean"),
                              dispersion = log_numbers(entry, "dispersion");
    const std::size_t size = model.templates_.size() + 1;
    if (size > kMostTemplates + 1 || now.size() != size || flags.size() != size || recent.size() != size ||
        mean.size() != size || dispersion.size() != size || !(scale.seconds >= 1))
      refuse_log_model("the rates are inconsistent");
    for (std::size_t i = 0; i < size; ++i)
      scale.series.push_back({.now = now[i],
                              .recent = recent[i],
                              .mean = mean[i],
                              .dispersion = dispersion[i],
                              .reported = (flags[i] & 1) != 0,
                              .silent = (flags[i] & 2) != 0});
    scale.tails = {TailCalibration::from_json(log_part(entry, "bursts")),
                   TailCalibration::from_json(log_part(entry, "silences"))};
    model.scales_.push_back(std::move(scale));
  }
  if (json.contains("pauses")) model.restore_pauses(json["pauses"]);
  return model;
}

}  // namespace unfold
