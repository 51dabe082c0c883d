#include "model/selection/network_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "model/selection/es_rnn_member.h"
#include "model/selection/segment_member.h"

namespace unfold::forecasting {
namespace {

constexpr Index kLeastSteps = 600, kMostSteps = 1500, kPasses = 8;
constexpr Index kBatchesPerPass = 16, kSmallestBatch = 32, kLargestBatch = 256;
constexpr Index kFewestUnits = 32, kMostUnits = 128;
constexpr double kRateTimesUnits = 0.128;
constexpr Index kMostTraining = 2'000'000, kMostValidation = 4096;  // windows
constexpr double kOperationsAtOnce =
    30;  // additions and multiplications of products that take as long as one operation
constexpr double kNormalQuantile = 1.2815515655446004;  // of 0.9

/// Returns the optimizer for a network of this many units. The appropriate step size of a layer decreases with its
/// width.
std::string optimizer_of(Index units) {
  return fmt::format("adam:rate={},clip=1,schedule=cosine", kRateTimesUnits / static_cast<double>(units));
}

/// Keeps every k-th window, with k such that at most `most` windows remain.
void keep_every_kth(std::vector<SegmentWindow>& windows, Index most) {
  const Index count = static_cast<Index>(windows.size()), stride = (count + most - 1) / most;
  if (stride <= 1) return;
  for (Index i = 0; i * stride < count; ++i) windows[at(i)] = windows[at(i * stride)];
  windows.resize(at((count + stride - 1) / stride));
}

}  // namespace

bool is_network(const std::string& name) { return is_segments(name) || is_es_rnn(name); }

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

Index known_values(const UnivariateSeries& series, const SegmentPlanOptions& options) {
  const Index n = static_cast<Index>(series.values.size());
  const std::vector<Index> origins = backtest_origins(n, options.horizon, series.period, options.origins);
  return origins.empty() ? 0 : origins.front();
}

bool plan_training(SegmentPlan& plan, Index windows, const SegmentPlanOptions& options, double outside) {
  SegmentShape& shape = plan.shape;
  windows = std::min(windows, kMostTraining);
  shape.dropout = 0.1;
  plan.training.batch = std::clamp(windows / kBatchesPerPass, kSmallestBatch, kLargestBatch);
  const Index steps = std::clamp(kPasses * windows / plan.training.batch, kLeastSteps, kMostSteps);
  const Index wanted = windows < 4000 ? kFewestUnits : windows < 20'000 ? 64 : kMostUnits;
  for (shape.units = wanted; shape.units >= kFewestUnits; shape.units /= 2) {
    constexpr double kTrainings = 2;
    const double one = kTrainings * (outside + shape.gradient_operations() / kOperationsAtOnce *
                                                   static_cast<double>(std::min(plan.training.batch, windows)));
    plan.training.steps = std::min(steps, static_cast<Index>(options.budget / one));
    plan.operations = one * static_cast<double>(plan.training.steps);
    plan.training.optimizer = optimizer_of(shape.units);
    if (plan.training.steps >= kLeastSteps) return true;
  }
  shape.units = kFewestUnits;
  plan.training.steps = kLeastSteps;
  plan.training.optimizer = optimizer_of(shape.units);
  return options.required;
}

Index training_end(Index known, Index horizon) {
  constexpr Index kValidationShare = 6;  // divisor: share of the values before the first origin
  return known - std::max(known / kValidationShare, std::min(horizon, known / 3));
}

Index last_origin(Index end, Index horizon) { return end - (horizon - 1) / 2; }

MemberBacktest failed_backtest(const std::string& reason) {
  MemberBacktest result;
  result.failure = reason;
  result.error = std::numeric_limits<double>::infinity();
  return result;
}

void thin_out(SegmentSplit& split) {
  keep_every_kth(split.training, kMostTraining);
  keep_every_kth(split.validation, kMostValidation);
}

PointsAndWidths points_of(std::span<const double> quantiles, Index horizon, Index wanted) {
  PointsAndWidths p;
  for (Index h = 0; h < wanted; ++h) {
    const double low = quantiles[at(h)], middle = quantiles[at(horizon + h)], high = quantiles[at(2 * horizon + h)];
    p.mean.push_back(middle);
    p.below.push_back((middle - low) / kNormalQuantile);
    p.above.push_back((high - middle) / kNormalQuantile);
    p.out_of_range = p.out_of_range || !std::isfinite(low + middle + high);
  }
  return p;
}

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

}  // namespace unfold::forecasting
