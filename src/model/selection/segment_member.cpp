#include "model/selection/segment_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "model/forecast/segments/segment_model.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

constexpr std::string_view kSegments = "segments";
constexpr Index kLeastWindows = 1000, kMostEmbedded = 64;
constexpr Index kLeastSteps = 600, kMostSteps = 1500, kPasses = 8;
constexpr Index kBatchesPerPass = 16, kSmallestBatch = 32, kLargestBatch = 256;
constexpr Index kFewestUnits = 32, kMostUnits = 128;
constexpr double kRateTimesUnits = 0.128;
constexpr Index kMostTraining = 2'000'000, kMostValidation = 4096;  // windows
constexpr double kOperationsAtOnce =
    30;  // additions and multiplications of products that take as long as one operation
constexpr double kNormalQuantile = 1.2815515655446004;  // of 0.9

/// Returns the number after "segments:"; 0 if there is none.
Index stated_segment(const std::string& name) {
  if (name.size() == kSegments.size()) return 0;
  Index segment = 0;
  const char* begin = name.data() + kSegments.size() + 1;
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), segment);
  if (error != std::errc() || end != name.data() + name.size() || segment < 1 || segment > 10'000)
    throw UsageError(
        "forecaster \"" + name.substr(0, 40) +
        "\": \"segments:\" must be followed by the number of values of a segment, from 1 to 10000, such as "
        "segments:24");
  return segment;
}

/// Returns the most frequent seasonal period, weighted by the number of values.
Index common_period(std::span<const UnivariateSeries> series) {
  std::map<Index, std::size_t> values;
  for (const UnivariateSeries& one : series) values[one.period] += one.values.size();
  const auto most = std::ranges::max_element(values, {}, [](const auto& entry) { return entry.second; });
  return most == values.end() ? 1 : most->first;
}

Index segment_of(Index period) {
  constexpr Index kWithoutSeason = 8, kShortest = 4, kLongest = 64, kTypical = 48;
  if (period <= 1) return kWithoutSeason;
  if (period < kShortest) return period * ((kShortest + period - 1) / period);
  if (period <= kLongest) return period;
  const Index parts = (period + kTypical - 1) / kTypical;
  return (period + parts - 1) / parts;
}

/// Returns the number of values before the first origin of a series.
Index known_values(const UnivariateSeries& series, const SegmentPlanOptions& options) {
  const Index n = static_cast<Index>(series.values.size());
  const std::vector<Index> origins = backtest_origins(n, options.horizon, series.period, options.origins);
  return origins.empty() ? 0 : origins.front();
}

/// Returns the optimizer for a network of this many units. The appropriate step size of a layer decreases with its
/// width.
std::string optimizer_of(Index units) {
  return fmt::format("adam:rate={},clip=1,schedule=cosine", kRateTimesUnits / static_cast<double>(units));
}

Index multiple_of(Index value, Index unit) { return std::max<Index>(1, value / unit) * unit; }

/// Keeps every k-th window, with k such that at most `most` windows remain.
void thin_out(std::vector<SegmentWindow>& windows, Index most) {
  const Index count = static_cast<Index>(windows.size()), stride = (count + most - 1) / most;
  if (stride <= 1) return;
  for (Index i = 0; i * stride < count; ++i) windows[at(i)] = windows[at(i * stride)];
  windows.resize(at((count + stride - 1) / stride));
}

/// Returns the first `wanted` values of the quantiles 0.1, 0.5 and 0.9, each with `horizon` values.
PointsAndWidths points_of(std::span<const double> quantiles, std::size_t horizon, std::size_t wanted) {
  PointsAndWidths p;
  for (std::size_t h = 0; h < wanted; ++h) {
    const double low = quantiles[h], middle = quantiles[horizon + h], high = quantiles[2 * horizon + h];
    p.mean.push_back(middle);
    p.below.push_back((middle - low) / kNormalQuantile);
    p.above.push_back((high - middle) / kNormalQuantile);
    p.out_of_range = p.out_of_range || !std::isfinite(low + middle + high);
  }
  return p;
}

/// Marks a forecast that no path with steps of observed size can reach (forecaster.h).
void check_range(std::span<const double> history, PointsAndWidths& forecast) {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest, step = 0, last = std::nan("");
  for (const double x : history) {
    if (std::isnan(x)) continue;
    lowest = std::min(lowest, x), highest = std::max(highest, x);
    if (!std::isnan(last)) step = std::max(step, std::fabs(x - last));
    last = x;
  }
  for (std::size_t h = 0; h < forecast.mean.size(); ++h) {
    const double reach = step * static_cast<double>(h + 1);
    if (!(forecast.mean[h] >= lowest - reach && forecast.mean[h] <= highest + reach)) forecast.out_of_range = true;
  }
}

}  // namespace

bool is_segments(const std::string& name) {
  if (name != kSegments && !name.starts_with("segments:")) return false;
  stated_segment(name);
  return true;
}

std::optional<SegmentPlan> plan_segments(const std::string& name, std::span<const UnivariateSeries> series,
                                         const SegmentPlanOptions& options) {
  constexpr Index kSegmentsRead = 7, kHorizonsRead = 2;
  SegmentPlan plan;
  SegmentShape& shape = plan.shape;
  const Index stated = stated_segment(name);
  shape.segment =
      stated > 0 ? stated : std::min(segment_of(common_period(series)), std::max<Index>(4, options.horizon));
  shape.horizon = options.horizon;
  std::vector<Index> known;
  for (const UnivariateSeries& one : series) known.push_back(known_values(one, options));
  std::vector<Index> sorted = known;
  std::ranges::sort(sorted);
  const Index longest = sorted.empty() ? 0 : (sorted[sorted.size() / 2] - options.horizon) / 2;
  const Index wanted_window = std::max(kSegmentsRead * shape.segment, kHorizonsRead * options.horizon);
  if (longest < (options.required ? shape.segment : wanted_window)) return {};
  shape.window = multiple_of(std::min(longest, wanted_window), shape.segment);
  Index windows = 0;
  for (const Index n : known) windows += std::max<Index>(0, n - options.horizon - shape.window + 1);
  windows = std::min(windows, kMostTraining);
  if (windows < (options.required ? 1 : kLeastWindows)) return {};
  if (series.size() > 1 && static_cast<Index>(series.size()) <= kMostEmbedded)
    shape.series = static_cast<Index>(series.size());
  shape.dropout = 0.1;
  plan.training.batch = std::clamp(windows / kBatchesPerPass, kSmallestBatch, kLargestBatch);
  const Index steps = std::clamp(kPasses * windows / plan.training.batch, kLeastSteps, kMostSteps);
  const Index wanted = windows < 4000 ? kFewestUnits : windows < 20'000 ? 64 : kMostUnits;
  for (shape.units = wanted; shape.units >= kFewestUnits; shape.units /= 2) {
    constexpr double kTrainings = 2;
    const double one = kTrainings * shape.gradient_operations() / kOperationsAtOnce *
                       static_cast<double>(std::min(plan.training.batch, windows));
    plan.training.steps = std::min(steps, static_cast<Index>(options.budget / one));
    plan.operations = one * static_cast<double>(plan.training.steps);
    plan.training.optimizer = optimizer_of(shape.units);
    if (plan.training.steps >= kLeastSteps) return plan;
  }
  if (!options.required) return {};
  shape.units = kFewestUnits;
  plan.training.steps = kLeastSteps;
  plan.training.optimizer = optimizer_of(shape.units);
  return plan;
}

/// The series with their backtests, in the form that a network reads.
struct SegmentMember::Data {
  std::span<const UnivariateSeries> series;
  std::span<const std::vector<Index>> origins;
  Team& team;
  Index horizon;
  std::vector<std::vector<double>> values = {};
  std::vector<Index> known = {}, ends = {};  // number of values before the first origin, and number of all values
  std::vector<Index> embeddings = {};        // empty: the embeddings of the pool

  Data(std::span<const UnivariateSeries> series_given, std::span<const std::vector<Index>> origins_given,
       Index horizon_given, Team& team_given)
      : series(series_given), origins(origins_given), team(team_given), horizon(horizon_given) {
    for (std::size_t s = 0; s < series.size(); ++s) {
      values.push_back(series[s].values);
      known.push_back(origins[s].empty() ? 0 : origins[s].front());
      ends.push_back(static_cast<Index>(series[s].values.size()));
    }
  }
  SegmentPool pool(const SegmentShape& shape, const std::vector<Index>& scaled_by) const {
    SegmentPool result(shape, values, scaled_by);
    if (!embeddings.empty()) result.set_embeddings(embeddings);
    return result;
  }
  /// Returns whether a network can read a window before the first origin.
  bool can_read(std::size_t s, const SegmentShape& shape) const {
    return !origins[s].empty() && origins[s].front() >= shape.window;
  }
  /// Returns the last origin of a window: the last targets may be missing, but not more than half of them.
  Index last_origin(Index end) const { return end - (horizon - 1) / 2; }
};

SegmentMember::SegmentMember(const SegmentPlan& plan, std::span<const UnivariateSeries> series,
                             std::span<const std::vector<Index>> origins, Team& team)
    : form_(describe(plan.shape)) {
  const Data data(series, origins, plan.shape.horizon, team);
  SegmentTraining training = plan.training;
  const auto network = std::make_shared<SegmentNetwork<float>>(plan.shape);
  network_ = network;
  train_before_origins(data, training, *network);
  run_backtest(data);
  train_on_all(data, training, *network);
  run_forecast(data);
}

SegmentMember::SegmentMember(const TrainedSegments& trained, std::span<const UnivariateSeries> series,
                             std::span<const std::vector<Index>> origins, Index horizon, Team& team)
    : network_(trained.network), form_(describe(trained.network->shape())) {
  if (horizon > network_->shape().horizon)
    throw UsageError("forecast: the horizon is " + std::to_string(horizon) + ", but the model was trained for " +
                     std::to_string(network_->shape().horizon) + " steps; use a shorter horizon, or train a new model");
  if (network_->shape().levels.size() != 3) throw UsageError("forecast: the model does not predict three quantiles");
  Data data(series, origins, horizon, team);
  data.embeddings = trained.embeddings;
  run_backtest(data);
  run_forecast(data);
}

void SegmentMember::train_before_origins(const Data& data, SegmentTraining& training, SegmentNetwork<float>& network) {
  constexpr Index kValidationShare = 6;  // divisor: share of the values before the first origin
  SegmentSplit split{.validation_ends = data.known};
  const SegmentPool pool = data.pool(network.shape(), data.known);
  for (Index s = 0; s < pool.series(); ++s) {
    const Index known = data.known[at(s)];
    const Index end = known - std::max(known / kValidationShare, std::min(data.horizon, known / 3));
    split.ends.push_back(end);
    pool.add_windows(s, 0, data.last_origin(end), split.training);
    pool.add_windows(s, end, data.last_origin(known), split.validation);
  }
  thin_out(split.training, kMostTraining);
  thin_out(split.validation, kMostValidation);
  const TrainingResult result = train(network, pool, split, training, data.team);
  if (result.validated) training.steps = std::max<Index>(1, result.best_step);
}

void SegmentMember::train_on_all(const Data& data, const SegmentTraining& training, SegmentNetwork<float>& network) {
  SegmentSplit split{.ends = data.ends};
  const SegmentPool pool = data.pool(network.shape(), data.ends);
  for (Index s = 0; s < pool.series(); ++s)
    if (!data.origins[at(s)].empty()) pool.add_windows(s, 0, data.last_origin(data.ends[at(s)]), split.training);
  thin_out(split.training, kMostTraining);
  train(network, pool, split, training, data.team);
}

void SegmentMember::run_backtest(const Data& data) {
  const SegmentPool pool = data.pool(network_->shape(), data.known);
  std::vector<SegmentWindow> tested;
  backtests_.resize(data.series.size());
  for (std::size_t s = 0; s < data.series.size(); ++s) {
    if (data.can_read(s, network_->shape())) {
      for (const Index origin : data.origins[s]) tested.push_back({static_cast<Index>(s), origin});
    } else {
      backtests_[s].failure = "there are fewer values before the first origin than the network reads";
      backtests_[s].error = std::numeric_limits<double>::infinity();
    }
  }
  unfold::forecasting::forecast(
      *network_, pool, tested, data.team, [&](std::size_t i, std::span<const double> quantiles) {
        const std::size_t s = at(tested[i].series);
        PointsAndWidths points = points_of(quantiles, at(network_->shape().horizon), at(data.horizon));
        check_range(std::span(data.series[s].values).first(at(tested[i].origin)), points);
        backtests_[s].forecasts.push_back(std::move(points));
      });
  for (std::size_t s = 0; s < data.series.size(); ++s)
    if (backtests_[s].failure.empty()) score_backtest(backtests_[s], data.series[s], data.origins[s], data.horizon);
}

void SegmentMember::run_forecast(const Data& data) {
  const SegmentPool pool = data.pool(network_->shape(), data.ends);
  std::vector<SegmentWindow> last;
  forecasts_.resize(data.series.size());
  for (std::size_t s = 0; s < data.series.size(); ++s)
    if (data.can_read(s, network_->shape())) last.push_back({static_cast<Index>(s), data.ends[s]});
  unfold::forecasting::forecast(*network_, pool, last, data.team,
                                [&](std::size_t i, std::span<const double> quantiles) {
                                  const std::size_t s = at(last[i].series);
                                  forecasts_[s] = points_of(quantiles, at(network_->shape().horizon), at(data.horizon));
                                  check_range(data.series[s].values, forecasts_[s]);
                                });
}

const PointsAndWidths& SegmentMember::forecast(Index series) const {
  if (forecasts_[at(series)].mean.empty())
    throw DataError("the series has fewer values than the network reads; use a longer series");
  return forecasts_[at(series)];
}

}  // namespace unfold::forecasting
