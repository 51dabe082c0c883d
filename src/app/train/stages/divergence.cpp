#include "app/train/stages/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loss/ctc/unaligned_labels.h"
#include "model/selection/exact_baseline.h"

namespace unfold {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double measure_of(const Measures& measures, std::string_view name) {
  const auto found = std::ranges::find(measures, name, &Measures::value_type::first);
  return found == measures.end() ? kUnknown : found->second;
}

double value_of(const std::vector<Baseline>& baselines, std::string_view name) {
  const auto found = std::ranges::find(baselines, name, &Baseline::name);
  return found == baselines.end() ? kUnknown : found->value;
}

std::string comparison_text(const BaselineFigure& figure, double initial) {
  std::string text = fmt::format("the {} is {:.4g}", figure.name, figure.result);
  if (!std::isnan(figure.constant))
    text += fmt::format("; {} has {:.4g}",
                        figure.squared ? "always predicting the mean" : "always predicting the frequencies",
                        figure.constant);
  return text + fmt::format(", the initial network {:.4g}", initial);
}

/// Returns whether the result is worse than the result of a constant; if so, it is also compared with the initial
/// network.
bool is_worse(const BaselineFigure& figure) {
  if (std::isnan(figure.constant)) return !figure.squared && figure.result > kDivergedNats;
  return !(figure.result <= figure.constant);
}

}  // namespace

bool has_diverged(const BaselineFigure& figure, double initial) {
  const double reference = std::isnan(figure.constant) ? initial : std::max(figure.constant, initial);
  if (figure.squared && figure.constant_target)
    return !std::isfinite(figure.result);  // there is no scale to compare with
  if (figure.squared) return !(figure.result <= kDivergedRatio * reference);
  return !(figure.result <= reference + kDivergedNats * static_cast<double>(figure.size));
}

void check_divergence(const std::vector<BaselineFigure>& figures, const std::function<std::vector<double>()>& initial,
                      const TrainSettings& settings, const std::string& run, Reporter& reporter) {
  if (std::ranges::none_of(figures, is_worse)) return;
  const bool is_trial = settings.steps && *settings.steps < kFewestSteps;
  const std::vector<double> before = initial();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (!is_worse(figures[i])) continue;
    const std::string text = comparison_text(figures[i], before[i]);
    if (has_diverged(figures[i], before[i]) && !is_trial)
      throw DivergedError(fmt::format(
          "training diverged, although all numbers stayed finite: {}. Train again (--overwrite) with a smaller "
          "learning rate, a smaller clip or more data per step than in {}{}",
          text, settings.optimizer, run.empty() ? "" : fmt::format("; {} contains the diverged model", run)));
    if (!figures[i].better_choices && !std::isnan(figures[i].constant))
      reporter.remark(
          fmt::format("warning: the model predicts worse than a constant: {}; train longer, or with a smaller learning "
                      "rate in --optimizer",
                      text));
  }
}

BaselineFigure text_figure(double nats, const Corpus& corpus, const Split& training, const Corpus& measured,
                           const Split& part, Symbol predict_after) {
  const double by_frequency =
      constant_nats(text_statistics(corpus, training, predict_after), text_statistics(measured, part, predict_after));
  const double uniform = std::log(static_cast<double>(corpus.alphabet().size()));
  return {.name = "nats per symbol", .result = nats, .constant = std::fmin(uniform, by_frequency)};
}

ExampleSet beginning_of(const ExampleSet& examples, Index positions) {
  const bool is_chain = !examples.has_trees() && !examples.has_grids() && !examples.has_sources();
  if (examples.count() == 1 && is_chain) return examples.part(0, 0, std::min(positions, examples.length(0)), 0);
  std::vector<Index> first;
  for (Index e = 0, left = positions; e < examples.count() && left > 0; left -= examples.length(e), ++e)
    first.push_back(e);
  return examples.subset(first);
}

template <class T>
std::vector<BaselineFigure> field_figures(const NetworkModel<T>& model, const FieldFigures& found,
                                          const ExampleSet& training, const ExampleSet& measured) {
  std::vector<BaselineFigure> result;
  for (std::size_t h = 0; h < model.network().heads.size(); ++h) {
    const HeadFigures& head = found.heads[h];
    const FieldSpecification& field = model.data().field(head.field);
    const FieldStatistics known = field_statistics(training, head.field);
    const FieldColumn& seen = measured.column(head.field);
    const std::vector<Baseline> baselines = field_baselines(known, measured, head.field, 0);
    BaselineFigure figure{.name = fmt::format("nats per prediction of {}", head.field), .result = head.nats_each()};
    if (const double error = measure_of(head.measures, "mean_squared_error"); !std::isnan(error)) {
      figure = {.name = fmt::format("mean squared error of {}", head.field), .squared = true, .result = error};
      figure.constant = value_of(baselines, "mean");
      figure.constant_target = is_constant(known);
    } else if (field.type == FieldSpecification::Type::values) {
      figure.size = field.size;
      figure.constant = constant_nats(known, seen, field) + log_scale(field);
    } else if (model.network().heads[h].loss->template as<Unsegmented<T>>() == nullptr) {
      figure.constant = constant_nats(known, seen, field);
      figure.better_choices = measure_of(head.measures, "accuracy") > value_of(baselines, "majority class");
    }
    if (head.predicted == 0) figure.result = -std::numeric_limits<double>::infinity();  // there is nothing to compare
    result.push_back(figure);
  }
  return result;
}

template std::vector<BaselineFigure> field_figures(const NetworkModel<float>&, const FieldFigures&, const ExampleSet&,
                                                   const ExampleSet&);
template std::vector<BaselineFigure> field_figures(const NetworkModel<double>&, const FieldFigures&, const ExampleSet&,
                                                   const ExampleSet&);

BaselineFigure task_figure(const TaskScore& score, const Task& task, std::uint64_t seed, Index count) {
  const TaskShape shape = task.shape();
  const auto for_each = [&](TaskSplit part, const auto& use) {
    Example example;
    for (Index n = 0; n < task.at_most(part, count); ++n) {
      task.example(part, seed, n, example);
      use(example);
    }
  };
  if (shape.predicts_symbols) {
    FieldStatistics known{.counts = std::vector<Index>(at(shape.outputs))}, seen = known;
    const auto count_into = [](FieldStatistics& all) {
      return [&all](const Example& example) {
        for (const Symbol x : example.target_symbols)
          if (x != kNoSymbol) ++all.counts[at(x)];
      };
    };
    for_each(TaskSplit::training, count_into(known));
    for_each(TaskSplit::validation, count_into(seen));
    return {.name = "nats per prediction",
            .result = score.evaluation.nats_per_symbol(),
            .constant = constant_nats(known, seen)};
  }
  double sum = 0, targets = 0, squares = 0, measured = 0;
  for_each(TaskSplit::training, [&](const Example& example) {
    for (const float y : example.target_values)
      if (!std::isnan(y)) sum += y, ++targets;
  });
  const double mean = targets > 0 ? sum / targets : 0;
  for_each(TaskSplit::validation, [&](const Example& example) {
    for (const float y : example.target_values)
      if (!std::isnan(y)) squares += (y - mean) * (y - mean), ++measured;
  });
  return {.name = "mean squared error",
          .squared = true,
          .result = measure_of(score.measures, "mean_squared_error"),
          .constant = measured > 0 ? squares / measured : kUnknown};
}

}  // namespace unfold
