#include "app/forecast/forecast_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "app/fields/predicted_list.h"
#include "app/forecast/closed_days.h"
#include "app/forecast/known_covariates.h"
#include "base/printable.h"
#include "data/cells/civil_date.h"
#include "model/forecast/outliers.h"
#include "model/forecast/segments/segment_model.h"
#include "model/forecast/series.h"
#include "model/selection/backtest.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using forecasting::AutomaticForecast;
using forecasting::SegmentModel;
using forecasting::UnivariateSeries;

constexpr double kOperationsPerMinute = 6e10;  // operations of one processor

bool is_observed(const TableSeries& series) {
  return std::ranges::any_of(series.values, [](double x) { return !std::isnan(x); });
}

/// Returns the days of the values and of the steps to forecast; empty if they cover less than two years.
std::vector<Index> days_of(const TableSeries& series, Index horizon) {
  constexpr Index kTwoYears = 2 * 366 - 7;  // 104 weeks are two days less than two years
  const Index n = static_cast<Index>(series.values.size());
  std::vector<Index> days = series.index.days(n + horizon);
  if (n < 1 || days.empty() || days[at(n)] - days.front() < kTwoYears) days.clear();
  return days;
}

/// Returns the seasonal period of a series without its outliers: a calendar period that the values confirm, otherwise a
/// period detected from the values alone.
Index period_of(const TableSeries& series) {
  if (!is_observed(series)) return 1;
  const std::vector<double> values =
      forecasting::without_outliers({.values = series.values, .days = days_of(series, 1)});
  const std::vector<Index> calendar = series.index.calendar_periods();
  const Index period = calendar.empty() ? 1 : forecasting::detect_period(values, calendar);
  return period > 1 || !calendar.empty() ? period : forecasting::detect_period(values);
}

/// Returns the steps of a day and of a week if the steps are parts of a day.
forecasting::WeeklySeason week_of(const TableSeries& series) {
  constexpr Index kDay = 24 * 60 * 60, kDaysPerWeek = 7;
  if (!series.index.has_dates() || series.index.has_closed_days()) return {};
  const Index step = series.index.moment(1).epoch_seconds() - series.index.moment(0).epoch_seconds();
  if (step <= 0 || step >= kDay || kDay % step != 0) return {};
  return {.day = kDay / step, .week = kDaysPerWeek * kDay / step};
}

/// Returns the most frequent of the periods, the shorter one of two equally frequent ones, and its number of series.
std::pair<Index, std::size_t> most_frequent(const std::vector<Index>& periods) {
  std::map<Index, std::size_t> counts;
  for (const Index period : periods)
    if (period > 1) ++counts[period];
  std::pair<Index, std::size_t> most{1, 0};
  for (const auto& [period, count] : counts)
    if (count > most.second) most = {period, count};
  return most;
}

/// A free search in a short series rarely finds its season. If a period is found in several series, it becomes a
/// candidate for the others, as if a calendar suggested it.
void confirm_common_period(const SeriesTable& table, Index common, std::size_t found, std::vector<Index>& periods) {
  constexpr std::size_t kLeastFound = 2, kLeastShare = 10, kRare = 5;
  if (found < kLeastFound || kLeastShare * found < periods.size()) return;
  std::map<Index, std::size_t> counts;
  for (const Index period : periods) ++counts[period];
  for (std::size_t i = 0; i < periods.size(); ++i) {
    const TableSeries& series = table.series[i];
    if (!series.index.calendar_periods().empty() || !is_observed(series)) continue;
    const bool is_rare = kRare * counts[periods[i]] <= found && periods[i] % common != 0;
    if (periods[i] == 1 || is_rare) periods[i] = forecasting::detect_period(series.values, {&common, 1});
  }
}

/// If no period is specified, and at least half of the series that are long enough to show it have the same detected
/// period, series without a detected period use this one.
std::vector<Index> periods_of(const SeriesTable& table, Index stated) {
  constexpr std::size_t kRepetitions = 3;  // required by detect_period
  std::vector<Index> periods(table.series.size(), std::max<Index>(stated, 1));
  if (stated > 0) return periods;
  for (std::size_t i = 0; i < periods.size(); ++i) periods[i] = period_of(table.series[i]);
  const auto [common, found] = most_frequent(periods);
  if (common == 1) return periods;
  confirm_common_period(table, common, found, periods);
  std::size_t seasonal = 0, long_enough = 0;
  for (std::size_t i = 0; i < periods.size(); ++i) {
    seasonal += periods[i] == common;
    long_enough += periods[i] == common || table.series[i].values.size() >= kRepetitions * at(common);
  }
  if (2 * seasonal >= long_enough)
    for (Index& one : periods) one = one > 1 ? one : common;
  return periods;
}

std::string name_of(const TableSeries& series) {
  return series.group.empty() ? series.field : series.field + " of " + series.group;
}

void note_special_series(const TableForecast& result, Reporter& reporter) {
  constexpr Index kMostNamed = 3;
  std::vector<std::pair<std::string, Index>> counts;
  for (std::size_t i = 0; i < result.forecasts.size(); ++i) {
    const std::string& note = result.forecasts[i].note;
    if (note.empty()) continue;
    const auto known = std::ranges::find(counts, note, &std::pair<std::string, Index>::first);
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace_back(note, 1);
    }
  }
  for (std::size_t k = 0; k < std::min<std::size_t>(counts.size(), kMostNamed); ++k)
    reporter.remark(result.forecasts.size() == 1 ? counts[k].first
                                                 : fmt::format("{} of {} series: {}", counts[k].second,
                                                               result.forecasts.size(), counts[k].first));
}

/// Notes the series with intermittent demand.
void note_intermittent(const TableForecast& result, Reporter& reporter) {
  const auto count = std::ranges::count_if(result.forecasts, &AutomaticForecast::intermittent);
  if (count == 0) return;
  reporter.remark(fmt::format(
      "{}intermittent demand (most values are 0): the forecast is the mean demand per step, and the weights of the "
      "members depend on squared errors, not on the MASE",
      result.forecasts.size() == 1 ? "" : fmt::format("{} of {} series: ", count, result.forecasts.size())));
}

/// Keeps the steps of closed days at their value, with a note for the first series.
void keep_closed_days(TableForecast& result, Reporter& reporter) {
  constexpr Index kMostNamed = 3;
  Index count = 0;
  for (std::size_t i = 0; i < result.forecasts.size(); ++i) {
    const TableSeries& series = result.table.series[i];
    const std::string note = keep_closed_days(series, result.coverage, result.forecasts[i]);
    if (!note.empty() && count++ < kMostNamed) reporter.remark(fmt::format("{}: {}", name_of(series), note));
  }
  if (count > kMostNamed) reporter.remark(fmt::format("{} more series have such days", count - kMostNamed));
}

/// Lists the values that the forecast does not use.
void note_outliers(const TableForecast& result, Reporter& reporter) {
  constexpr Index kMostNamed = 5;
  Index count = 0;
  for (std::size_t i = 0; i < result.forecasts.size(); ++i)
    for (const forecasting::Outlier& outlier : result.forecasts[i].outliers) {
      if (count++ >= kMostNamed) continue;
      const TableSeries& series = result.table.series[i];
      reporter.remark(fmt::format("{}{}, {} {}: the value {:.6g} is an outlier; {:.6g} is used instead", series.field,
                                  series.group.empty() ? "" : fmt::format(" of {}", in_quotes(series.group)),
                                  series.index.has_times() ? "time" : "step", series.index.label(outlier.place),
                                  outlier.value, outlier.expected));
    }
  if (count > kMostNamed)
    reporter.remark(
        fmt::format("{} more outlier{} replaced", count - kMostNamed, count == kMostNamed + 1 ? " is" : "s are"));
  if (count > 1)
    reporter.remark(
        "if these values are events such as promotions, mark them in a column and state the next ones with --future; "
        "they are then kept");
}

/// Makes a saved network the only member.
void use_model(const std::string& path, const SeriesTable& table, forecasting::AutomaticOptions& options) {
  const SegmentModel model(ModelFile::open(path));
  auto trained = std::make_shared<forecasting::TrainedSegments>();
  trained->network = model.shared_network();
  for (const TableSeries& series : table.series) trained->embeddings.push_back(model.embedding(name_of(series)));
  options.trained = std::move(trained);
  options.members = {"segments"};
}

void save_network(const std::string& path, const SeriesTable& table, const forecasting::SegmentMember& member) {
  std::vector<std::string> names;
  for (Index s = 0; s < member.network()->shape().series; ++s) names.push_back(name_of(table.series[at(s)]));
  SegmentModel(member.network(), std::move(names)).save(path);
}

void require_network(const ForecastTableRequest& request, const forecasting::AutomaticPlan& plan) {
  if (request.save.empty() || std::ranges::any_of(plan.members, forecasting::is_segments)) return;
  throw UsageError(fmt::format(
      "--save {}: no network is trained for these series, because they are too short or intermittent, or the "
      "budget is too small; use --members segments to train one anyway, or leave out --save",
      request.save));
}

/// Rejects forecasts with more rows than a file can be expected to hold.
void require_rows(const SeriesTable& table, const ForecastTableRequest& request) {
  constexpr Index kMostRows = 20'000'000;
  const Index series = static_cast<Index>(table.series.size());
  if (series == 0 || request.horizon <= kMostRows / series) return;
  throw UsageError(
      fmt::format("--horizon {}: {} has {} series, and a forecast has at most {} values; use at most --horizon {}",
                  request.horizon, request.data, series, kMostRows, std::max<Index>(1, kMostRows / series)));
}

/// Rejects forecasts beyond the year 9999, the last year of the calendar.
void require_calendar(const SeriesTable& table, Index horizon) {
  constexpr Index kLastYear = 9999;
  for (const TableSeries& series : table.series) {
    if (series.index.step_name().empty()) continue;  // the times are not dates
    const Index n = static_cast<Index>(series.values.size());
    const auto is_in_calendar = [&](Index steps) {
      return civil_from_days(series.index.moment(n + steps - 1).days).year <= kLastYear;
    };
    if (is_in_calendar(horizon)) continue;
    Index most = 0;
    for (Index step = Index{1} << 40; step > 0; step /= 2)
      if (most + step < horizon && is_in_calendar(most + step)) most += step;
    throw UsageError(fmt::format("--horizon {}: the dates would extend beyond the year {}; use at most --horizon {}",
                                 horizon, kLastYear, std::max<Index>(1, most)));
  }
}

/// Notes that no stated member uses the covariates.
void note_unused_covariates(const forecasting::AutomaticOptions& options, const std::vector<KnownCovariates>& known,
                            Reporter& reporter) {
  const bool has_covariates = std::ranges::any_of(known, [](const auto& one) { return !one.empty(); });
  const auto uses_known = [](const std::string& name) { return forecasting::Member{name}.uses_known(); };
  if (!has_covariates || options.members.empty() || std::ranges::any_of(options.members, uses_known)) return;
  reporter.remark(
      options.trained
          ? "the covariates that are known in advance are not used: the saved network reads only the values of the "
            "series"
          : fmt::format(
                "the covariates that are known in advance are not used: no member has the suffix +known, such as "
                "{}+known",
                options.members.front() == "segments" || options.members.front() == "es-rnn"
                    ? "ets"
                    : options.members.front()));
}

/// Notes the expected time of a long forecast.
void note_time(const forecasting::AutomaticPlan& plan, int threads, Reporter& reporter) {
  constexpr double kLong = 20;  // seconds
  const double seconds = plan.operations / (kOperationsPerMinute / 60) / threads;
  if (seconds >= kLong)
    reporter.remark(fmt::format("comparing {} forecasters takes up to {:.0f} seconds; --minutes limits the time",
                                plan.members.size(), seconds));
}

}  // namespace

bool looks_like_model(const std::string& path) {
  if (path == "-") return false;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return true;
  // Recognizes a safetensors file: eight bytes with the length of the header, which begins with a brace.
  std::ifstream file(path, std::ios::binary);
  char bytes[9] = {};
  return file.read(bytes, sizeof bytes) && bytes[8] == '{' && bytes[7] == 0 && bytes[6] == 0;
}

bool holds_series_network(const std::string& path) {
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error) || !looks_like_model(path)) return false;
  return ModelFile::open(path).kind() == SegmentModel::kKind;
}

std::vector<double> parse_coverage(std::string_view text) {
  std::vector<double> coverage;
  for (const std::string& part : split_names(text)) {
    double percent = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), percent);
    if (error != std::errc() || end != part.data() + part.size() || !(percent > 0 && percent < 100))
      throw UsageError(fmt::format("--coverage {}: \"{}\" is not a percentage between 0 and 100; use for example 80,95",
                                   text.substr(0, 40), part.substr(0, 40)));
    if (percent < 1)
      throw UsageError(
          fmt::format("--coverage {}: the coverage is a percentage, and {} is less than 1 %; for an "
                      "interval of {:g} %, use --coverage {:g}",
                      text.substr(0, 40), part.substr(0, 40), 100 * percent, 100 * percent));
    coverage.push_back(percent / 100);
  }
  std::ranges::sort(coverage);
  coverage.erase(std::unique(coverage.begin(), coverage.end()), coverage.end());
  return coverage;
}

TableForecast forecast_table(const ForecastTableRequest& request, Reporter& reporter) {
  if (request.future.empty()) {
    SeriesTable table = read_series_table(request.data, request.schema);
    const std::vector<KnownCovariates> none(table.series.size());
    return forecast_series(std::move(table), none, request, reporter);
  }
  TablesOfCovariates tables = read_with_future(request.data, request.future, request.schema);
  require_rows(tables.table, request);
  require_calendar(tables.table, request.horizon);
  const auto known = take_known_covariates(tables.table, tables.future, request.future, request.horizon);
  return forecast_series(std::move(tables.table), known, request, reporter);
}

TableForecast forecast_series(SeriesTable table, const std::vector<KnownCovariates>& known,
                              const ForecastTableRequest& request, Reporter& reporter) {
  require_rows(table, request);
  require_calendar(table, request.horizon);
  TableForecast result{.table = std::move(table), .horizon = request.horizon, .coverage = request.coverage};
  for (const std::string& note : result.table.notes) reporter.remark(note);
  result.periods = periods_of(result.table, request.season);
  std::vector<UnivariateSeries> series;
  for (std::size_t i = 0; i < result.table.series.size(); ++i)
    series.push_back({.values = result.table.series[i].values,
                      .period = result.periods[i],
                      .known = known[i],
                      .days = days_of(result.table.series[i], request.horizon),
                      .weekly = request.season > 0 ? forecasting::WeeklySeason{} : week_of(result.table.series[i])});
  Team team(static_cast<int>(request.threads > 0 ? request.threads : available_threads()));
  forecasting::AutomaticOptions options{
      .horizon = request.horizon, .coverage = request.coverage, .members = request.members, .origins = request.origins};
  if (request.minutes) {
    options.budget = *request.minutes * kOperationsPerMinute * team.size() / 2;
    options.network_budget = options.budget / (1 + forecasting::kEsRnnShare);
  }
  if (!request.model.empty()) use_model(request.model, result.table, options);
  note_unused_covariates(options, known, reporter);
  result.plan = forecasting::plan_members(series, options);
  require_network(request, result.plan);
  note_time(result.plan, team.size(), reporter);
  if (!request.save.empty())
    options.on_network = [&](const forecasting::SegmentMember& member) {
      save_network(request.save, result.table, member);
    };
  options.on_dropped = [&](const std::vector<std::string>& names) { result.plan.dropped = names; };
  result.forecasts = forecasting::forecast_automatically(series, options, team);
  if (std::ranges::all_of(result.forecasts, [](const AutomaticForecast& f) { return std::isnan(f.mean[0]); }))
    throw DataError(fmt::format("{}: there is no observed value, so there is nothing to forecast", request.data));
  keep_closed_days(result, reporter);
  note_special_series(result, reporter);
  note_intermittent(result, reporter);
  note_outliers(result, reporter);
  return result;
}

}  // namespace unfold
