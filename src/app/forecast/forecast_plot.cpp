#include <fmt/format.h>

#include <algorithm>

#include "app/forecast/forecast_table.h"
#include "app/plots/time_ticks.h"

namespace unfold {
namespace {

using forecasting::AutomaticForecast;

/// Returns the time axis of the steps [first, last], from 0. Steps are drawn at their place from 1.
Axis time_axis(const SeriesTable& table, const TableSeries& series, Index first, Index last) {
  const Axis steps{.label = "step"};
  const std::string name = table.time_column.empty() ? "time" : table.time_column;
  const auto moment_of = [&](Index step) -> std::optional<Moment> {
    if (series.index.has_dates()) return series.index.moment(step);
    if (step < static_cast<Index>(series.irregular.size())) return series.irregular[at(step)];
    return std::nullopt;
  };
  Axis axis{.label = name};
  if (series.index.has_dates() || !series.irregular.empty()) {
    axis.ticks = time_ticks(first, last, moment_of);
  } else if (series.index.has_times()) {
    constexpr Index kTicks = 5;
    const Index step = std::max<Index>(1, (last - first) / kTicks);
    for (Index p = first; p <= last; p += step) axis.ticks.push_back({static_cast<double>(p), series.index.label(p)});
  }
  for (AxisTick& tick : axis.ticks) tick.at += 1;
  return axis.ticks.empty() ? steps : axis;
}

std::string plot_series(const TableForecast& f, std::size_t i) {
  constexpr Index kHorizonsBefore = 5, kLeastHistory = 60;  // length of the drawn history, in horizons and in values
  const TableSeries& series = f.table.series[i];
  const AutomaticForecast& one = f.forecasts[i];
  const auto n = static_cast<Index>(series.values.size());
  const Index first = std::max<Index>(0, n - std::max<Index>(kLeastHistory, kHorizonsBefore * f.horizon));
  Curve history{"history", {}};
  for (Index t = first; t < n; ++t)
    history.points.push_back(
        {static_cast<double>(t + 1), {series.values[at(t)], series.values[at(t)], series.values[at(t)]}});
  std::vector<Curve> curves{std::move(history)};
  for (std::size_t level = f.coverage.size(); level-- > 0;) {
    Curve& curve = curves.emplace_back();
    curve.label = fmt::format("forecast, {:g} %", 100 * f.coverage[level]);
    for (Index h = 0; h < f.horizon; ++h)
      curve.points.push_back(
          {static_cast<double>(n + h + 1), {one.lower[level][at(h)], one.mean[at(h)], one.upper[level][at(h)]}});
  }
  const std::string title = series.group.empty() ? series.field : series.field + " of " + series.group;
  return line_plot(title, time_axis(f.table, series, first, n + f.horizon - 1), {series.field}, curves);
}

}  // namespace

std::string plot_forecast(const TableForecast& f) {
  const std::size_t count = std::min(f.forecasts.size(), kMostPlotted);
  std::vector<std::string> plots;
  plots.reserve(count);
  for (std::size_t i = 0; i < count; ++i) plots.push_back(plot_series(f, i));
  return stacked_plots(plots);
}

}  // namespace unfold
