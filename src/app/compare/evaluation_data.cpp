#include "app/compare/evaluation_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "app/compare/evaluation_examples.h"
#include "app/evaluate/reading.h"
#include "app/fields/example_split.h"
#include "app/fields/field_plan.h"
#include "app/settings/evaluation_split.h"
#include "model/registry/run_folder.h"
#include "unfold/base/formats/config.h"

namespace unfold {

TrainSettings settings_of_run(const std::string& model) {
  TrainSettings settings;
  RunSettings run;
  std::error_code ignored;
  if (!std::filesystem::is_directory(model, ignored)) return settings;
  const RunFolder folder(model);
  if (folder.has_config()) apply_stored(read_config(folder.config()), {}, settings, run);
  return settings;
}

std::string EvaluationFiles::text() const {
  const std::string names = fmt::format("{}", fmt::join(files, ", "));
  if (split.empty()) return part == "validation" ? fmt::format("{} (validated on)", names) : names;
  return fmt::format("the {} part of {} of {}", part, split, names);
}

EvaluationFiles evaluation_files(const std::string& model, const std::vector<std::string>& data) {
  if (!data.empty()) return {.files = data, .split = {}, .part = "all", .named = true};
  const TrainSettings settings = settings_of_run(model);
  if (settings.test) return {.files = {*settings.test}, .split = {}, .part = "test"};
  if (settings.data.empty())
    throw UsageError(fmt::format("{} does not record its training data; specify data with --data FILE", model));
  if (settings.valid) return {.files = {*settings.valid}, .split = {}, .part = "validation"};
  const std::string split = settings.split.value_or(kDefaultSplit);
  const SplitShares shares = parse_split(split);
  return {.files = settings.data, .split = split, .part = shares.shares[2] > 0 ? "test" : "validation"};
}

EvaluationText load_evaluation(const SymbolModel& model, const EvaluationFiles& judged, const std::string& unknown) {
  for (const std::string& file : judged.files)
    if (std::error_code ignored; !judged.named && !std::filesystem::exists(file, ignored))
      throw DataError(
          fmt::format("{}, which the run was trained with, does not exist (names are relative to the folder in which "
                      "training was started); specify data with --data FILE",
                      file));
  Corpus corpus = load_for(model, judged.files, parse_unknown_policy(unknown), {},
                           judged.named ? std::optional<std::string>() : only_label(model));
  if (judged.split.empty()) {
    Split part = whole_corpus(corpus, judged.part);
    return {std::move(corpus), std::move(part)};
  }
  auto parts = split_corpus(corpus, parse_split(judged.split), split_order(model));
  Split part = std::move(parts[judged.part == "test" ? 2 : 1]);
  if (part.empty()) throw DataError(fmt::format("{}: no data is left; specify data with --data FILE", judged.text()));
  return {std::move(corpus), std::move(part)};
}

ExampleSet judged_examples(const Model& model, const NetworkLayout& layout, const EvaluationFiles& judged,
                           const std::string& unknown) {
  const Examples examples = read_for(model, judged.files);
  ExampleSet all(examples, std::make_shared<const DataSpecification>(model.data()), predicted_fields(layout),
                 parse_unknown_policy(unknown));
  if (judged.split.empty()) return all;
  const Problem problem = stored_problem(model, layout);
  const ExampleSplit split(examples, parse_split(judged.split), problem, predicted_fields(layout));
  auto parts = split.parts(all, stored_settings(model).window);
  return std::move(parts[judged.part == "test" ? 2 : 1]);
}

}  // namespace unfold
