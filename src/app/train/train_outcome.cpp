/// The outcome of training as JSON.

#include <nlohmann/json.hpp>

#include "app/train/train.h"

namespace unfold {
namespace {

/// [{"field", "name", "measure", "value", "result", "better"}].
nlohmann::ordered_json baselines_json(const TrainOutcome& outcome) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ComparedBaseline& each : outcome.baselines) {
    nlohmann::ordered_json one = {{"name", each.baseline.name},
                                  {"measure", each.baseline.measure},
                                  {"value", each.baseline.value},
                                  {"result", each.result},
                                  {"better", is_better(each.result, each.baseline)}};
    if (!each.of.empty()) one["field"] = each.of;
    json.push_back(std::move(one));
  }
  return json;
}

nlohmann::ordered_json outcome_on_fields(const TrainOutcome& outcome) {
  const TrainingResult& result = outcome.result;
  nlohmann::ordered_json json = {{"run", outcome.run},
                                 {"model", outcome.settings.model},
                                 {"format", *outcome.settings.format},
                                 {"read", *outcome.settings.read},
                                 {"predict", *outcome.settings.predict},
                                 {"parameters", outcome.parameters},
                                 {"valid", nullptr},
                                 {"test", nullptr},
                                 {"best_step", result.best_step},
                                 {"steps", result.steps},
                                 {"epochs", result.epochs},
                                 {"seconds", result.seconds},
                                 {"rollbacks", result.rollbacks},
                                 {"ended_by", result.reason}};
  if (outcome.field_valid) json["valid"] = to_json(*outcome.field_valid);
  if (outcome.field_test) json["test"] = to_json(*outcome.field_test);
  json["baselines"] = baselines_json(outcome);
  return json;
}

}  // namespace

nlohmann::ordered_json to_json(const TrainOutcome& outcome) {
  const TrainingResult& result = outcome.result;
  if (outcome.settings.predict) return outcome_on_fields(outcome);
  if (outcome.task_valid)
    return {{"run", outcome.run},
            {"model", outcome.settings.model},
            {"task", outcome.task_valid->task},
            {"parameters", outcome.parameters},
            {"valid", to_json(*outcome.task_valid)},
            {"test", to_json(*outcome.task_test)},
            {"best_step", result.best_step},
            {"steps", result.steps},
            {"seconds", result.seconds},
            {"rollbacks", result.rollbacks},
            {"ended_by", result.reason}};
  nlohmann::ordered_json json = {
      {"run", outcome.run},
      {"model", outcome.settings.model},
      {"parameters", outcome.parameters},
      {"valid", nullptr},
      {"best_step", result.best_step},
      {"steps", result.steps},
      {"epochs", result.epochs},
      {"symbols", result.symbols},
      {"seconds", result.seconds},
      {"symbols_per_second", result.seconds > 0 ? static_cast<double>(result.symbols) / result.seconds : 0},
      {"rollbacks", result.rollbacks},
      {"ended_by", result.reason}};
  if (outcome.valid) json["valid"] = to_json(*outcome.valid);
  json["baselines"] = baselines_json(outcome);
  return json;
}

}  // namespace unfold
