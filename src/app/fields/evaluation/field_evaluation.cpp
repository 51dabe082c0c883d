#include "app/fields/evaluation/field_evaluation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/fields/condition.h"
#include "app/fields/evaluation/example_path_norm.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "app/fields/example_split.h"
#include "app/fields/field_entries.h"
#include "app/fields/field_model.h"
#include "app/fields/field_plan.h"
#include "app/settings/evaluation_split.h"
#include "base/options/integer_range.h"
#include "loss/ctc/unaligned_labels.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns whether evaluation uses beam search: for targets of a source, for unaligned labels, and for networks that
/// read earlier labels.
template <class T>
bool searches_with_beam(const NetworkModel<T>& model) {
  return finds_targets(model) || decodes_labels(model) ||
         std::ranges::any_of(model.network().heads,
                             [](const Head<T>& head) { return head.loss->template as<Unsegmented<T>>() != nullptr; });
}

/// Throws if nothing was measured, because 0 nats would look like a perfect result. Values unseen in training count as
/// wrong.
FieldFigures measured(FieldFigures figures, const ExampleSet& of, const std::vector<std::string>& predicts) {
  const bool unseen = std::ranges::any_of(
      predicts, [&](const std::string& field) { return of.has(field) && !of.column(field).unseen.empty(); });
  if (!unseen && std::ranges::all_of(figures.heads, [](const HeadFigures& head) { return head.predicted == 0; }))
    throw DataError(fmt::format("{}: nothing to evaluate: all values of the predicted fields ({}) are missing",
                                of.source(), fmt::join(predicts, ", ")));
  return figures;
}

}  // namespace

FieldFigures evaluate_on_fields(const FieldEvaluation& request) {
  if (request.split) parse_split(*request.split);
  require_in_range("beam", request.beam, 1, kMaxAnswers);
  return with_model_of(request, [&]<class T>(const NetworkModel<T>& model) {
    if (request.beam > 1 && !searches_with_beam(model))
      throw UsageError(fmt::format(
          "--beam applies only to models that read a source (--format pairs) or earlier labels, or predict unaligned "
          "labels (ctc); {} is evaluated without beam search; omit --beam",
          model.spec_text()));
    if (request.true_labels && !decodes_labels(model))
      throw UsageError(fmt::format(
          "--true-labels applies only to models that read earlier labels (train --read \"F,G[-1]\" --predict G), "
          "which {} does not; omit --true-labels",
          model.spec_text()));
    if (request.true_labels && request.beam > 1)
      throw UsageError("--beam has no effect with --true-labels; omit one of them");
    const std::vector<std::string> predicts = predicted_fields(model.layout());
    const std::optional<std::string> cut = measured_split(request.split, request.part, model);
    if (cut && request.part != "test" && stored_settings(model).refit == "yes" && request.reporter != nullptr)
      request.reporter->remark(
          "note: after validation, the model was fitted again to the training and validation part together (--refit)");
    Examples examples = read_for(model, request.data, request.reporter, request.stated);
    give(model, request.given, examples);
    const ExampleSet all(examples, std::make_shared<const DataSpecification>(model.data()), predicts,
                         parse_unknown_policy(request.unknown));
    Team team(thread_count(request.threads));
    const auto evaluate = [&](const ExampleSet& set) {
      FieldFigures figures =
          measured(evaluate_fields(model, set, team, request.beam, request.true_labels), set, predicts);
      figures.baselines = compared_baselines(
          figures,
          [&](const std::string& field) { return stored_statistics(model, field).value_or(FieldStatistics()); }, set,
          stored_settings(model).ahead.value_or(0));
      if (request.path_norm) figures.log_path_norm = mean_log_path_norm(model, set, team);
      return figures;
    };
    if (!cut) return evaluate(all);
    const Problem problem = stored_problem(model, model.layout());
    const ExampleSplit split(examples, parse_split(*cut), problem, predicts);
    const auto parts = split.parts(all, stored_settings(model).window);
    const std::string part = request.part.value_or("valid");
    const ExampleSet& chosen = parts[part == "train" ? 0 : part == "valid" ? 1 : 2];
    if (chosen.count() == 0)
      throw DataError(fmt::format("--part {1} is empty in the split {0}; increase its share", *cut, part));
    return evaluate(chosen);
  });
}

}  // namespace unfold
