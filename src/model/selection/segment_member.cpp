#include "model/selection/segment_member.h"

#include <algorithm>
#include <charconv>

#include "model/forecast/segments/segment_model.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

constexpr std::string_view kSegments = "segments";
constexpr Index kLeastWindows = 1000, kMostEmbedded = 64;

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

Index multiple_of(Index value, Index unit) { return std::max<Index>(1, value / unit) * unit; }

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
  if (windows < (options.required ? 1 : kLeastWindows)) return {};
  if (series.size() > 1 && static_cast<Index>(series.size()) <= kMostEmbedded)
    shape.series = static_cast<Index>(series.size());
  if (!plan_training(plan, windows, options)) return {};
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
  Index last_origin(Index end) const { return forecasting::last_origin(end, horizon); }
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
  SegmentSplit split{.validation_ends = data.known};
  const SegmentPool pool = data.pool(network.shape(), data.known);
  for (Index s = 0; s < pool.series(); ++s) {
    const Index known = data.known[at(s)];
    const Index end = training_end(known, data.horizon);
    split.ends.push_back(end);
    pool.add_windows(s, 0, data.last_origin(end), split.training);
    pool.add_windows(s, end, data.last_origin(known), split.validation);
  }
  thin_out(split);
  const TrainingResult result = train(network, pool, split, training, data.team);
  if (result.validated) training.steps = std::max<Index>(1, result.best_step);
}

void SegmentMember::train_on_all(const Data& data, const SegmentTraining& training, SegmentNetwork<float>& network) {
  SegmentSplit split{.ends = data.ends};
  const SegmentPool pool = data.pool(network.shape(), data.ends);
  for (Index s = 0; s < pool.series(); ++s)
    if (!data.origins[at(s)].empty()) pool.add_windows(s, 0, data.last_origin(data.ends[at(s)]), split.training);
  thin_out(split);
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
      backtests_[s] = failed_backtest("there are fewer values before the first origin than the network reads");
    }
  }
  unfold::forecasting::forecast(
      *network_, pool, tested, data.team, [&](std::size_t i, std::span<const double> quantiles) {
        const std::size_t s = at(tested[i].series);
        PointsAndWidths points = points_of(quantiles, network_->shape().horizon, data.horizon);
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
                                  forecasts_[s] = points_of(quantiles, network_->shape().horizon, data.horizon);
                                  check_range(data.series[s].values, forecasts_[s]);
                                });
}

const PointsAndWidths& SegmentMember::forecast(Index series) const {
  if (forecasts_[at(series)].mean.empty())
    throw DataError("the series has fewer values than the network reads; use a longer series");
  return forecasts_[at(series)];
}

}  // namespace unfold::forecasting
