#include "unfold/fields/density_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/losses/registry.h"
#include "unfold/models/density_model.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

void require_bits(const Examples& examples, const std::string& model) {
  const ExampleColumn& column = examples.column(kVector);
  for (std::size_t i = 0; i < column.numbers.size(); ++i) {
    const double x = column.numbers[i];
    if (x == 0 || x == 1) continue;
    const auto row = static_cast<Index>(i) / column.width;
    throw DataError(
        fmt::format("{}{}: {} is {}, and {} is of bits, 0 or 1; numbers are for rnade, deep-rnade and linear-ar",
                    examples.source, examples.lines.empty() ? "" : fmt::format(": line {}", examples.lines[at(row)]),
                    column.parts[i % at(column.width)], x, model));
  }
}

/// Nets over few rows of many numbers learn them by heart: what shrinks their weights grows with numbers per row over
/// rows. Chosen by validation on nips, dna, mushrooms, plants, jester and nltcs (docs/results/density.md).
std::string density_optimizer(const Examples& examples, std::string_view model) {
  const std::string_view name = spec_name(model);
  const bool mixture = name == "bernoulli-mixture" || name == "gaussian-mixture";
  const double share =
      static_cast<double>(examples.column(kVector).width) / static_cast<double>(std::max<Index>(1, examples.count()));
  return mixture ? "adam:rate=0.003,clip=1,schedule=cosine,warmup=100"
                 : fmt::format("adamw:rate=0.003,clip=1,decay={:.2g},schedule=cosine,warmup=100", std::min(1.0, share));
}

/// Losses without units of their own are convex: they are solved, not trained.
bool is_solved(std::string_view model) {
  const std::string_view name = spec_name(model);
  return name == "logistic-ar" || name == "linear-ar";
}

}  // namespace

VectorRows density_rows(const TrainSettings& s) {
  if (!names_density(s.model)) return {};
  VectorRows rows{.field = kVector, .one = kOne};
  if (s.predict && *s.predict != kVector) rows.columns = names_in(*s.predict);
  return rows;
}

FieldPlan plan_density(const Examples& examples, TrainSettings& s) {
  if (s.read && *s.read != kOne)
    throw UsageError(
        fmt::format("model {} reads nothing: leave --read out; --predict names the columns of the vector", s.model));
  if (s.ends || s.sequences)
    throw UsageError(fmt::format("model {} takes each row by itself: leave --ends and --sequences out", s.model));
  if (s.ahead.value_or(0) != 0)
    throw UsageError(fmt::format("model {} takes each row by itself: leave --ahead out", s.model));
  if (observes_bits(losses().get(spec_name(s.model)).density)) require_bits(examples, s.model);
  if (!s.predict) s.predict = kVector;
  s.read = kOne;
  s.ahead = 0;
  FieldPlan plan;
  plan.layout = {.reads = {kOne}, .heads = {{.field = kVector, .loss = to_string(parse_model_spec(s.model))}}};
  plan.choice = {.reads = {kOne}, .predicts = {kVector}, .once = {kVector}};
  plan.problem = Problem::classifying;
  return plan;
}

void settle_density(const Examples& examples, const Given& given, TrainSettings& s) {
  const auto settle = [&](std::string_view name, auto& setting, auto value) {
    if (!given.contains(name)) setting = value;
  };
  constexpr double kExamples = 1e6, kFewest = 10, kMost = 300, kUntilSolved = 1000;
  constexpr Index kRows = 100, kFewestRows = 10, kSteps = 20;  // steps: of an epoch, at least
  settle("optimizer", s.optimizer, is_solved(s.model) ? "lbfgs" : density_optimizer(examples, s.model));
  const auto count = static_cast<double>(std::max<Index>(1, examples.count()));
  const bool everything = wants_everything(canonical_optimizer(s.optimizer));
  settle("batch", s.batch, everything ? examples.count() : std::clamp(examples.count() / kSteps, kFewestRows, kRows));
  if (!s.epochs && !s.steps && !s.minutes)
    s.epochs = everything ? kUntilSolved : std::clamp(std::round(kExamples / count), kFewest, kMost);
  s.whole_sequences = true;
}

std::vector<std::string> vector_parts(const Model& model) {
  const nlohmann::json& stored = model.configuration();
  std::vector<std::string> parts;
  try {
    if (stored.contains(kPartsKey)) parts = stored[kPartsKey].get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw ModelError(fmt::format("the card of the model: configuration: {}", error.what()));
  }
  const Index size = model.data().field(kVector).size;
  if (static_cast<Index>(parts.size()) != size)
    throw ModelError(fmt::format("the card of the model: configuration: \"{}\" has {} names of {} numbers", kPartsKey,
                                 parts.size(), size));
  return parts;
}

}  // namespace unfold
