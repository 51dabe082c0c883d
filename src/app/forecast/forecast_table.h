#pragma once
/// Forecasts of the series of a table without a trained model (`unfold forecast DATA --horizon H`), and their output as
/// TSV, JSON lines, one JSON object, a table of members, and a plot.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "app/common/reporter.h"
#include "app/forecast/series_table.h"
#include "app/predict/predict.h"
#include "model/selection/automatic.h"

namespace unfold {

struct ForecastTableRequest {
  std::string data;           ///< file, or "-"
  SchemaOptions schema = {};  ///< --group, --order, --predict
  /// A table of covariates that are known for the forecast steps: its numeric columns except group and time. They are
  /// not forecast. Empty: none.
  std::string future = {};
  Index horizon = 1;
  std::vector<double> coverage = {0.8};
  std::vector<std::string> members = {};  ///< members to compare; empty: chosen by the budget
  Index origins = 0;                      ///< number of backtest origins; 0: chosen automatically
  Index season = 0;                       ///< seasonal period of all series; 0: detected
  std::optional<double> minutes = {};     ///< budget; the default is the one in AutomaticOptions
  Index threads = 0;
  std::string model = {};  ///< file of a network that was saved by `save`, the only member; empty: none
  std::string save = {};   ///< file for the network over all series; empty: none
};

struct TableForecast {
  SeriesTable table = {};
  std::vector<Index> periods = {};  ///< seasonal period of each series
  std::vector<forecasting::AutomaticForecast> forecasts = {};
  forecasting::AutomaticPlan plan = {};
  Index horizon = 1;
  std::vector<double> coverage = {};
};

/// Throws UsageError, including if there is no trained network to save; DataError, including if no series has an
/// observed value; ModelError.
TableForecast forecast_table(const ForecastTableRequest& request, Reporter& reporter);

/// The covariates of a series that are known in advance: one row for each covariate, with a number for every value of
/// the series and for every step to forecast.
using KnownCovariates = std::vector<std::vector<double>>;

/// Forecasts series in memory with the options of a request, whose `data` names them in messages. `known` has the
/// covariates of each series. Throws UsageError and DataError.
TableForecast forecast_series(SeriesTable table, const std::vector<KnownCovariates>& known,
                              const ForecastTableRequest& request, Reporter& reporter);

/// Columns: `group` if there is one, `time` (dates or numbers) or `step` (1 for the first step ahead), and for each
/// field FIELD.mean and the limits of the intervals as quantiles, such as FIELD.q10 and FIELD.q90. JSON lines have one
/// object per row.
void write_forecast(const TableForecast& forecast, TableFormat format,
                    const std::function<void(std::string_view)>& write);
/// Returns everything as one object with the keys "horizon", "fields", "series" (group, field, period, time, mean,
/// quantiles, backtest and members of each), "members" (as in `describe_members`), "left_out" and "dropped".
nlohmann::ordered_json forecast_json(const TableForecast& forecast);
/// Returns a table of the members with their backtest errors (means over the series), and of what was left out.
std::string describe_members(const TableForecast& forecast);
/// Returns an SVG plot of history, forecast and intervals of the first series, at most kMostPlotted.
std::string plot_forecast(const TableForecast& forecast);
inline constexpr std::size_t kMostPlotted = 12;

/// Returns whether a path given by the user is a folder or begins like a model file; otherwise it is a table.
bool looks_like_model(const std::string& path);

/// Returns whether a model file holds a network that `forecast_table` reads.
bool holds_series_network(const std::string& path);

/// Parses "80,95" as probabilities, ascending. Throws UsageError.
std::vector<double> parse_coverage(std::string_view text);

}  // namespace unfold
