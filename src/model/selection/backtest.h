#pragma once
/// Rolling-origin backtests of forecasters on one series: every member is fitted to the values before an origin and
/// forecasts the values after it as if they were unknown.
///
///     const std::vector<Index> origins = backtest_origins(n, horizon, period, 0);
///     const MemberBacktest result = backtest(make_member("ets"), series, origins, horizon);
///     result.error     // MASE over all origins
///
/// The error of an origin is the mean absolute error of its horizons divided by `error_scale` of the values before it.
/// Missing values are not counted.

#include <string>
#include <string_view>
#include <vector>

#include "model/forecast/forecaster.h"

namespace unfold::forecasting {

/// A forecaster of a backtest: a name accepted by `make_forecaster`, with the suffix "+log" for the logarithm of the
/// values or "+box-cox" for the exponent of `box_cox_lambda`, then "+yearly" for values without the effect of the time
/// of the year (yearly_effect.h), and then "+known" for a regression on the covariates that are known in advance
/// (covariate_effect.h).
struct Member {
  std::string name;
  std::unique_ptr<Forecaster> make() const;  ///< throws UsageError for an unknown name
  std::string base() const { return name.substr(0, name.find('+')); }
  bool uses_known() const { return name.ends_with("+known"); }
  bool uses_yearly() const { return name.ends_with("+yearly") || name.ends_with("+yearly+known"); }
  bool uses_weekly() const { return name.ends_with("+weekly") || name.ends_with("+weekly+known"); }
  /// Returns whether the member repeats the last week.
  bool repeats_week() const { return uses_weekly() && base() == "seasonal-naive"; }
};

/// The parts of a forecast that combinations need. Half-widths are the half-widths of the central 80 % interval divided
/// by the normal quantile; for a normal distribution, they equal the standard deviation.
struct PointsAndWidths {
  std::vector<double> mean = {}, below = {}, above = {};
  bool out_of_range = false;
};
PointsAndWidths points_and_widths(const Forecast& forecast);
/// A fit to all values.
struct FittedForm {
  std::string name = {};               ///< the form that was chosen, such as "ets:A,Ad,N"
  std::vector<double> residuals = {};  ///< as in Forecaster, in the units of the series
};
/// Fits a member to a series and forecasts. `form`, if given, receives the fitted form. Throws DataError.
PointsAndWidths fit_and_forecast(const Member& member, const UnivariateSeries& series, Index horizon,
                                 FittedForm* form = nullptr);

struct MemberBacktest {
  std::vector<PointsAndWidths> forecasts;  ///< one forecast for each origin
  std::vector<double> errors;              ///< one error for each origin; NaN if no value after the origin is observed
  double error = 0;                        ///< mean of `errors`; +infinity if the member failed at an origin
  /// The mean squared error of each origin, divided by the variance of the series, if the members are compared by
  /// squared errors (intermittent.h); empty: they are compared by `errors`.
  std::vector<double> squares = {};
  /// Returns the error by which members are compared, over all origins except `left_out`: the mean of `errors`, or the
  /// root of the mean of `squares` and one 1, the error of an additional origin. Without this origin, a series without
  /// demand after the origins would have no error that a forecast of 0 does not avoid.
  double loss(std::size_t left_out = static_cast<std::size_t>(-1)) const;
  std::string failure = {};  ///< reason why the member failed
};

/// Returns whether the members of a series are compared by squared errors.
bool compares_squares(std::span<const MemberBacktest> members);

/// Returns the number of values before each origin, ascending. Origins are `horizon` apart, or less if the series is
/// short; if possible, at least two periods and a third of the series precede the first origin. `wanted`: number of
/// origins (fewer if the series is too short); 0: five. Empty if fewer than four values are given.
std::vector<Index> backtest_origins(Index n, Index horizon, Index period, Index wanted);

/// Returns the longest seasonal period of the members of a series: its period, or a week if the day of the week has an
/// effect.
Index longest_season(const UnivariateSeries& series);

/// Moves the first origins to the date of the end of the series in the last two years before, if the days are known and
/// these dates are before the first origin and after the first third of the values. The errors then include the time of
/// the year that is forecast.
std::vector<Index> with_earlier_years(std::vector<Index> origins, const UnivariateSeries& series, Index end);

/// Returns the scale of errors: the mean absolute difference at lag `period` before the origin. If this is 0 or
/// unknown, returns the mean absolute difference at lag 1, then the mean absolute value, then 1.
double error_scale(std::span<const double> history, Index period);
/// Returns the mean absolute error of the observed values divided by `scale`; `actual` may be shorter than `forecast`.
double scaled_error(std::span<const double> actual, std::span<const double> forecast, double scale);
/// Returns the mean squared error of the observed values; `actual` may be shorter than `forecast`.
double mean_squared_error(std::span<const double> actual, std::span<const double> forecast);
/// Returns the variance of the observed values.
double variance_of(std::span<const double> values);
/// Returns the observed values after an origin, at most `horizon`.
std::span<const double> held_out(const UnivariateSeries& series, Index origin, Index horizon);

/// Sets the errors of a member that has forecasts for all origins, and the squared errors if the demand is
/// intermittent. A forecast that is marked as out of range makes the member fail.
void score_backtest(MemberBacktest& result, const UnivariateSeries& series, std::span<const Index> origins,
                    Index horizon);

/// A forecast that is marked as out of range, or a DataError, makes the member fail. A Box-Cox transformation with the
/// exponent 1 and seasonal-naive without a season fail because they are identical to other members.
MemberBacktest backtest(const Member& member, const UnivariateSeries& series, std::span<const Index> origins,
                        Index horizon);

}  // namespace unfold::forecasting
