#include "app/fields/density_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/fields/field_plan.h"
#include "app/fields/predicted_list.h"
#include "app/schema/table_fields.h"
#include "base/formats/trusted_json.h"
#include "model/density/mixture_fit.h"
#include "model/network/density_model.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

void require_bits(const Examples& examples, const std::string& model) {
  const ExampleColumn& column = examples.column(kVector);
  for (std::size_t i = 0; i < column.numbers.size(); ++i) {
    const double x = column.numbers[i];
    if (x == 0 || x == 1 || column.is_class(i % at(column.width))) continue;
    const auto row = static_cast<Index>(i) / column.width;
    throw DataError(
        fmt::format("{}{}: {} is {}, but {} supports only bits (0 or 1) and classes; use rnade, deep-rnade or "
                    "linear-ar for numbers",
                    examples.source, examples.lines.empty() ? "" : fmt::format(": line {}", examples.lines[at(row)]),
                    column.parts[i % at(column.width)], x, model));
  }
}

/// Networks memorize data with few rows and many columns, so weight decay grows with the ratio of columns to rows. For
/// bits it was selected by validation on nips, dna, mushrooms, plants, jester and nltcs; for numbers, whose densities
/// grow without bound around memorized rows, on the wine data, parkinsons and ionosphere (docs/results/density.md).
std::string density_optimizer(const Examples& examples, std::string_view model) {
  constexpr double kOfNumbers = 30, kInAnyOrder = 0.1;
  const std::string_view name = spec_name(model);
  if (name == "bernoulli-mixture" || name == "gaussian-mixture")
    return "adam:rate=0.003,clip=1,schedule=cosine,warmup=100";
  const double share =
      static_cast<double>(examples.column(kVector).width) / static_cast<double>(std::max<Index>(1, examples.count()));
  const double decay = name == "rnade"        ? std::min(1.0, kOfNumbers * share)
                       : name == "deep-rnade" ? kInAnyOrder
                                              : std::min(1.0, share);
  return fmt::format("adamw:rate=0.003,clip=1,decay={:.2g},schedule=cosine,warmup=100", decay);
}

/// Returns whether a model is minimized to convergence: losses without hidden units are convex.
bool is_solved(std::string_view model) {
  const std::string_view name = spec_name(model);
  return name == "logistic-ar" || name == "linear-ar";
}

/// Determines the kinds of the columns of the vector: classes, bits or numbers. A column in which all values are 0 or 1
/// is a bit column, but only for models that support several kinds of columns.
std::vector<Column> columns_in(const ExampleColumn& vectors, std::string_view model) {
  std::vector<Column> columns;
  const bool bits_too =
      spec_name(model) != "linear-ar" && spec_name(model) != "gaussian-mixture" && !is_of_sequences(model);
  for (std::size_t d = 0; d < at(vectors.width); ++d) {
    bool bits = bits_too;
    for (std::size_t i = d; bits && i < vectors.numbers.size(); i += at(vectors.width))
      bits = vectors.numbers[i] == 0 || vectors.numbers[i] == 1;
    if (vectors.is_class(d))
      columns.push_back({.kind = Column::Kind::classes, .classes = static_cast<Index>(vectors.classes[d].size())});
    else
      columns.push_back({.kind = bits ? Column::Kind::bit : Column::Kind::number});
  }
  return columns;
}

/// In NAME=classes, marks a column whose numbers are classes.
constexpr std::string_view kAsClasses = "=classes";

}  // namespace

VectorRows density_rows(const TrainSettings& s) {
  if (!names_density(s.model)) return {};
  VectorRows rows{.field = kVector, .one = kOne};
  rows.sequences = is_of_sequences(s.model);
  if (rows.sequences) rows.without = s.sequences.value_or("");
  if (s.predict && *s.predict != kVector) rows.columns = split_names(*s.predict);
  for (std::string& name : rows.columns)
    if (name.ends_with(kAsClasses)) {
      name.resize(name.size() - kAsClasses.size());
      rows.as_classes.insert(name);
    }
  if (s.sequences && std::ranges::find(rows.columns, *s.sequences) != rows.columns.end())
    throw UsageError(
        fmt::format("--predict {0}: {0} separates the sequences (--sequences {0}); name another field", *s.sequences));
  return rows;
}

bool may_choose_density(const TrainSettings& s, const Given& given) {
  using S = TrainSettings;
  return s.format == "table" && given.contains(&S::format) &&
         !given.contains_any(&S::model, &S::optimizer, &S::read, &S::predict, &S::ahead, &S::sequences, &S::order,
                             &S::ends, &S::trees, &S::task, &S::objective, &S::feedback, &S::window,
                             &S::copy_matching_parameters);
}

bool is_table_of_numbers(const Examples& examples) {
  constexpr std::size_t kFewest = 2;
  return examples.columns.size() >= kFewest && !names_target(examples) &&
         std::ranges::none_of(examples.columns, [](const ExampleColumn& column) {
           return column.is_text() || column.once || column.source || column.width > 1;
         });
}

bool has_only_bits(const ExampleColumn& vectors) {
  return std::ranges::all_of(vectors.numbers, [](double x) { return x == 0 || x == 1; });
}

std::vector<std::size_t> varying_columns(const ExampleColumn& vectors) {
  std::vector<std::size_t> result;
  const auto width = at(vectors.width);
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t x = i; x < vectors.numbers.size(); x += width)
      if (vectors.numbers[x] != vectors.numbers[i]) {
        result.push_back(i);
        break;
      }
  return result;
}

void keep_columns(const std::vector<std::size_t>& columns, Examples& examples, FieldChoice& choice) {
  const auto keep = [&](auto& list, std::size_t width) {
    std::remove_cvref_t<decltype(list)> kept;
    for (std::size_t begin = 0; begin + width <= list.size() && width > 0; begin += width)
      for (const std::size_t i : columns) kept.push_back(list[begin + i]);
    if (!list.empty()) list = std::move(kept);
  };
  ExampleColumn& vectors = *std::ranges::find(examples.columns, kVector, &ExampleColumn::name);
  const auto width = at(vectors.width);
  keep(vectors.numbers, width);
  keep(vectors.parts, width);
  keep(vectors.classes, width);
  if (const auto kept = choice.kept.find(kVector); kept != choice.kept.end()) keep(kept->second, width);
  vectors.width = static_cast<Index>(columns.size());
}

void settle_mixture(TrainSettings& s, const Given& given) {
  using S = TrainSettings;
  if (is_fitted_mixture(s.model) &&
      given.contains_any(&S::optimizer, &S::batch, &S::epochs, &S::steps, &S::minutes, &S::validate_every,
                         &S::early_stop, &S::best_by, &S::gradient, &S::objective, &S::shards, &S::gradient_sums,
                         &S::copy_matching_parameters, &RunSettings::device, &S::activations, &S::label_smoothing))
    s.model = by_gradients(s.model);
}

FieldPlan plan_density(const Examples& examples, TrainSettings& s) {
  if (s.read && *s.read != kOne)
    throw UsageError(
        fmt::format("model {} has no inputs: leave out --read; --predict names the columns of the vector", s.model));
  const bool sequences = is_of_sequences(s.model);
  if (s.ends && sequences)
    throw UsageError(fmt::format("model {} does not support ends of sequences: leave out --ends", s.model));
  if (!sequences && (s.ends || s.sequences))
    throw UsageError(fmt::format("model {} treats each row separately: leave out --ends and --sequences", s.model));
  if (s.ahead.value_or(0) != 0)
    throw UsageError(fmt::format("model {} treats each row separately: leave out --ahead", s.model));
  const bool numbers_too = spec_name(s.model) == "neural-ar";  // the columns of this model state which of them are bits
  if (observes_bits(losses().get(spec_name(s.model)).density) && !numbers_too) require_bits(examples, s.model);
  const std::vector<Column> columns = columns_in(examples.column(kVector), s.model);
  s.model = with_columns(s.model, columns);
  if (!s.predict) s.predict = kVector;
  s.read = kOne;
  s.ahead = 0;
  FieldPlan plan;
  plan.layout = {.reads = {kOne}, .heads = {{.field = kVector, .loss = to_string(parse_model_spec(s.model))}}};
  plan.choice = {.reads = {kOne}, .predicts = {kVector}, .once = {kVector}};
  if (sequences) plan.choice.once.clear();
  for (const Column& column : columns)
    plan.choice.kept[kVector].push_back(s.model.find("columns=") != std::string::npos &&
                                        column.kind != Column::Kind::number);
  plan.problem = Problem::classifying;
  return plan;
}

void set_density_defaults(const Examples& examples, const Given& given, TrainSettings& s) {
  const auto settle = [&](auto member, auto value) {
    if (!given.contains(member)) s.*member = value;
  };
  // rnade memorizes a small number of rows after a few hundred steps.
  const bool soon = spec_name(s.model) == "rnade";
  const double kExamples = soon ? 2e5 : 1e6, kFewest = 10, kMost = soon ? 100 : 300, kUntilSolved = 1000;
  constexpr Index kRows = 100, kFewestRows = 10, kSteps = 20;  // kSteps: minimum per epoch
  settle(&TrainSettings::optimizer, is_solved(s.model) ? "lbfgs" : density_optimizer(examples, s.model));
  const auto count = static_cast<double>(std::max<Index>(1, examples.count()));
  const bool everything = needs_full_batch(canonical_optimizer(s.optimizer));
  settle(&TrainSettings::batch,
         everything ? examples.count() : std::clamp(examples.count() / kSteps, kFewestRows, kRows));
  if (!s.epochs && !s.steps && !s.minutes)
    s.epochs = everything ? kUntilSolved : std::clamp(std::round(kExamples / count), kFewest, kMost);
  if (given.contains(&TrainSettings::window))
    throw UsageError(
        fmt::format("model {} reads rows, or sequences, as a whole: leave out --window", spec_name(s.model)));
  s.whole_sequences = true;
}

void set_expected_columns(const std::vector<std::string>& parts, const ColumnClasses& classes, ReaderOptions& options) {
  if (options.format == "table") options.rows.columns = parts;
  options.rows.classes = classes;
  options.rows.further = false;
}

void set_expected_columns(const Examples& training, ReaderOptions& options) {
  if (options.rows.field.empty()) return;
  const ExampleColumn& vectors = training.column(kVector);
  set_expected_columns(vectors.parts, classes_of(vectors), options);
}

void drop_constant(const ModelSpec& spec, Examples& shown) {
  if (is_density(spec)) std::erase_if(shown.columns, [](const auto& column) { return column.name == kOne; });
}

ColumnClasses vector_classes(const Model& model) {
  const nlohmann::json& stored = model.configuration();
  if (!stored.contains(kClassesKey)) return {};
  try {
    return stored[kClassesKey].get<ColumnClasses>();
  } catch (const nlohmann::json::exception& error) {
    throw ModelError(fmt::format("the model card: configuration: {}", json_fault(error)));
  }
}

std::vector<std::string> vector_parts(const Model& model) {
  const nlohmann::json& stored = model.configuration();
  std::vector<std::string> parts;
  try {
    if (stored.contains(kColumnsKey)) parts = stored[kColumnsKey].get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw ModelError(fmt::format("the model card: configuration: {}", json_fault(error)));
  }
  const Index size = model.data().field(kVector).size;
  if (static_cast<Index>(parts.size()) != size)
    throw ModelError(fmt::format("the model card: configuration: \"{}\" has {} names for {} numbers", kColumnsKey,
                                 parts.size(), size));
  return parts;
}

}  // namespace unfold
