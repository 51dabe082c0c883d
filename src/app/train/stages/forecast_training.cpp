#include "app/train/stages/forecast_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/common/operation_count.h"
#include "app/fields/example_split.h"
#include "app/fields/field_reading.h"
#include "app/settings/evaluation_split.h"

namespace unfold {
namespace {

constexpr Index kFewestFitted = 12, kFewestCompared = 4;

bool predicts_numbers(const FieldPlan& plan, const Examples& examples) {
  return std::ranges::all_of(plan.layout.heads, [&](const HeadSpecification& head) {
    const ExampleColumn& column = examples.column(head.field);
    return !column.is_text() && !column.once && (head.loss == "normal" || head.loss == "gaussian");
  });
}

/// Returns a split in which the second part is used to compare models: the last quarter of the training and validation
/// data, or the validation part if that is larger. The test part is unchanged.
SplitShares shares_of(const TrainSettings& s) {
  constexpr Index kComparedPart = 4;
  const SplitShares given = s.valid ? SplitShares{{100'000'000, 0, 0}} : parse_split(*s.split);
  const Index known = given.shares[0] + given.shares[1];
  const Index compared = std::max(given.shares[1], known / kComparedPart);
  return {{known - compared, compared, given.shares[2]}};
}

std::string description_of(const ForecastCandidate& candidate, const NetworkLayout& layout) {
  if (candidate.reads == layout.reads) return candidate.model;
  std::vector<std::string> fields;
  for (const std::string& read : candidate.reads) fields.push_back(parse_read(read).field);
  constexpr std::size_t kMostNamed = 3;
  if (fields.size() > kMostNamed) return fmt::format("{} of {} columns", candidate.model, fields.size());
  return fmt::format("{} of {}", candidate.model, fmt::join(fields, ","));
}

void report(const ForecastSelection& found, const NetworkLayout& layout, double budget, Reporter& reporter) {
  for (const ForecastCandidate& candidate : found.candidates) {
    const std::string name = description_of(candidate, layout);
    if (!candidate.tried)
      reporter.remark(fmt::format("{}: not tried; {} exceed the budget of {}", name,
                                  operation_count_text(candidate.operations), operation_count_text(budget)));
    else if (!candidate.failure.empty())
      reporter.remark(fmt::format("{}: failed: {}", name, candidate.failure));
    else
      reporter.remark(fmt::format("{}: squared error of held-out values {:.4g}", name, candidate.error));
  }
  reporter.remark(
      fmt::format("persistence: squared error of held-out values {:.4g} (standardized values)", found.persistence));
  if (found.chosen().error > found.persistence)
    reporter.remark(
        "warning: the last value predicts the held-out values better than every model that was compared; `unfold "
        "forecast DATA --horizon H` compares other methods, including persistence");
  reporter.remark(fmt::format("using {}; override it with --model", description_of(found.chosen(), layout)));
}

}  // namespace

bool trains_by_default(const Given& given, const TrainSettings& s) {
  if (s.epochs || s.steps || s.minutes || s.ends || s.objective || s.feedback || s.gradient || s.shards) return false;
  return !given.contains_any(&TrainSettings::model, &TrainSettings::optimizer, &TrainSettings::window,
                             &TrainSettings::copy_matching_parameters, &TrainSettings::restarts,
                             &TrainSettings::validate_every, &TrainSettings::early_stop, &TrainSettings::goal_error,
                             &TrainSettings::best_by, &TrainSettings::curriculum, &TrainSettings::teacher_forcing,
                             &TrainSettings::activity_penalty, &TrainSettings::flow_penalty,
                             &TrainSettings::word_dropout, &TrainSettings::whole_sequences);
}

bool selects_forecast_model(const FieldPlan& plan, const Examples& examples, const Given& given,
                            const TrainSettings& s) {
  if (plan.problem != Problem::forecasting || examples.are_trees() || examples.are_grids()) return false;
  if (has_source(examples) || !predicts_numbers(plan, examples)) return false;
  return trains_by_default(given, s);
}

template <class T>
ForecastSelection select_forecast(const Examples& examples, const FieldPlan& plan, const TrainSettings& s, Team& team,
                                  Reporter& reporter) {
  const ExampleSplit split(examples, shares_of(s), plan.problem, plan.choice.predicts);
  const Examples fitted = split.training(examples);
  if (fitted.positions() < kFewestFitted) return {};
  const auto data = std::make_shared<const DataSpecification>(specify(fitted, plan.choice, *s.format));
  const std::array<ExampleSet, 3> parts =
      split.parts(ExampleSet(examples, data, plan.choice.predicts, UnknownPolicy::skip), s.window);
  Index compared = 0;
  for (Index e = 0; e < parts[1].count(); ++e) compared += parts[1].length(e) - parts[1].warmup(e);
  if (compared < kFewestCompared) return {};
  const ForecastSelectionOptions options{.seed = static_cast<std::uint64_t>(s.seed),
                                         .ahead = s.ahead.value_or(1),
                                         .network = s.model,
                                         .optimizer = s.optimizer,
                                         .epochs = s.epochs.value_or(kSeriesEpochs),
                                         .batch = s.batch,
                                         .window = s.whole_sequences ? 0 : s.window,
                                         .stop = reporter.stop()};
  ForecastSelection found =
      select_forecast_model<T>(parts[0], parts[1], plan.layout, forecast_candidates(parts[0], plan.layout, options),
                               options, team, [&](const ForecastCandidate& candidate) {
                                 reporter.remark(fmt::format("trying {} ({})", description_of(candidate, plan.layout),
                                                             operation_count_text(candidate.operations)));
                               });
  if (!found.candidates.empty()) report(found, plan.layout, options.budget, reporter);
  return found;
}

template ForecastSelection select_forecast<float>(const Examples&, const FieldPlan&, const TrainSettings&, Team&,
                                                  Reporter&);
template ForecastSelection select_forecast<double>(const Examples&, const FieldPlan&, const TrainSettings&, Team&,
                                                   Reporter&);

nlohmann::ordered_json to_json(const ForecastSelection& selection) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const auto number = [](double x) { return std::isfinite(x) ? nlohmann::ordered_json(x) : nullptr; };
  for (const ForecastCandidate& candidate : selection.candidates)
    json.push_back({{"model", candidate.model},
                    {"reads", candidate.reads},
                    {"tried", candidate.tried},
                    {"squared_error", number(candidate.error)},
                    {"persistence", number(selection.persistence)}});
  return json;
}

}  // namespace unfold
