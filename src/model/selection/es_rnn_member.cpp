#include "model/selection/es_rnn_member.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

/// The series that a network reads, with their indices among all series.
struct EsRnnSample {
  std::vector<EsRnnSeries> series = {};
  std::vector<std::size_t> index = {};
  std::vector<Index> known = {}, ends = {};  // number of values before the first origin, and number of all values
};

/// `is_final`: the scales and initial seasons are computed from all values, otherwise from those before the first
/// origin.
EsRnnSample sample_of(const SegmentShape& shape, std::span<const UnivariateSeries> series,
                      std::span<const std::vector<Index>> origins, bool is_final) {
  EsRnnSample sample;
  for (std::size_t s = 0; s < series.size(); ++s) {
    if (origins[s].empty() || origins[s].front() < shape.window || !is_positive(series[s].values)) continue;
    const Index end = static_cast<Index>(series[s].values.size());
    sample.series.emplace_back(series[s], is_final ? end : origins[s].front());
    sample.index.push_back(s);
    sample.known.push_back(origins[s].front()), sample.ends.push_back(end);
  }
  return sample;
}

void add_windows(const SegmentShape& shape, Index series, Index first, Index end, std::vector<SegmentWindow>& windows) {
  for (Index origin = std::max(first, shape.window); origin < end; ++origin) windows.push_back({series, origin});
}

/// Trains on the values before the first origins; returns the best number of steps.
Index train_before_origins(EsRnnNetwork<float>& network, const EsRnnSample& sample, const SegmentTraining& training,
                           Team& team) {
  const SegmentShape& shape = network.shape();
  SegmentSplit split{.validation_ends = sample.known};
  for (std::size_t i = 0; i < sample.series.size(); ++i) {
    const Index s = static_cast<Index>(i), known = sample.known[i], end = training_end(known, shape.horizon);
    split.ends.push_back(end);
    add_windows(shape, s, 0, last_origin(end, shape.horizon), split.training);
    add_windows(shape, s, end, last_origin(known, shape.horizon), split.validation);
  }
  thin_out(split);
  return train(network, split, training, team);
}

void train_on_all(EsRnnNetwork<float>& network, const EsRnnSample& sample, const SegmentTraining& training,
                  Team& team) {
  const SegmentShape& shape = network.shape();
  SegmentSplit split{.ends = sample.ends};
  for (std::size_t i = 0; i < sample.series.size(); ++i)
    add_windows(shape, static_cast<Index>(i), 0, last_origin(sample.ends[i], shape.horizon), split.training);
  thin_out(split);
  train(network, split, training, team);
}

}  // namespace

bool is_es_rnn(const std::string& name) { return name == "es-rnn"; }

std::optional<SegmentPlan> plan_es_rnn(std::span<const UnivariateSeries> series, const SegmentPlanOptions& options) {
  constexpr Index kSegmentsRead = 2, kLeastSeries = 20, kLeastWindows = 1000;
  constexpr double kSmoothingOperations = 100;  // of one value, with the derivatives
  SegmentPlan plan;
  SegmentShape& shape = plan.shape;
  shape.segment = std::min(segment_of(common_period(series)), std::max<Index>(4, options.horizon));
  shape.horizon = options.horizon;
  std::vector<Index> known;
  for (const UnivariateSeries& one : series)
    if (is_positive(one.values)) known.push_back(known_values(one, options));
  if (static_cast<Index>(known.size()) < (options.required ? 1 : kLeastSeries)) return {};
  std::vector<Index> sorted = known;
  std::ranges::sort(sorted);
  const Index longest = (sorted[sorted.size() / 2] - options.horizon) / 2;
  if (longest < shape.segment || (!options.required && longest < options.horizon)) return {};
  const Index wanted = std::max(kSegmentsRead * shape.segment, options.horizon + shape.segment - 1);
  shape.window = std::min(longest, wanted) / shape.segment * shape.segment;
  Index windows = 0, values = 0;
  for (const Index n : known) values += n;
  for (const Index n : known) windows += std::max<Index>(0, n - options.horizon - shape.window + 1);
  if (windows < (options.required ? 1 : kLeastWindows)) return {};
  const double smoothed = static_cast<double>(kSeriesPerStep * values) / static_cast<double>(known.size());
  if (!plan_training(plan, windows, options, kSmoothingOperations * smoothed)) return {};
  return plan;
}

EsRnnMember::EsRnnMember(const SegmentPlan& plan, std::span<const UnivariateSeries> series,
                         std::span<const std::vector<Index>> origins, Team& team)
    : backtests_(series.size(),
                 failed_backtest("it requires positive values, and as many values before the first origin "
                                 "as the network reads")),
      forecasts_(series.size()),
      form_(fmt::format("es-rnn:{},window={},horizon={},units={}", plan.shape.segment, plan.shape.window,
                        plan.shape.horizon, plan.shape.units)) {
  try {
    run(plan, series, origins, team);
  } catch (const DivergedError& error) {
    std::ranges::fill(backtests_, failed_backtest(error.what()));
  }
}

void EsRnnMember::run(const SegmentPlan& plan, std::span<const UnivariateSeries> series,
                      std::span<const std::vector<Index>> origins, Team& team) {
  const Index horizon = plan.shape.horizon;
  SegmentTraining training = plan.training;
  const EsRnnSample past = sample_of(plan.shape, series, origins, false);
  EsRnnNetwork<float> network(plan.shape, past.series);
  training.steps = std::max<Index>(1, train_before_origins(network, past, training, team));
  std::vector<SegmentWindow> tested, last;
  for (std::size_t i = 0; i < past.series.size(); ++i) {
    for (const Index origin : origins[past.index[i]]) tested.push_back({static_cast<Index>(i), origin});
    last.push_back({static_cast<Index>(i), past.ends[i]});
    backtests_[past.index[i]] = {};
  }
  unfold::forecasting::forecast(network, tested, team, [&](std::size_t w, std::span<const double> quantiles) {
    const std::size_t s = past.index[at(tested[w].series)];
    PointsAndWidths points = points_of(quantiles, horizon, horizon);
    check_range(std::span(series[s].values).first(at(tested[w].origin)), points);
    backtests_[s].forecasts.push_back(std::move(points));
  });
  for (const std::size_t s : past.index) score_backtest(backtests_[s], series[s], origins[s], horizon);

  const EsRnnSample all = sample_of(plan.shape, series, origins, true);
  EsRnnNetwork<float> final_network(plan.shape, all.series);
  train_on_all(final_network, all, training, team);
  unfold::forecasting::forecast(final_network, last, team, [&](std::size_t w, std::span<const double> quantiles) {
    const std::size_t s = all.index[w];
    forecasts_[s] = points_of(quantiles, horizon, horizon);
    check_range(series[s].values, forecasts_[s]);
  });
}

const PointsAndWidths& EsRnnMember::forecast(Index series) const {
  if (forecasts_[at(series)].mean.empty())
    throw DataError("the series has values that are not positive, or fewer values than the network reads");
  return forecasts_[at(series)];
}

}  // namespace unfold::forecasting
