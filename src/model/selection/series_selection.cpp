#include "model/selection/series_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/series/kernel_thresholds.h"
#include "model/series/pooled_readout.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

constexpr Index kFeatures = 10'000, kReservoir = 300, kRandomFeatures = 1000, kFolds = 5;

Index channels_of(const ExampleSet& training, const NetworkLayout& layout) {
  Index channels = 0;
  for (const std::string& read : layout.reads) channels += training.data().field(parse_read(read).field).size;
  return channels;
}

/// Returns the number of additions and multiplications of the features and of the fit.
double operations_of(const ExampleSet& training, double per_position, double features) {
  constexpr double kLambdas = 17, kFewLambdas = 8, kExact = 2000;
  const auto rows = static_cast<double>(training.count());
  const double fit = rows <= kExact ? rows * rows * features + kLambdas * rows * rows * rows / 2
                                    : features * features * (rows + kFewLambdas * features / 3);
  return per_position * static_cast<double>(training.positions()) + fit;
}

/// Returns the operations of random kernels: two per statistic, threshold and position.
double kernel_operations(const ExampleSet& training, Index features) {
  const auto count = static_cast<double>(features);
  return operations_of(training, 2 * count, count);
}

/// Returns whether some series is not standardized; standardizing each series then makes a difference.
bool differ_in_scale(const ExampleSet& training, const NetworkLayout& layout) {
  constexpr double kSame = 0.01;
  for (const std::string& read : layout.reads) {
    const std::string field = parse_read(read).field;
    const Index size = training.data().field(field).size;
    const FieldColumn& column = training.column(field);
    std::vector<double> first;  // mean and deviation of each component in the first series
    for (Index e = 0; e < training.count(); ++e)
      for (Index i = 0; i < size; ++i) {
        double sum = 0, squares = 0;
        for (Index p = training.begin(e); p < training.begin(e) + training.length(e); ++p) {
          const auto x = static_cast<double>(column.values[at(p * size + i)]);
          sum += x, squares += x * x;
        }
        const auto n = static_cast<double>(training.length(e));
        const double mean = sum / n, deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
        if (e == 0) {
          first.push_back(mean), first.push_back(deviation);
        } else if (std::abs(mean - first[at(2 * i)]) > kSame || std::abs(deviation - first[at(2 * i + 1)]) > kSame) {
          return true;
        }
      }
  }
  return false;
}

}  // namespace

namespace {

/// Random functions of single rows: without earlier rows, an echo state network is one layer of random units.
std::vector<SeriesCandidate> row_candidates(const ExampleSet& training, const NetworkLayout& layout) {
  std::vector<SeriesCandidate> result;
  const auto inputs = static_cast<double>(channels_of(training, layout));
  for (const Index units : {kReservoir, kRandomFeatures}) {
    const auto features = static_cast<double>(units);
    result.push_back({.model = fmt::format("esn:{}", units),
                      .operations = operations_of(training, 2 * features * (inputs + 1), features)});
  }
  return result;
}

std::vector<SeriesCandidate> fitted_candidates(const ExampleSet& training, const NetworkLayout& layout) {
  if (are_rows(training)) return row_candidates(training, layout);
  std::vector<SeriesCandidate> result;
  const std::string kernels = fmt::format("kernels:{}", kFeatures);
  result.push_back({.model = kernels, .operations = kernel_operations(training, kFeatures)});
  if (differ_in_scale(training, layout))
    result.push_back({.model = kernels + ",normalize=series", .operations = kernel_operations(training, kFeatures)});
  const double reservoir = kReservoir * (2.0 * 10 + 2.0 * static_cast<double>(channels_of(training, layout)) + 20);
  result.push_back(
      {.model = fmt::format("esn:{}", kReservoir), .operations = operations_of(training, reservoir, 3.0 * kReservoir)});
  return result;
}

}  // namespace

bool are_rows(const ExampleSet& examples) { return examples.positions() == examples.count(); }

std::vector<SeriesCandidate> series_candidates(const ExampleSet& training, const NetworkLayout& layout,
                                               const SeriesSelectionOptions& options) {
  std::vector<SeriesCandidate> result = fitted_candidates(training, layout);
  if (!options.network.empty())
    result.push_back(
        {.model = options.network,
         .operations = cross_validation_operations(options.network, training, layout, kFolds, options.training.epochs),
         .fitted = false});
  return result;
}

namespace {

/// Sets the typical length in the SPEC of the candidate.
template <class T>
double left_out_nats(SeriesCandidate& candidate, const ExampleSet& training, const NetworkLayout& layout,
                     const SeriesSelectionOptions& options, Team& team) {
  ModelSpec spec = parse_model_spec(candidate.model);
  if (has_random_kernels(spec)) spec = with_typical_length(std::move(spec), training);
  candidate.model = to_string(spec);
  NetworkModel<T> model(candidate.model, training.data(), layout);
  model.initialize(options.seed);
  ExampleBatchOptions reading{.reads = layout.reads, .patches = patches_of(spec)};
  for (const HeadSpecification& head : layout.heads) reading.predicts.push_back(head.field);
  if (has_random_kernels(spec)) select_kernel_thresholds(model, training, options.seed);
  return fit_pooled_readout(model, training, reading, 0, team).nats;
}

template <class T>
CrossValidation<T> validate_in_folds(const SeriesCandidate& candidate, const ExampleSet& training,
                                     const NetworkLayout& layout, const SeriesSelectionOptions& options, Team& team) {
  FoldTraining each = options.training;
  each.seed = options.seed;
  const std::vector<Index> folds =
      stratified_folds(classes_of(training, layout.heads.front().field), {}, kFolds, options.seed);
  return cross_validate<T>(candidate.model, training, layout, folds, each, team);
}

}  // namespace

template <class T>
SeriesSelection<T> select_series_model(const ExampleSet& training, const NetworkLayout& layout,
                                       const SeriesSelectionOptions& options, Team& team,
                                       const std::function<void(const SeriesCandidate&)>& progress) {
  SeriesSelection<T> result{.candidates = series_candidates(training, layout, options)};
  double spent = result.candidates.front().operations;
  const auto is_affordable = [&](const SeriesCandidate& c) { return spent + c.operations <= options.budget; };
  if (std::none_of(result.candidates.begin() + 1, result.candidates.end(), is_affordable)) return result;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    SeriesCandidate& candidate = result.candidates[i];
    if (i > 0 && !is_affordable(candidate)) continue;
    if (progress) progress(candidate);
    spent += i > 0 ? candidate.operations : 0;
    CrossValidation<T> folds;
    if (candidate.fitted)
      candidate.nats = left_out_nats<T>(candidate, training, layout, options, team);
    else
      folds = validate_in_folds<T>(candidate, training, layout, options, team), candidate.nats = folds.nats;
    candidate.tried = true;
    if (candidate.nats >= result.candidates[result.best].nats) continue;
    result.best = i;
    result.outputs = std::move(folds.outputs);
  }
  return result;
}

template SeriesSelection<float> select_series_model<float>(const ExampleSet&, const NetworkLayout&,
                                                           const SeriesSelectionOptions&, Team&,
                                                           const std::function<void(const SeriesCandidate&)>&);
template SeriesSelection<double> select_series_model<double>(const ExampleSet&, const NetworkLayout&,
                                                             const SeriesSelectionOptions&, Team&,
                                                             const std::function<void(const SeriesCandidate&)>&);

}  // namespace unfold
