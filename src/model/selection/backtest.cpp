#include "model/selection/backtest.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/forecast/measures.h"
#include "model/selection/covariate_effect.h"
#include "model/selection/intermittent.h"
#include "model/selection/weekly_effect.h"
#include "model/selection/yearly_effect.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

constexpr double kFailed = std::numeric_limits<double>::infinity();
constexpr Index kDefaultOrigins = 5, kLeastValues = 4;
constexpr double kWidthProbability = 0.8, kWidthQuantile = 1.2815515655446004;  // normal quantile of 0.9

double mean_size(std::span<const double> values) {
  double sum = 0, count = 0;
  for (const double x : values)
    if (!std::isnan(x)) sum += std::fabs(x), ++count;
  return sum / count;
}

/// Returns why a member would be identical to another member for this series; empty if it would not.
std::string superfluous(const Member& member, const UnivariateSeries& series) {
  if (member.uses_known() && series.known.empty()) return "there are no covariates that are known in advance";
  if (member.name.find("+box-cox") != std::string::npos && box_cox_lambda(series.values, series.period) == 1)
    return "no transformation makes the variation more even";
  if (member.uses_yearly() && series.yearly.share == 0) return "no effect of the time of the year is found";
  if (member.uses_weekly() && series.weekly.share == 0) return "no effect of the day of the week is found";
  if (member.repeats_week() && series.period == series.weekly.week) return "it is identical to seasonal-naive";
  if (member.name == "seasonal-naive" && series.period == 1) return "without a season it is identical to naive";
  return {};
}

}  // namespace

std::unique_ptr<Forecaster> Member::make() const {
  ForecasterOptions options;
  std::string_view suffix = std::string_view(name).substr(base().size());
  if (uses_known()) suffix.remove_suffix(std::string_view("+known").size());
  if (uses_yearly() || uses_weekly()) suffix = suffix.substr(0, suffix.rfind('+'));
  if (suffix == "+log")
    options.lambda = 0;
  else if (suffix == "+box-cox")
    options.auto_lambda = true;
  else if (!suffix.empty())
    throw UsageError("forecaster \"" + name.substr(0, 40) +
                     "\": the name may be followed by +log or +box-cox, then by +yearly or +weekly, then by +known");
  return make_forecaster(base(), options);
}

PointsAndWidths points_and_widths(const Forecast& forecast) {
  PointsAndWidths p{.mean = forecast.mean, .out_of_range = forecast.out_of_range};
  for (std::size_t h = 0; h < p.mean.size(); ++h) {
    const Index step = static_cast<Index>(h);
    const double tail = (1 - kWidthProbability) / 2;
    p.below.push_back(std::max(0.0, p.mean[h] - forecast.quantile(step, tail)) / kWidthQuantile);
    p.above.push_back(std::max(0.0, forecast.quantile(step, 1 - tail) - p.mean[h]) / kWidthQuantile);
    // A limit at 0 narrows the lower half of the interval, not the distribution.
    if (forecast.lower_limit == 0) p.below.back() = std::max(p.below.back(), 0.5 * p.above.back());
  }
  return p;
}

PointsAndWidths fit_and_forecast(const Member& member, const UnivariateSeries& series, Index horizon,
                                 FittedForm* form) {
  const std::unique_ptr<Forecaster> model = member.make();
  UnivariateSeries adjusted{.values = series.values, .period = series.period};
  std::optional<CovariateEffect> covariates;
  if (member.uses_known()) {
    covariates.emplace(series);
    for (std::size_t t = 0; t < adjusted.values.size(); ++t)
      adjusted.values[t] -= covariates->effect(series, static_cast<Index>(t));
  }
  std::optional<YearlyEffect> yearly;
  if (member.uses_yearly()) {
    adjusted.days = series.days, adjusted.yearly = series.yearly;
    yearly.emplace(adjusted);
    adjusted.period = YearlyEffect::inner_period(adjusted);
    for (Index t = 0; t < static_cast<Index>(adjusted.values.size()); ++t)
      adjusted.values[at(t)] = yearly->remove(adjusted.values[at(t)], t);
  }
  std::optional<WeeklyEffect> weekly;
  if (member.uses_weekly()) adjusted.period = member.repeats_week() ? series.weekly.week : series.weekly.day;
  if (member.uses_weekly() && !member.repeats_week()) {
    adjusted.weekly = series.weekly;
    weekly.emplace(adjusted);
    for (Index t = 0; t < static_cast<Index>(adjusted.values.size()); ++t)
      adjusted.values[at(t)] = weekly->remove(adjusted.values[at(t)], t);
  }
  model->fit(adjusted);
  if (form != nullptr) {
    *form = {.name = model->name(), .residuals = model->residuals()};
    for (Index t = 0; yearly && t < static_cast<Index>(form->residuals.size()); ++t)
      form->residuals[at(t)] *= yearly->scale(t);
  }
  PointsAndWidths result = points_and_widths(model->forecast(horizon));
  for (Index h = 0; yearly && h < horizon; ++h) {
    const Index position = static_cast<Index>(series.values.size()) + h;
    result.mean[at(h)] = yearly->restore(result.mean[at(h)], position);
    result.below[at(h)] *= yearly->scale(position), result.above[at(h)] *= yearly->scale(position);
  }
  for (Index h = 0; weekly && h < horizon; ++h)
    result.mean[at(h)] = weekly->restore(result.mean[at(h)], static_cast<Index>(series.values.size()) + h);
  for (Index h = 0; covariates && h < horizon; ++h)
    result.mean[at(h)] += covariates->effect(series, static_cast<Index>(series.values.size()) + h);
  return result;
}

std::vector<Index> backtest_origins(Index n, Index horizon, Index period, Index wanted) {
  std::vector<Index> origins;
  if (n < kLeastValues) return origins;
  const Index count = wanted > 0 ? wanted : kDefaultOrigins;
  // There is at least one value after an origin, and there are enough values before it for a season and a fit.
  const Index least =
      std::clamp<Index>(std::max(2 * period + 1, n / 3), 2, std::max<Index>(2, n - std::min(horizon, n / 3)));
  const Index last = std::max(least, n - std::min(horizon, std::max<Index>(1, n / 3)));
  const Index stride = std::max<Index>(1, std::min(horizon, count > 1 ? (last - least) / (count - 1) : horizon));
  for (Index k = count - 1; k >= 0; --k)
    if (last - k * stride >= least) origins.push_back(last - k * stride);
  return origins;
}

Index longest_season(const UnivariateSeries& series) {
  return series.weekly.share > 0 ? std::max(series.period, series.weekly.week) : series.period;
}

std::vector<Index> with_earlier_years(std::vector<Index> origins, const UnivariateSeries& series, Index end) {
  constexpr Index kDaysOfYear = 366;  // of UnivariateSeries::days
  std::vector<Index> earlier;
  for (Index years = 1; years <= 2 && !series.days.empty() && earlier.size() + 1 < origins.size(); ++years) {
    const Index day = series.days[at(end)] - years * kDaysOfYear;
    const Index place = std::ranges::lower_bound(series.days, day) - series.days.begin();
    if (place >= origins.front() || place < end / 3) break;
    earlier.insert(earlier.begin(), place);
  }
  std::ranges::copy(earlier, origins.begin());
  return origins;
}

double error_scale(std::span<const double> history, Index period) {
  for (const double scale : {seasonal_scale(history, period), seasonal_scale(history, 1), mean_size(history)})
    if (scale > 0 && std::isfinite(scale)) return scale;
  return 1;
}

double scaled_error(std::span<const double> actual, std::span<const double> forecast, double scale) {
  return mase(actual, forecast.first(std::min(actual.size(), forecast.size())), scale);
}

double mean_squared_error(std::span<const double> actual, std::span<const double> forecast) {
  double sum = 0, count = 0;
  for (std::size_t h = 0; h < actual.size(); ++h)
    if (!std::isnan(actual[h])) sum += (actual[h] - forecast[h]) * (actual[h] - forecast[h]), ++count;
  return sum / count;
}

double variance_of(std::span<const double> values) {
  double sum = 0, squares = 0, count = 0;
  for (const double x : values)
    if (!std::isnan(x)) sum += x, ++count;
  for (const double x : values)
    if (!std::isnan(x)) squares += (x - sum / count) * (x - sum / count);
  return squares / count;
}

bool compares_squares(std::span<const MemberBacktest> members) {
  return std::ranges::any_of(members, [](const MemberBacktest& member) { return !member.squares.empty(); });
}

double MemberBacktest::loss(std::size_t left_out) const {
  if (!std::isfinite(error)) return kFailed;
  const std::vector<double>& all = squares.empty() ? errors : squares;
  double sum = 0, count = 0;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (k != left_out && !std::isnan(all[k])) sum += all[k], ++count;
  if (count == 0) return left_out < all.size() ? loss() : error;
  return squares.empty() ? sum / count : std::sqrt((sum + 1) / (count + 1));
}

std::span<const double> held_out(const UnivariateSeries& series, Index origin, Index horizon) {
  const std::span<const double> rest = std::span(series.values).subspan(at(origin));
  return rest.first(std::min(rest.size(), at(horizon)));
}

void score_backtest(MemberBacktest& result, const UnivariateSeries& series, std::span<const Index> origins,
                    Index horizon) {
  double sum = 0, count = 0;
  const double variance = is_intermittent(series) ? variance_of(series.values) : 0;
  result.errors.clear(), result.squares.clear();
  for (std::size_t k = 0; k < origins.size(); ++k) {
    if (result.forecasts[k].out_of_range) {
      result.failure = "its forecast leaves the range that the differences of the history allow";
      result.error = kFailed;
      return;
    }
    const double scale = error_scale(std::span(series.values).first(at(origins[k])), series.period);
    const double error = scaled_error(held_out(series, origins[k], horizon), result.forecasts[k].mean, scale);
    result.errors.push_back(error);
    if (variance > 0)
      result.squares.push_back(mean_squared_error(held_out(series, origins[k], horizon), result.forecasts[k].mean) /
                               variance);
    if (!std::isnan(error)) sum += error, ++count;
  }
  result.error = count > 0 ? sum / count : kFailed;
}

MemberBacktest backtest(const Member& member, const UnivariateSeries& series, std::span<const Index> origins,
                        Index horizon) {
  MemberBacktest result;
  result.error = kFailed;
  result.failure = superfluous(member, series);
  for (const Index origin : origins) {
    if (!result.failure.empty()) return result;
    UnivariateSeries before = series;
    before.values.resize(at(origin));
    try {
      result.forecasts.push_back(fit_and_forecast(member, before, horizon));
    } catch (const DataError& error) {
      result.failure = error.what();
      return result;
    }
    // The remaining origins are not needed.
    if (result.forecasts.back().out_of_range) break;
  }
  score_backtest(result, series, origins.first(result.forecasts.size()), horizon);
  return result;
}

}  // namespace unfold::forecasting
