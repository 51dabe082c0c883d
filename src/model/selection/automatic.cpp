#include "model/selection/automatic.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "model/selection/combination.h"
#include "model/selection/conformal_intervals.h"
#include "model/selection/es_rnn_member.h"
#include "model/selection/intermittent.h"
#include "model/selection/panel.h"
#include "model/selection/weekly_effect.h"
#include "model/selection/yearly_effect.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

constexpr double kUnknownValue = std::numeric_limits<double>::quiet_NaN();
constexpr Index kBlock = 64;              // number of series whose backtests are in memory at the same time
constexpr Index kLeastBacktested = 4;     // values
constexpr std::size_t kLeastMembers = 2;  // seasonal-naive and naive, regardless of the budget
constexpr double kLeastBudget = 2e10, kBudgetPerSeries = 5e8, kLargestBudget = 3e11;
constexpr Index kLeastPanel = 20, kSampled = 100;  // series
constexpr Index kScreened = 2 * kSampled;          // number of series above which expensive members must pay

/// Runs independent tasks in any order; each writes only its own result.
void for_each_task(Team& team, Index count, const std::function<void(Index)>& task) {
  std::atomic<Index> next = 0;
  team.run([&](unfold::Member&) {
    for (Index i = next++; i < count; i = next++) task(i);
  });
}

/// The data of one series while it is being forecast.
struct Work {
  UnivariateSeries series = {};  ///< the series without the missing values before the first observed value
  Index end = 0;                 ///< number of values up to the last observed value
  Index observed = 0;
  bool constant = true, non_negative = true, intermittent = false;
  std::vector<Outlier> outliers = {};
  std::vector<Index> origins = {};
  std::vector<MemberBacktest> backtests = {};  ///< one backtest for each member of the plan
  std::vector<PointsAndWidths> final = {};     ///< one forecast for each member, from the end of the series
  std::vector<FittedForm> forms = {};
  std::vector<std::string> failures = {};
  CombinationBacktest combination = {};
  PointsAndWidths result = {};

  void choose_origins(const AutomaticOptions& options, Index wanted) {
    if (observed > 0 && !constant && end >= kLeastBacktested)
      origins = with_earlier_years(backtest_origins(end, options.horizon, longest_season(series), wanted), series, end);
  }
};

/// `skipped`: number of missing values before the first value of `work.series`.
void replace_outliers(Work& work, Index skipped) {
  work.outliers = find_outliers(work.series);
  for (Outlier& outlier : work.outliers) {
    if (work.non_negative) outlier.expected = std::max(0.0, outlier.expected);
    work.series.values[at(outlier.place)] = outlier.expected;
    outlier.place += skipped;
  }
}

Work examine(const UnivariateSeries& series, Index horizon) {
  Work work;
  work.series.period = series.period;
  work.series.weekly = series.weekly;
  double first = kUnknownValue;
  for (const double x : series.values) {
    if (work.observed == 0 && std::isnan(x)) continue;
    work.series.values.push_back(x);
    if (std::isnan(x)) continue;
    if (work.observed++ == 0) first = x;
    work.constant = work.constant && x == first;
    work.non_negative = work.non_negative && x >= 0;
    work.end = static_cast<Index>(work.series.values.size());
  }
  const std::size_t skipped = series.values.size() - work.series.values.size();
  for (const std::vector<double>& known : series.known)
    work.series.known.emplace_back(known.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, known.size())),
                                   known.end());
  if (!series.days.empty())
    work.series.days.assign(series.days.begin() + static_cast<std::ptrdiff_t>(skipped), series.days.end());
  if (series.known.empty()) replace_outliers(work, static_cast<Index>(skipped));
  if (work.observed > 0 && !work.constant) work.series.yearly = find_yearly_effect(work.series, horizon);
  if (work.observed > 0 && !work.constant) work.series.weekly.share = find_weekly_effect(work.series);
  work.intermittent = !work.constant && is_intermittent(work.series);
  return work;
}

/// Returns the settings for choosing a network. Explicitly specified members are used whenever possible.
SegmentPlanOptions network_options(const AutomaticOptions& options, Index origins) {
  return {.horizon = options.horizon,
          .origins = origins,
          .budget = options.network_budget,
          .required = !options.members.empty()};
}

SegmentPlanOptions es_rnn_options(const AutomaticOptions& options, Index origins) {
  SegmentPlanOptions result = network_options(options, origins);
  result.budget *= kEsRnnShare;
  return result;
}

/// Returns the typical errors of the members over a sample of the series, either those with intermittent demand or the
/// others; empty if there are fewer than 20 such series. `stride`: number of series for each one in the sample.
std::vector<double> typical_errors_of(std::span<const Work> sample, bool intermittent, Index stride) {
  std::vector<std::vector<MemberBacktest>> tested;
  Index count = 0;
  for (const Work& work : sample) {
    if (work.intermittent != intermittent) continue;
    count += stride;
    if (!work.backtests.empty()) tested.push_back(work.backtests);
  }
  return count >= kLeastPanel ? typical_errors(tested) : std::vector<double>();
}

/// Returns the products of factors and widths. None is less than the one a season before: the simulated quantiles of
/// some models shrink with the horizon. If an effect of the time of the year is possible, the widths may have a season
/// of a year and are not changed.
std::vector<double> half_widths(const std::vector<double>& factors, const std::vector<double>& widths,
                                const UnivariateSeries& series) {
  const std::size_t season = at(std::max<Index>(1, series.period));
  std::vector<double> result;
  for (std::size_t h = 0; h < widths.size(); ++h) {
    result.push_back(factors[h] * widths[h]);
    if (h >= season && series.days.empty()) result[h] = std::max(result[h], result[h - season]);
  }
  return result;
}

class Automatic {
 public:
  Automatic(std::span<const UnivariateSeries> series, const AutomaticOptions& options, Team& team)
      : given_(series), options_(options), team_(team), plan_(plan_members(series, options)) {
    for (const std::string& name : plan_.members) members_.push_back({name});
    networks_.resize(members_.size());
  }

  std::vector<AutomaticForecast> run() {
    const Index count = static_cast<Index>(given_.size());
    std::vector<AutomaticForecast> forecasts(given_.size());
    results_.resize(given_.size()), combinations_.resize(given_.size()), intermittent_.resize(given_.size());
    train_networks();
    if (count >= kLeastPanel) sample_panel();
    for (Index first = 0; first < count; first += kBlock) {
      std::vector<Work> block;
      for (Index i = first; i < std::min(count, first + kBlock); ++i)
        block.push_back(examine(given_[at(i)], options_.horizon));
      run_block(block, first);
      for (std::size_t k = 0; k < block.size(); ++k) {
        forecasts[at(first) + k] = report(block[k]);
        results_[at(first) + k] = std::move(block[k].result);
        intermittent_[at(first) + k] = forecasts[at(first) + k].intermittent;
        combinations_[at(first) + k] = std::move(block[k].combination);
      }
    }
    add_intervals(forecasts);
    return forecasts;
  }

 private:
  /// Trains the members that are networks over all series.
  void train_networks() {
    if (std::ranges::none_of(plan_.members, is_network)) return;
    std::vector<UnivariateSeries> series(given_.size());
    std::vector<std::vector<Index>> origins(given_.size());
    for_each_task(team_, static_cast<Index>(given_.size()), [&](Index i) {
      Work work = examine(given_[at(i)], options_.horizon);
      work.choose_origins(options_, plan_.origins);
      work.series.values.resize(at(work.end));
      series[at(i)] = std::move(work.series), origins[at(i)] = std::move(work.origins);
    });
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (!is_network(members_[m].name)) continue;
      if (is_es_rnn(members_[m].name)) {
        networks_[m] = train_es_rnn(series, origins);
        continue;
      }
      if (options_.trained) {
        networks_[m] = std::make_unique<SegmentMember>(*options_.trained, series, origins, options_.horizon, team_);
        continue;
      }
      const auto plan = plan_segments(members_[m].name, series, network_options(options_, plan_.origins));
      if (!plan && members_.size() == 1)
        throw DataError("forecaster " + members_[m].name +
                        ": the series are too short; there must be values for a segment and two horizons before the "
                        "first origin of the backtest. Use other members, fewer --origins or a shorter --horizon");
      if (!plan) continue;
      auto member = std::make_unique<SegmentMember>(*plan, series, origins, team_);
      if (options_.on_network) options_.on_network(*member);
      networks_[m] = std::move(member);
    }
  }

  std::unique_ptr<NetworkMember> train_es_rnn(std::span<const UnivariateSeries> series,
                                              std::span<const std::vector<Index>> origins) {
    const auto plan = plan_es_rnn(series, es_rnn_options(options_, plan_.origins));
    if (plan) return std::make_unique<EsRnnMember>(*plan, series, origins, team_);
    if (members_.size() > 1) return nullptr;
    throw DataError(
        "forecaster es-rnn: no series has positive values and enough of them; there must be values for a segment and "
        "two horizons before the first origin of the backtest. Use other members, fewer --origins or a shorter "
        "--horizon");
  }

  /// Series i is in the sample if i is a multiple of this.
  Index sample_stride() const { return (static_cast<Index>(given_.size()) + kSampled - 1) / kSampled; }

  /// Backtests all members on evenly spaced series and keeps the results for `run_block`.
  void sample_panel() {
    const Index members = static_cast<Index>(members_.size()), stride = sample_stride();
    std::vector<Work> works;
    for (Index i = 0; i < static_cast<Index>(given_.size()); i += stride) {
      Work& work = works.emplace_back(examine(given_[at(i)], options_.horizon));
      work.choose_origins(options_, plan_.origins);
      if (!work.origins.empty()) work.backtests.resize(members_.size());
    }
    for_each_task(team_, members * static_cast<Index>(works.size()), [&](Index task) {
      Work& work = works[at(task / members)];
      if (work.origins.empty()) return;
      work.backtests[at(task % members)] = backtest_member(work, task / members * stride, at(task % members));
    });
    if (static_cast<Index>(given_.size()) > kScreened) screen_members(works);
    typical_ = typical_errors_of(works, false, stride), typical_intermittent_ = typical_errors_of(works, true, stride);
    for (Work& work : works) sampled_.push_back(std::move(work.backtests));
  }

  /// Drops the expensive members that do not improve the combination in the sample, the most expensive first.
  void screen_members(std::vector<Work>& works) {
    std::vector<SampledSeries> sample;
    for (const Work& work : works)
      if (!work.origins.empty()) sample.push_back({&work.series, work.origins, work.backtests});
    std::vector<std::size_t> optional;
    const double cheap = member_operations("seasonal-ar", 1, 1);
    for (std::size_t m = members_.size(); m-- > 0;)
      if (!networks_[m] && member_operations(members_[m].name, 1, 1) > cheap) optional.push_back(m);
    if (sample.empty() || optional.empty() || !options_.members.empty()) return;
    const std::vector<bool> kept = members_that_pay(sample, optional, options_.horizon);
    std::vector<std::string> dropped;
    for (std::size_t m = members_.size(); m-- > 0;) {
      if (kept[m]) continue;
      const auto place = static_cast<std::ptrdiff_t>(m);
      dropped.insert(dropped.begin(), members_[m].name);
      members_.erase(members_.begin() + place);
      plan_.members.erase(plan_.members.begin() + place);
      networks_.erase(networks_.begin() + place);
      for (Work& work : works)
        if (!work.origins.empty()) work.backtests.erase(work.backtests.begin() + place);
    }
    if (options_.on_dropped && !dropped.empty()) options_.on_dropped(dropped);
  }

  void run_block(std::vector<Work>& block, Index first) {
    const Index members = static_cast<Index>(members_.size());
    for (Work& work : block) {
      work.choose_origins(options_, plan_.origins);
      work.backtests.resize(members_.size()), work.final.resize(members_.size());
      work.forms.resize(members_.size()), work.failures.resize(members_.size());
    }
    const Index tasks = members * static_cast<Index>(block.size());
    for_each_task(team_, tasks, [&](Index task) {
      Work& work = block[at(task / members)];
      if (work.origins.empty()) return;
      const std::size_t member = at(task % members);
      const Index place = first + task / members;
      work.backtests[member] = !sampled_.empty() && place % sample_stride() == 0
                                   ? std::move(sampled_[at(place / sample_stride())][member])
                                   : backtest_member(work, place, member);
    });
    for_each_task(team_, static_cast<Index>(block.size()), [&](Index i) {
      Work& work = block[at(i)];
      if (work.origins.empty()) return;
      const bool weekly = work.series.period < longest_season(work.series);
      const std::vector<double> usual =
          usual_errors(members_, work.series.yearly.share > 0 || weekly, work.intermittent);
      const std::vector<double>& typical = work.intermittent ? typical_intermittent_ : typical_;
      const bool is_panel = !typical.empty();
      work.combination = backtest_combination(work.backtests, work.series, work.origins, options_.horizon,
                                              {.reference = reference(work),
                                               .typical = is_panel ? typical : usual,
                                               .exponent = is_panel ? kPanelExponent : kExponent});
    });
    for_each_task(team_, tasks,
                  [&](Index task) { refit(block[at(task / members)], first + task / members, at(task % members)); });
    for_each_task(team_, static_cast<Index>(block.size()), [&](Index i) { finish(block[at(i)]); });
  }

  MemberBacktest backtest_member(const Work& work, Index place, std::size_t member) const {
    if (options_.members.empty())
      if (const std::string reason = unsuitable(members_[member].name, work.intermittent); !reason.empty())
        return failed_backtest(reason);
    if (networks_[member]) return networks_[member]->backtest(place);
    if (!is_network(members_[member].name))
      return backtest(members_[member], work.series, work.origins, options_.horizon);
    return failed_backtest("the series are too short for a network");
  }

  /// Returns the index of the member that the combination should at least match; -1 if it is not among the members.
  Index reference(const Work& work) const {
    if (work.intermittent) return -1;
    const auto yearly = std::ranges::find(plan_.members, "seasonal-naive+yearly") - plan_.members.begin();
    if (at(yearly) < plan_.members.size() && std::isfinite(work.backtests[at(yearly)].error)) return yearly;
    const auto place = std::ranges::find(plan_.members, work.series.period > 1 ? "seasonal-naive" : "naive");
    const auto weekly = std::ranges::find(plan_.members, "seasonal-naive+weekly");
    const auto error_of = [&](const auto& member) {
      return member == plan_.members.end() ? std::numeric_limits<double>::infinity()
                                           : work.backtests[at(member - plan_.members.begin())].error;
    };
    if (error_of(weekly) < error_of(place)) return weekly - plan_.members.begin();
    return place == plan_.members.end() ? -1 : place - plan_.members.begin();
  }

  /// Fits a member that has a weight to all values.
  void refit(Work& work, Index place, std::size_t member) const {
    if (work.combination.weights.empty() || work.combination.weights[member] == 0) return;
    try {
      if (networks_[member]) {
        work.final[member] = networks_[member]->forecast(place);
        work.forms[member].name = networks_[member]->form();
      } else {
        work.final[member] = fit_and_forecast(members_[member], work.series, options_.horizon, &work.forms[member]);
      }
    } catch (const DataError& error) {
      work.failures[member] = error.what();
    }
    if (work.final[member].out_of_range)
      work.failures[member] = "its forecast leaves the range that the differences of the history allow";
  }

  /// Combines the members that have a forecast; uses naive if there is none, or the mean for intermittent demand.
  void finish(Work& work) const {
    std::vector<double>& weights = work.combination.weights;
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!work.failures[i].empty()) weights[i] = 0;
      sum += weights[i];
    }
    for (double& w : weights) w = sum > 0 ? w / sum : 0;
    if (sum > 0) {
      std::vector<const PointsAndWidths*> forecasts;
      for (const PointsAndWidths& forecast : work.final) forecasts.push_back(&forecast);
      work.result = combine(forecasts, weights);
    } else if (work.observed > 0) {
      const bool has_backtest = !work.origins.empty();
      const std::unique_ptr<Forecaster> simple = make_forecaster(work.intermittent && has_backtest ? "mean" : "naive");
      simple->fit(work.series);
      work.result = points_and_widths(simple->forecast(options_.horizon));
      if (work.observed == 1) std::ranges::fill(work.result.below, kUnknownValue);
    } else {
      const std::vector<double> unknown(at(options_.horizon), kUnknownValue);
      work.result = {unknown, unknown, unknown};
    }
    for (double& x : work.result.mean) x = work.non_negative && x < 0 ? 0 : x;
    work.result.out_of_range = work.non_negative;  // from here on, this states whether 0 is the lower limit
  }

  /// Returns the weighted mean of the residuals of the members that have residuals.
  static std::vector<double> combined_residuals(const Work& work) {
    std::vector<double> sum;
    double weights = 0;
    for (std::size_t i = 0; i < work.forms.size() && !work.combination.weights.empty(); ++i) {
      const std::vector<double>& residuals = work.forms[i].residuals;
      const double weight = work.combination.weights[i];
      if (weight == 0 || residuals.empty()) continue;
      sum.resize(residuals.size()), weights += weight;
      for (std::size_t t = 0; t < sum.size(); ++t) sum[t] += weight * residuals[t];
    }
    for (double& x : sum) x /= weights;
    return sum;
  }

  /// Returns whether a forecast is the mean of intermittent demand: no stated member repeats values or predicts
  /// medians.
  bool is_mean_demand(const Work& work) const {
    if (!work.intermittent || work.origins.empty()) return false;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (work.combination.weights[i] > 0 && !unsuitable(members_[i].name, true).empty()) return false;
    return true;
  }

  AutomaticForecast report(const Work& work) const {
    AutomaticForecast f{.mean = work.result.mean};
    f.intermittent = is_mean_demand(work);
    f.week = work.series.weekly.share > 0 ? work.series.weekly.week : 0;
    f.error = work.combination.origins > 0 ? work.combination.error : kUnknownValue;
    f.origins = work.combination.origins;
    f.diagnostics = diagnose_residuals(combined_residuals(work), work.series.period, work.combination.biases, f.error);
    f.outliers = work.outliers;
    if (work.observed == 0)
      f.note = "there is no observed value, so there is no forecast";
    else if (work.observed == 1)
      f.note = "one value is observed; the forecast is that value, without an interval";
    else if (work.constant)
      f.note = "all observed values are equal; the forecast is that value";
    else if (work.combination.weights.empty())
      f.note = "fewer than " + std::to_string(kLeastBacktested) + " values; the forecast is the last value";
    for (std::size_t i = 0; i < members_.size() && !work.origins.empty(); ++i) {
      const MemberBacktest& tested = work.backtests[i];
      f.members.push_back({members_[i].name, work.forms[i].name, tested.error, work.combination.weights[i],
                           tested.failure.empty() ? work.failures[i] : tested.failure});
    }
    std::ranges::stable_sort(f.members, [](const auto& a, const auto& b) { return a.error < b.error; });
    return f;
  }

  void add_intervals(std::vector<AutomaticForecast>& forecasts) {
    std::vector<std::vector<double>> all(at(options_.horizon));
    for (std::size_t i = 0; i < combinations_.size(); ++i)
      for (std::size_t h = 0; h < combinations_[i].scores.size() && !intermittent_[i]; ++h)
        all[h].insert(all[h].end(), combinations_[i].scores[h].begin(), combinations_[i].scores[h].end());
    const Index others = std::ranges::count(intermittent_, false);
    const ScoreQuantiles quantiles(std::move(all), others, options_.coverage);
    for_each_task(team_, static_cast<Index>(given_.size()), [&](Index i) {
      AutomaticForecast& f = forecasts[at(i)];
      if (f.intermittent) return add_demand_quantiles(given_[at(i)], f);
      const PointsAndWidths& result = results_[at(i)];
      const auto factors = quantiles.factors(combinations_[at(i)], options_.horizon);
      const double limit = result.out_of_range ? 0 : -std::numeric_limits<double>::infinity();
      for (const std::vector<double>& level : factors) {
        std::vector<double>& lower = f.lower.emplace_back();
        std::vector<double>& upper = f.upper.emplace_back();
        const std::vector<double> below = half_widths(level, result.below, given_[at(i)]);
        const std::vector<double> above = half_widths(level, result.above, given_[at(i)]);
        for (std::size_t h = 0; h < level.size(); ++h) {
          lower.push_back(std::max(limit, f.mean[h] - below[h]));
          upper.push_back(f.mean[h] + above[h]);
          if (std::isnan(f.mean[h]) || std::isnan(result.below[h])) lower.back() = upper.back() = kUnknownValue;
        }
      }
    });
  }

  /// Adds the intervals of intermittent demand. They contain the mean, which may be above the quantile of rare demand.
  void add_demand_quantiles(const UnivariateSeries& series, AutomaticForecast& f) const {
    const DemandDistribution demand(series.values);
    for (const double c : options_.coverage) {
      std::vector<double>& lower = f.lower.emplace_back();
      std::vector<double>& upper = f.upper.emplace_back();
      for (const double mean : f.mean) {
        lower.push_back(std::min(mean, demand.quantile(mean, (1 - c) / 2)));
        upper.push_back(std::max(mean, demand.quantile(mean, (1 + c) / 2)));
      }
    }
  }

  std::span<const UnivariateSeries> given_;
  const AutomaticOptions& options_;
  Team& team_;
  AutomaticPlan plan_;
  std::vector<forecasting::Member> members_;
  std::vector<std::unique_ptr<NetworkMember>> networks_;  // network of each member; null if it is no network
  std::vector<std::vector<MemberBacktest>> sampled_;      // of the series in the sample
  std::vector<double> typical_;                           // typical_errors of the sample; empty: few series
  std::vector<double> typical_intermittent_;              // of the series with intermittent demand
  std::vector<PointsAndWidths> results_;
  std::vector<CombinationBacktest> combinations_;
  std::vector<char> intermittent_;  // of each series, whether its forecast is the mean of intermittent demand
};

void check(const AutomaticOptions& options) {
  if (options.horizon < 1)
    throw UsageError("forecast: the horizon is " + std::to_string(options.horizon) + "; it must be at least 1");
  for (const double c : options.coverage)
    if (!(c > 0 && c < 1))
      throw UsageError("forecast: the coverage " + std::to_string(c) + " is not between 0 and 1 (both excluded)");
  for (const std::string& name : options.members)
    if (!is_network(name)) forecasting::Member{name}.make();
}

}  // namespace

std::vector<std::string> default_members(bool known, bool yearly, bool weekly) {
  if (known) {
    std::vector<std::string> members;
    for (const std::string& name : default_members(false, yearly, weekly)) {
      members.push_back(name);
      if (member_operations(name, 1, 1) > member_operations("naive", 1, 1)) members.push_back(name + "+known");
    }
    return members;
  }
  if (yearly)
    return {"seasonal-naive",
            "naive",
            "seasonal-naive+yearly",
            "drift",
            "mean",
            "mean+yearly",
            "theta",
            "theta+yearly",
            "seasonal-ar",
            "seasonal-ar+yearly",
            "seasonal-ar+log",
            "ar",
            "ar+yearly",
            "ar+box-cox",
            "ets",
            "ets+yearly",
            "arima",
            "arima+box-cox"};
  if (weekly)
    return {"seasonal-naive",
            "naive",
            "seasonal-naive+weekly",
            "drift",
            "mean",
            "theta",
            "theta+weekly",
            "seasonal-ar",
            "seasonal-ar+weekly",
            "seasonal-ar+log",
            "ar",
            "ar+box-cox",
            "ets",
            "arima",
            "arima+box-cox",
            "ets+weekly"};
  return {"seasonal-naive",  "naive", "drift",      "mean", "theta", "seasonal-ar",
          "seasonal-ar+log", "ar",    "ar+box-cox", "ets",  "arima", "arima+box-cox"};
}

double member_operations(const std::string& name, Index values, Index period, bool has_missing) {
  // Measured on series of 50 to 1000 values with periods of 1 to 24.
  const std::string base = forecasting::Member{name}.base();
  const double n = static_cast<double>(values), m = static_cast<double>(period);
  const double fitted = static_cast<double>(std::min(values, most_fitted_values(period)));
  if (base == "ets" || base.starts_with("ets:")) return fitted * (2e4 + 5e3 * m);
  if (base == "arima") return fitted * (1.5e4 + 9e3 * m) * (has_missing ? 6 + 3 * m : 1);
  if (base == "ar" || base == "seasonal-ar" || base == "tsb") return n * 600;
  if (base == "theta" || base == "ses") return n * 300;
  return n * 50;
}

double default_budget(std::size_t series) {
  return std::clamp(kBudgetPerSeries * static_cast<double>(series), kLeastBudget, kLargestBudget);
}

AutomaticPlan plan_members(std::span<const UnivariateSeries> series, const AutomaticOptions& options) {
  AutomaticPlan plan;
  if (options.origins > 0) plan.origins = options.origins;
  if (!options.members.empty()) {
    plan.members = options.members;
    return plan;
  }
  const auto operations_of = [&](const std::string& name) {
    const forecasting::Member member{name};
    double sum = 0;
    for (const UnivariateSeries& one : series) {
      const bool has_missing = std::ranges::any_of(one.values, [](double value) { return std::isnan(value); });
      const Index period = member.uses_yearly()   ? YearlyEffect::inner_period(one)
                           : member.uses_weekly() ? std::max<Index>(1, one.weekly.day)
                                                  : one.period;
      sum += member_operations(name, static_cast<Index>(one.values.size()), period, has_missing);
    }
    return sum * static_cast<double>(plan.origins + 1);
  };
  std::vector<std::string> names =
      default_members(std::ranges::any_of(series, [](const UnivariateSeries& one) { return !one.known.empty(); }),
                      std::ranges::any_of(series, [](const UnivariateSeries& one) { return !one.days.empty(); }),
                      std::ranges::any_of(series, [](const UnivariateSeries& one) { return one.weekly.week > 0; }));
  const Index intermittent = std::ranges::count_if(series, is_intermittent);
  if (intermittent > 0) names.insert(names.begin(), kIntermittentMembers.begin(), kIntermittentMembers.end());
  const std::size_t least = kLeastMembers + (intermittent > 0 ? kIntermittentMembers.size() : 0);
  const double budget = options.budget > 0 ? options.budget : default_budget(series.size());
  double spent = 0;
  for (const std::string& name : names) {
    const double operations = operations_of(name);
    const bool fits = spent + operations <= budget || plan.members.size() < least;
    (fits ? plan.members : plan.left_out).push_back(name);
    if (fits) spent += operations;
  }
  plan.operations = spent;
  if (intermittent == static_cast<Index>(series.size())) return plan;  // networks predict medians
  const auto add_network = [&](const char* name, auto&& plan_network, SegmentPlanOptions network) {
    if (const auto sizes = plan_network(network)) {
      plan.members.emplace_back(name);
      plan.operations += sizes->operations;
      return;
    }
    network.budget = std::numeric_limits<double>::infinity();
    if (plan_network(network)) plan.left_out.emplace_back(name);
  };
  add_network(
      "segments", [&](const auto& network) { return plan_segments("segments", series, network); },
      network_options(options, plan.origins));
  add_network(
      "es-rnn", [&](const auto& network) { return plan_es_rnn(series, network); },
      es_rnn_options(options, plan.origins));
  return plan;
}

std::vector<AutomaticForecast> forecast_automatically(std::span<const UnivariateSeries> series,
                                                      const AutomaticOptions& options, Team& team) {
  check(options);
  return Automatic(series, options, team).run();
}

}  // namespace unfold::forecasting
