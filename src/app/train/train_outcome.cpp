/// The outcome of training as JSON.

#include <nlohmann/json.hpp>

#include "app/common/baseline_comparison.h"
#include "app/train/train.h"

namespace unfold {
namespace {

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
  json["baselines"] = to_json(outcome.baselines);
  json["refitted_examples"] =
      outcome.refitted_examples > 0 ? nlohmann::ordered_json(outcome.refitted_examples) : nullptr;
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
            {"baselines", to_json(outcome.baselines)},
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
  json["baselines"] = to_json(outcome.baselines);
  return json;
}

}  // namespace unfold
