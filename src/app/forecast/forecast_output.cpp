#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "app/forecast/forecast_table.h"
#include "app/plots/table.h"
#include "base/decimals.h"
#include "base/printable.h"
#include "model/selection/backtest.h"

namespace unfold {
namespace {

using forecasting::AutomaticForecast;
using forecasting::MemberReport;
using forecasting::ResidualDiagnostics;

/// Returns the name of a quantile: q10, q97.5.
std::string quantile_name(double probability) { return fmt::format("q{:.6g}", 100 * probability); }

std::string number_text(double x) { return std::isnan(x) ? std::string() : fmt::format("{:.10g}", unsigned_zero(x)); }

/// Formats an error with three decimals, or with three significant digits if three decimals would show none or too
/// many.
std::string error_text(double x) {
  return x == 0 || (x >= 0.1 && x < 1000) ? fmt::format("{:.3f}", x) : fmt::format("{:.3g}", x);
}

bool has_times(const TableForecast& f) { return !f.table.series.empty() && f.table.series.front().index.has_times(); }

std::string time_text(const TableForecast& f, std::size_t series, Index h) {
  const TableSeries& one = f.table.series[series];
  return has_times(f) ? one.index.label(static_cast<Index>(one.values.size()) + h) : fmt::format("{}", h + 1);
}

/// Returns the quantiles of a series in ascending order: name and values.
std::vector<std::pair<std::string, const std::vector<double>*>> quantiles_of(const TableForecast& f,
                                                                             const AutomaticForecast& one) {
  std::vector<std::pair<std::string, const std::vector<double>*>> result;
  for (std::size_t level = f.coverage.size(); level-- > 0;)
    result.emplace_back(quantile_name(0.5 - 0.5 * f.coverage[level]), &one.lower[level]);
  for (std::size_t level = 0; level < f.coverage.size(); ++level)
    result.emplace_back(quantile_name(0.5 + 0.5 * f.coverage[level]), &one.upper[level]);
  return result;
}

/// Returns a finite number as JSON; null for other values.
nlohmann::ordered_json json_number(double x) {
  return std::isfinite(x) ? nlohmann::ordered_json(unsigned_zero(x)) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_numbers(const std::vector<double>& values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const double x : values) list.push_back(json_number(x));
  return list;
}

nlohmann::ordered_json diagnostics_json(const ResidualDiagnostics& d) {
  return {{"residuals", d.count},
          {"lags", d.lags},
          {"ljung_box", json_number(d.correlation.statistic)},
          {"ljung_box_p", json_number(d.correlation.p)},
          {"spread_ratio", json_number(d.spread_ratio)},
          {"spread_p", json_number(d.spread.p)},
          {"skewness", json_number(d.skewness)},
          {"excess_kurtosis", json_number(d.excess_kurtosis)},
          {"normality_p", json_number(d.normality.p)},
          {"bias", json_number(d.bias)},
          {"bias_p", json_number(d.bias_test.p)},
          {"notes", d.notes()}};
}

/// Returns the problems of the residuals: sentences for one series, numbers of series for several.
std::string describe_diagnostics(const std::vector<AutomaticForecast>& forecasts) {
  std::string text;
  if (forecasts.size() == 1) {
    for (const std::string& note : forecasts.front().diagnostics.notes()) text += note + "\n";
    return text;
  }
  const auto add = [&](bool (ResidualDiagnostics::*has_problem)() const, std::string_view problem) {
    const auto count = std::ranges::count_if(
        forecasts, [&](const AutomaticForecast& one) { return (one.diagnostics.*has_problem)(); });
    if (count > 0) text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", problem, count);
  };
  add(&ResidualDiagnostics::is_correlated, "correlated");
  add(&ResidualDiagnostics::has_uneven_spread, "of unequal spread");
  add(&ResidualDiagnostics::has_heavy_tails, "heavy-tailed");
  if (!text.empty()) text = fmt::format("one-step errors of {} series: {}\n", forecasts.size(), text);
  const auto biased =
      std::ranges::count_if(forecasts, [](const AutomaticForecast& one) { return one.diagnostics.is_biased(); });
  if (biased > 0) text += fmt::format("backtest forecasts too low or too high on average: {} series\n", biased);
  return text;
}

/// The results of a member over all series.
struct MemberSummary {
  std::string name;
  double sum = 0, weight = 0;
  Index compared = 0, combined = 0, failed = 0;
  double error() const { return compared > 0 ? sum / static_cast<double>(compared) : std::nan(""); }
};

std::vector<MemberSummary> summarize(const TableForecast& f, double& combination, Index& origins) {
  std::vector<MemberSummary> members;
  double sum = 0, count = 0;
  for (const AutomaticForecast& one : f.forecasts) {
    if (!std::isnan(one.error)) sum += one.error, ++count, origins = std::max(origins, one.origins);
    for (const MemberReport& report : one.members) {
      auto place = std::ranges::find(members, report.name, &MemberSummary::name);
      if (place == members.end()) place = members.insert(members.end(), MemberSummary{.name = report.name});
      if (std::isfinite(report.error))
        place->sum += report.error, ++place->compared;
      else
        ++place->failed;
      place->weight += report.weight;
      place->combined += report.weight > 0;
    }
  }
  combination = count > 0 ? sum / count : std::nan("");
  std::ranges::stable_sort(members, [](const MemberSummary& a, const MemberSummary& b) {
    return (a.compared > 0 ? a.error() : HUGE_VAL) < (b.compared > 0 ? b.error() : HUGE_VAL);
  });
  return members;
}

void write_rows(const TableForecast& f, const std::function<void(const nlohmann::ordered_json&)>& write) {
  const std::size_t fields = f.table.fields.size();
  for (std::size_t first = 0; first < f.forecasts.size(); first += fields)
    for (Index h = 0; h < f.horizon; ++h) {
      nlohmann::ordered_json row;
      if (f.table.has_groups) row["group"] = f.table.series[first].group;
      row[has_times(f) ? "time" : "step"] = time_text(f, first, h);
      if (!has_times(f)) row["step"] = h + 1;
      for (std::size_t k = first; k < first + fields; ++k) {
        const std::string& field = f.table.series[k].field;
        row[field + ".mean"] = json_number(f.forecasts[k].mean[at(h)]);
        for (const auto& [name, values] : quantiles_of(f, f.forecasts[k]))
          row[field + "." + name] = json_number((*values)[at(h)]);
      }
      write(row);
    }
}

}  // namespace

void write_forecast(const TableForecast& f, TableFormat format, const std::function<void(std::string_view)>& write) {
  bool heading = format == TableFormat::tsv;
  write_rows(f, [&](const nlohmann::ordered_json& row) {
    if (format == TableFormat::jsonl)
      return write(row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    std::string names, cells;
    for (const auto& [name, value] : row.items()) {
      names += (names.empty() ? "" : "\t") + escape_cell(name);
      if (!cells.empty()) cells += "\t";
      if (value.is_string()) cells += escape_cell(value.get<std::string>());
      if (value.is_number()) cells += number_text(value.get<double>());
    }
    if (heading) write(names + "\n");
    heading = false;
    write(cells + "\n");
  });
}

nlohmann::ordered_json forecast_json(const TableForecast& f) {
  nlohmann::ordered_json json, series = nlohmann::ordered_json::array(), members = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < f.forecasts.size(); ++i) {
    const AutomaticForecast& one = f.forecasts[i];
    nlohmann::ordered_json object;
    if (f.table.has_groups) object["group"] = f.table.series[i].group;
    object["field"] = f.table.series[i].field;
    object["values"] = f.table.series[i].values.size();
    object["season"] = f.periods[i];
    nlohmann::ordered_json times = nlohmann::ordered_json::array();
    for (Index h = 0; h < f.horizon; ++h) times.push_back(time_text(f, i, h));
    if (has_times(f)) object["time"] = std::move(times);
    object["mean"] = json_numbers(one.mean);
    for (const auto& [name, values] : quantiles_of(f, one)) object[name] = json_numbers(*values);
    object["mase"] = json_number(one.error);
    object["origins"] = one.origins;
    if (!one.note.empty()) object["note"] = one.note;
    if (one.intermittent) object["intermittent"] = true;
    if (one.week > 0) object["week"] = one.week;
    for (const forecasting::Outlier& outlier : one.outliers)
      object["outliers"].push_back({{"time", f.table.series[i].index.label(outlier.place)},
                                    {"value", json_number(outlier.value)},
                                    {"expected", json_number(outlier.expected)}});
    object["diagnostics"] = diagnostics_json(one.diagnostics);
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const MemberReport& report : one.members) {
      nlohmann::ordered_json member{
          {"name", report.name}, {"mase", json_number(report.error)}, {"weight", report.weight}};
      if (!report.form.empty()) member["form"] = report.form;
      if (!report.note.empty()) member["note"] = report.note;
      list.push_back(std::move(member));
    }
    object["members"] = std::move(list);
    series.push_back(std::move(object));
  }
  double combination = 0;
  Index origins = 0;
  for (const MemberSummary& member : summarize(f, combination, origins))
    members.push_back({{"name", member.name},
                       {"mase", json_number(member.error())},
                       {"weight", member.weight / static_cast<double>(std::max<std::size_t>(1, f.forecasts.size()))},
                       {"series", member.combined},
                       {"failed", member.failed}});
  json["horizon"] = f.horizon;
  json["fields"] = f.table.fields;
  json["mase"] = json_number(combination);
  json["origins"] = origins;
  json["members"] = std::move(members);
  json["left_out"] = f.plan.left_out;
  json["dropped"] = f.plan.dropped;
  json["series"] = std::move(series);
  return json;
}

namespace {

/// Returns the reason why a member has no result: the first clause of the note of the first series that has one.
std::string reason_of(const TableForecast& f, const std::string& member) {
  constexpr std::string_view kPrefix = "forecast: ";
  for (const AutomaticForecast& one : f.forecasts) {
    const auto report = std::ranges::find(one.members, member, &MemberReport::name);
    if (report == one.members.end() || report->note.empty()) continue;
    const std::string note = report->note.starts_with(kPrefix) ? report->note.substr(kPrefix.size()) : report->note;
    return note.substr(0, note.find(';'));
  }
  return "for an unknown reason";
}

/// Returns a line with the number of members that have no result, for each reason; empty if there are none.
std::string describe_failed(const TableForecast& f, const std::vector<MemberSummary>& members) {
  constexpr std::size_t kMostReasons = 4;
  std::vector<std::pair<std::string, Index>> reasons;
  Index failed = 0, named = 0;
  for (const MemberSummary& member : members) {
    if (member.compared > 0) continue;
    ++failed;
    const std::string reason = reason_of(f, member.name);
    const auto place = std::ranges::find(reasons, reason, &std::pair<std::string, Index>::first);
    if (place == reasons.end())
      reasons.emplace_back(reason, 1);
    else
      ++place->second;
  }
  if (failed == 0) return {};
  std::ranges::stable_sort(reasons, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < std::min(kMostReasons, reasons.size()); ++r) {
    parts.push_back(fmt::format("{} ({})", reasons[r].first, reasons[r].second));
    named += reasons[r].second;
  }
  if (named < failed) parts.push_back(fmt::format("other reasons ({})", failed - named));
  return fmt::format("{} more member{} no result: {}; --json names them\n", failed, failed == 1 ? " has" : "s have",
                     fmt::join(parts, ", "));
}

/// Returns the largest number of steps of the horizon that are followed by values of a series in the backtest.
Index compared_steps(const TableForecast& f) {
  Index most = 0;
  for (std::size_t i = 0; i < f.forecasts.size(); ++i) {
    const Index n = static_cast<Index>(f.table.series[i].values.size());
    const Index season = std::max(f.periods[i], f.forecasts[i].week);
    const std::vector<Index> origins = forecasting::backtest_origins(n, f.horizon, season, f.forecasts[i].origins);
    if (!origins.empty()) most = std::max(most, n - origins.front());
  }
  return std::min(most, f.horizon);
}

/// Returns the seasons of the series, the most frequent ones first: "season 24", "season 7 (12 series), no season (3
/// series)".
std::string describe_seasons(const TableForecast& f) {
  constexpr std::size_t kMostNamed = 3;
  std::map<Index, Index> counts;
  Index weekly = 0;
  for (std::size_t i = 0; i < f.forecasts.size(); ++i)
    ++counts[f.periods[i]], weekly += f.forecasts[i].week > f.periods[i] ? 1 : 0;
  std::vector<std::pair<Index, Index>> seasons(counts.begin(), counts.end());
  std::ranges::stable_sort(seasons, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [season, count] : std::span(seasons).first(std::min(seasons.size(), kMostNamed)))
    parts.push_back(fmt::format("{}{}", season == 1 ? std::string("no season") : fmt::format("season {}", season),
                                seasons.size() == 1 ? std::string() : fmt::format(" ({} series)", count)));
  if (seasons.size() > kMostNamed) parts.emplace_back("others");
  const Index all = static_cast<Index>(f.forecasts.size());
  if (weekly > 0)
    parts.push_back(fmt::format("an effect of the day of the week{}",
                                weekly == all ? std::string() : fmt::format(" ({} series)", weekly)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string describe_members(const TableForecast& f) {
  double combination = 0;
  Index origins = 0;
  const std::vector<MemberSummary> members = summarize(f, combination, origins);
  if (origins == 0) return "no backtest: the series are constant or too short\n";
  TextTable table{{"member", "MASE", "weight", "series"}, {}};
  const double count = static_cast<double>(f.forecasts.size());
  table.rows.push_back({"combination", error_text(combination), "", fmt::format("{}", f.forecasts.size())});
  for (const MemberSummary& member : members)
    if (member.compared > 0)
      table.rows.push_back({member.name, error_text(member.error()), fmt::format("{:.3f}", member.weight / count),
                            fmt::format("{}", member.combined)});
  const Index compared = compared_steps(f);
  std::string text = fmt::format(
      "backtest over {} origin{}, {}, horizon {}{}\n{}", origins, origins == 1 ? "" : "s", describe_seasons(f),
      f.horizon,
      compared < f.horizon ? fmt::format(", of which at most {} steps could be compared with values", compared) : "",
      to_text(table));
  text += describe_failed(f, members);
  if (!f.plan.left_out.empty()) {
    text += "left out because they exceed the operation budget (--minutes raises it):";
    for (const std::string& name : f.plan.left_out) text += " " + name;
    text += "\n";
  }
  if (!f.plan.dropped.empty()) {
    text += "tried only on a sample of the series, because they did not improve the combination:";
    for (const std::string& name : f.plan.dropped) text += " " + name;
    text += "\n";
  }
  return text + describe_diagnostics(f.forecasts);
}

}  // namespace unfold
