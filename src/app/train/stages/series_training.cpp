#include "app/train/stages/series_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "app/common/operation_count.h"
#include "app/fields/evaluation/left_out_metrics.h"
#include "app/fields/field_plan.h"
#include "app/fields/field_reading.h"
#include "app/train/stages/refit.h"
#include "model/selection/series_selection.h"
#include "model/series/kernel_thresholds.h"
#include "model/series/pooled_readout.h"

namespace unfold {

std::string with_training_length(const std::string& spec, const ExampleSet& training) {
  const ModelSpec parsed = parse_model_spec(spec);
  if (!has_random_kernels(parsed) || training.count() == 0) return spec;
  return to_string(with_typical_length(parsed, training));
}

namespace {

/// SPECs of the candidates that are trained by gradients: for series, and for rows of a table.
constexpr const char* kSeriesNetwork = "bilstm:64,dropout=0.3";
constexpr const char* kRowNetwork = "rnn:64,dropout=0.2";

/// Returns what a candidate is for independent rows, which have no earlier positions to read.
const char* layer_of_rows(const SeriesCandidate& candidate) {
  return candidate.fitted ? "one layer of random units, " : "one layer of trained units, ";
}

}  // namespace

bool selects_series_model(const FieldPlan& plan, const Examples& examples, const Given& given, const TrainSettings& s) {
  constexpr Index kFewestExamples = 6;
  if (plan.problem != Problem::classifying || examples.are_trees() || examples.are_grids()) return false;
  if (examples.count() < kFewestExamples || s.epochs || s.steps || s.minutes || s.objective) return false;
  if (given.contains_any(&TrainSettings::model, &TrainSettings::optimizer, &TrainSettings::window,
                         &TrainSettings::copy_matching_parameters, &TrainSettings::restarts))
    return false;
  const auto are_numbers = [&](const std::string& read) {
    const auto column = std::ranges::find(examples.columns, parse_read(read).field, &ExampleColumn::name);
    if (column == examples.columns.end() || column->once) return false;
    return !column->is_text() || has_independent_rows(examples);
  };
  const auto has_fitted_loss = [](const HeadSpecification& head) {
    return head.loss.empty() || head.loss == "softmax" || head.loss == "gaussian" || head.loss == "normal" ||
           head.loss == "log-normal";
  };
  return std::ranges::all_of(plan.layout.reads, are_numbers) && std::ranges::all_of(plan.layout.heads, has_fitted_loss);
}

void set_series_defaults(const FieldPlan& plan, const Examples& examples, TrainSettings& s) {
  if (plan.problem != Problem::classifying || s.valid || s.split || s.refit == "no") return;
  if (examples.count() >= kFewExamples && s.refit != "yes") return;
  if (readout_of(parse_model_spec(s.model))) s.split = "100/0/0";
}

template <class T>
SelectedSeriesModel<T> select_series_model(const ExampleSet& training, const NetworkLayout& layout,
                                           const TrainSettings& s, Team& team, Reporter& reporter) {
  const bool rows = are_rows(training);
  const std::string network = rows ? kRowNetwork : kSeriesNetwork, what = "cross-validation of " + network;
  const SeriesSelectionOptions options{
      .seed = static_cast<std::uint64_t>(s.seed),
      .network = network,
      .training = {.optimizer = s.optimizer,
                   .epochs = s.epochs.value_or(FoldTraining().epochs),
                   .batch = s.batch,
                   .stop = reporter.stop(),
                   .progress = [&](double done) { reporter.progress({.what = what, .done = done}); }}};
  SeriesSelection<T> found =
      select_series_model<T>(training, layout, options, team, [&](const SeriesCandidate& candidate) {
        reporter.remark(fmt::format("trying {} ({}{})", candidate.model, rows ? layer_of_rows(candidate) : "",
                                    operation_count_text(candidate.operations)));
      });
  for (const SeriesCandidate& candidate : found.candidates)
    reporter.remark(
        candidate.tried
            ? fmt::format("{}: {:.4f} nats per example, leaving out {}", candidate.model, candidate.nats,
                          candidate.fitted ? "one example at a time" : "one fifth of the examples at a time")
            : fmt::format("{}: not tried; {} exceed the budget of {}", candidate.model,
                          operation_count_text(candidate.operations), operation_count_text(options.budget)));
  const std::string& best = found.candidates[found.best].model;
  reporter.remark(fmt::format("using {}; override it with --model", best));
  return {.model = best, .outputs = std::move(found.outputs)};
}

template SelectedSeriesModel<float> select_series_model<float>(const ExampleSet&, const NetworkLayout&,
                                                               const TrainSettings&, Team&, Reporter&);
template SelectedSeriesModel<double> select_series_model<double>(const ExampleSet&, const NetworkLayout&,
                                                                 const TrainSettings&, Team&, Reporter&);

template <class T>
FieldFigures left_out_figures(const NetworkModel<T>& model, const ExampleSet& training,
                              const std::vector<Buffer<T>>& outputs, Team& team) {
  std::vector<Matrix<const T>> rows;
  for (const Buffer<T>& own : outputs) {
    const Index cols = training.count() > 0 ? own.size() / training.count() : 0;
    rows.push_back({own.data(), training.count(), cols, cols});
  }
  return evaluate_left_out<T>(model, training, rows, team);
}

template FieldFigures left_out_figures(const NetworkModel<float>&, const ExampleSet&, const std::vector<Buffer<float>>&,
                                       Team&);
template FieldFigures left_out_figures(const NetworkModel<double>&, const ExampleSet&,
                                       const std::vector<Buffer<double>>&, Team&);

template <class T>
SeriesFit fit_series(NetworkModel<T>& model, const ExampleSet& training, const ReadoutOptions& options,
                     std::uint64_t seed, Team& team, Reporter& reporter) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  if (has_random_kernels(model.spec())) select_kernel_thresholds(model, training, seed);
  ExampleBatchOptions reading = batch_options(model.layout());
  reading.patches = patches_of(model.spec());
  const PooledReadoutFit<T> fit = fit_pooled_readout(model, training, reading, options.lambda, team);
  reporter.remark(
      fmt::format("readout fitted to {} examples, lambda {:.0e} by leave-one-out residuals", fit.rows, fit.lambda));
  model.history().push_back({{"readout", "ridge"}, {"examples", fit.rows}, {"lambda", fit.lambda}});
  SeriesFit result;
  result.left_out = left_out_figures(model, training, fit.left_out, team);
  result.result = {.steps = 1,
                   .epochs = 1,
                   .symbols = training.positions(),
                   .seconds = std::chrono::duration<double>(Clock::now() - start).count(),
                   .reason = "fitted"};
  return result;
}

template SeriesFit fit_series(NetworkModel<float>&, const ExampleSet&, const ReadoutOptions&, std::uint64_t, Team&,
                              Reporter&);
template SeriesFit fit_series(NetworkModel<double>&, const ExampleSet&, const ReadoutOptions&, std::uint64_t, Team&,
                              Reporter&);

}  // namespace unfold
