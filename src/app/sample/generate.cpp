#include "app/sample/generate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/evaluate/task_evaluation.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "data/tasks/grid_tasks.h"
#include "data/tasks/pair_tasks.h"
#include "data/tasks/text_source_spec.h"
#include "data/tasks/tree_tasks.h"

namespace unfold {
namespace {

constexpr Index kUnits = 1000;  ///< default number

UsageError unknown_task(const std::string& task) {
  std::vector<std::string> names;
  for (const SourceHelp& source : text_sources()) names.push_back(source.name);
  for (const TaskHelp& known : tasks()) names.push_back(known.name);
  for (const EntryHelp& known : pair_tasks()) names.push_back(known.name);
  for (const EntryHelp& known : tree_tasks()) names.push_back(known.name);
  for (const EntryHelp& known : grid_tasks()) names.push_back(known.name);
  const std::string name = parse_spec(task).name;
  return UsageError(
      fmt::format("unknown task {}{} (tasks: {})", in_quotes(name), did_you_mean(name, names), fmt::join(names, ", ")));
}

/// Generates the examples of a task as a table.
GenerateOutcome generate_examples(const GenerateRequest& request) {
  if (request.size)
    throw UsageError("--mask and --size apply only to text; for this task, use --count to set the number of examples");
  if (task_needs_files(request.task))
    throw UsageError(fmt::format("{} is read from files, not generated; choose a different task", request.task));
  const std::unique_ptr<Task> task = make_task(request.task);
  const Index count = request.count.value_or(kUnits);
  return {.name = std::string(task->name()),
          .text = task_table(*task, TaskSplit::training, request.seed, count),
          .unit = "example",
          .units = count,
          .symbols = count * task->length(),
          .steps = task->length(),
          .entropy_of_predicted = task->bits_per_prediction()};
}

/// Generates structures of a task that are written to a file, `unit` by `unit`, with `positions` in total.
template <class Made>
GenerateOutcome generate_file(const GenerateRequest& request, const std::string& unit,
                              Made (*make)(std::string_view, std::uint64_t, Index), Index Made::*positions) {
  if (request.size)
    throw UsageError(
        fmt::format("--mask and --size apply only to text; for this task, use --count to set the number of {}s", unit));
  const Index count = request.count.value_or(kUnits);
  Made made = make(request.task, request.seed, count);
  return {.name = parse_spec(request.task).name,
          .text = std::move(made.text),
          .unit = unit,
          .units = count,
          .symbols = made.*positions,
          .predicted = made.labels};
}

}  // namespace

GenerateOutcome generate(const GenerateRequest& request) {
  if (request.count && request.size) throw UsageError("--count and --size cannot be combined; leave one of them out");
  if (is_pair_task(request.task)) return generate_file(request, "pair", generate_pairs, &GeneratedPairs::symbols);
  if (is_tree_task(request.task)) return generate_file(request, "tree", generate_trees, &GeneratedTrees::nodes);
  if (is_grid_task(request.task)) return generate_file(request, "grid", generate_grids, &GeneratedGrids::positions);
  const std::unique_ptr<TextSource> source = make_text_source(request.task);
  if (!source && !is_task(request.task)) throw unknown_task(request.task);
  if (!source) return generate_examples(request);
  GeneratedText made = generate(*source, {.seed = request.seed,
                                          .units = request.size ? 0 : request.count.value_or(kUnits),
                                          .symbols = request.size.value_or(0)});
  const auto symbols = static_cast<Index>(made.text.size());
  return {.name = std::string(source->name()),
          .text = std::move(made.text),
          .mask = std::move(made.mask),
          .unit = std::string(source->unit()),
          .units = made.units,
          .symbols = symbols,
          .predicted = made.predicted,
          .entropy = entropy(*source),
          .entropy_of_predicted = entropy_of_predicted(*source),
          .source_bits_per_symbol = made.source_bits / static_cast<double>(symbols)};
}

nlohmann::ordered_json to_json(const GenerateOutcome& outcome) {
  if (outcome.is_labeled() || outcome.is_pairs())
    return {{"task", outcome.name},
            {"symbols", outcome.symbols},
            {"predicted_symbols", outcome.predicted},
            {outcome.unit + "s", outcome.units},
            {"entropy_bits_per_symbol", nullptr},
            {"entropy_bits_per_predicted_symbol",
             outcome.is_pairs() ? nlohmann::ordered_json() : nlohmann::ordered_json(0.0)}};
  if (!outcome.is_text())
    return {{"task", outcome.name},
            {"symbols", outcome.symbols},
            {"examples", outcome.units},
            {"entropy_bits_per_symbol", nullptr},
            {"entropy_bits_per_predicted_symbol", outcome.entropy_of_predicted}};
  return {{"task", outcome.name},
          {"symbols", outcome.symbols},
          {"predicted_symbols", outcome.predicted},
          {outcome.unit + "s", outcome.units},
          {"entropy_bits_per_symbol", outcome.entropy},
          {"entropy_bits_per_predicted_symbol", outcome.entropy_of_predicted},
          {"source_bits_per_symbol", outcome.source_bits_per_symbol}};
}

}  // namespace unfold
