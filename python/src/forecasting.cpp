/// Automatic forecasts of series in memory, for unfold.estimators.Forecaster.

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "app/forecast/forecast_table.h"
#include "stream.h"
#include "unfold/base/error.h"
#include "work.h"

namespace unfold::python {
namespace {

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Times = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Covariates = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
/// Name, values, times in nanoseconds since 1970-01-01, and covariates [covariates, values + horizon].
using GivenSeries = std::tuple<std::string, Values, std::optional<Times>, std::optional<Covariates>>;

Moment moment_of(std::int64_t nanoseconds) {
  constexpr std::int64_t kSecond = 1'000'000'000, kDay = 86'400 * kSecond;
  const std::int64_t rest = (nanoseconds % kDay + kDay) % kDay;
  return {.days = (nanoseconds - rest) / kDay,
          .second = rest / kSecond,
          .nanosecond = rest % kSecond,
          .has_time = rest != 0};
}

/// Returns the index of times with a regular step; positions if there are no times or if their step is not regular.
forecasting::TimeIndex index_of(const std::optional<Times>& times) {
  if (!times || times->size() < 2) return {};
  std::vector<Moment> moments;
  moments.reserve(times->size());
  for (std::size_t i = 0; i < times->size(); ++i) moments.push_back(moment_of(times->data()[i]));
  const bool has_time = std::ranges::any_of(moments, &Moment::has_time);
  for (Moment& one : moments) one.has_time = has_time;
  return forecasting::TimeIndex::of_dates(moments, DateFormat::year_month_day).value_or(forecasting::TimeIndex());
}

KnownCovariates covariates_of(const std::optional<Covariates>& given) {
  KnownCovariates known;
  if (!given) return known;
  const std::size_t length = given->shape(1);
  for (std::size_t i = 0; i < given->shape(0); ++i)
    known.emplace_back(given->data() + i * length, given->data() + (i + 1) * length);
  return known;
}

using Forecasts = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

/// Copies one list of `horizon` numbers of each series into an array [series, horizon].
template <class Part>
Forecasts table_of(const TableForecast& forecast, const Part& part) {
  const std::size_t horizon = at(forecast.horizon), count = forecast.forecasts.size();
  auto* kept = new std::vector<double>;
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  kept->reserve(count * horizon);
  for (const auto& one : forecast.forecasts) {
    const std::vector<double>& numbers = part(one);
    kept->insert(kept->end(), numbers.begin(), numbers.end());
  }
  return {kept->data(), {count, horizon}, owner};
}

/// Returns (means, list of lower limits, list of upper limits, report). The arrays are [series, horizon]; the lists
/// have one array for each coverage.
nb::tuple forecast(const std::vector<GivenSeries>& given, Index horizon, const std::vector<double>& coverage,
                   const std::vector<std::string>& members, Index origins, Index season, std::optional<double> minutes,
                   Index threads, nb::object callback) {
  SeriesTable table{.fields = {"value"}, .has_groups = given.size() > 1};
  std::vector<KnownCovariates> known;
  for (const auto& [name, values, times, covariates] : given) {
    if (times && times->size() != values.size()) throw UsageError("a series has more or fewer times than values");
    if (covariates && covariates->shape(1) != values.size() + at(horizon))
      throw UsageError("covariates must have one number for every value and every step to forecast");
    table.series.push_back({.group = table.has_groups ? name : std::string(),
                            .field = "value",
                            .index = index_of(times),
                            .values = {values.data(), values.data() + values.size()}});
    known.push_back(covariates_of(covariates));
  }
  const ForecastTableRequest request{.data = "y",
                                     .horizon = horizon,
                                     .coverage = coverage,
                                     .members = members,
                                     .origins = origins,
                                     .season = season,
                                     .minutes = minutes,
                                     .threads = threads};
  PythonReporter reporter(std::move(callback));
  TableForecast result;
  reporter.run([&] { result = forecast_series(std::move(table), known, request, reporter); });
  nb::list lower, upper;
  for (std::size_t level = 0; level < coverage.size(); ++level) {
    lower.append(table_of(result, [&](const auto& one) -> const std::vector<double>& { return one.lower[level]; }));
    upper.append(table_of(result, [&](const auto& one) -> const std::vector<double>& { return one.upper[level]; }));
  }
  return nb::make_tuple(table_of(result, [](const auto& one) -> const std::vector<double>& { return one.mean; }), lower,
                        upper, to_python(forecast_json(result)));
}

}  // namespace

void add_forecasting(nb::module_& module) {
  module.def("forecast", &forecast, nb::arg("series"), nb::kw_only(), nb::arg("horizon"), nb::arg("coverage"),
             nb::arg("members"), nb::arg("origins"), nb::arg("season"), nb::arg("minutes").none(), nb::arg("threads"),
             nb::arg("callback").none());
}

}  // namespace unfold::python
