#include "app/compare/evaluation_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "app/compare/evaluation_examples.h"
#include "app/evaluate/reading.h"
#include "app/fields/example_split.h"
#include "app/fields/field_plan.h"
#include "app/settings/evaluation_split.h"
#include "data/schema/table_schema.h"
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

namespace {

/// Returns the first column of dates that ascend over all positions.
SeriesDates ascending_dates(const Examples& examples) {
  if (examples.schema == nullptr || examples.count() != 1) return {};
  for (const ColumnSchema& column : examples.schema->columns) {
    const ExampleColumn* cells = examples.find(column.name);
    if (column.type != ColumnType::date || !column.date_format || cells == nullptr || !cells->is_text() || cells->once)
      continue;
    SeriesDates found{.column = column.name, .dates = {}};
    found.dates.reserve(at(examples.positions()));
    std::optional<Moment> before;
    bool ascend = true;
    for (Index p = 0; p < examples.positions() && ascend; ++p) {
      const std::optional<Moment> date =
          cells->present(p) ? parse_date(cells->texts[p], *column.date_format) : std::nullopt;
      ascend = !date || !before || date->seconds() >= before->seconds();
      if (date) before = date;
      found.dates.push_back(date);
    }
    if (ascend && before) return found;
  }
  return {};
}

}  // namespace

ExampleSet judged_examples(const Model& model, const NetworkLayout& layout, const EvaluationFiles& judged,
                           const std::string& unknown, SeriesDates* dates) {
  const Examples examples = read_for(model, judged.files);
  ExampleSet all(examples, std::make_shared<const DataSpecification>(model.data()), predicted_fields(layout),
                 parse_unknown_policy(unknown));
  if (dates != nullptr) *dates = ascending_dates(examples);
  if (judged.split.empty()) return all;
  const Problem problem = stored_problem(model, layout);
  const ExampleSplit split(examples, parse_split(judged.split), problem, predicted_fields(layout));
  auto parts = split.parts(all, stored_settings(model).window);
  if (dates != nullptr && !dates->dates.empty()) {  // a series is split by position, and the parts follow each other
    const auto predicted = [](const ExampleSet& part) {
      return part.count() == 0 ? 0 : part.length(0) - part.warmup(0);
    };
    const Index after = judged.part == "test" ? 0 : predicted(parts[2]);
    const Index own = predicted(parts[judged.part == "test" ? 2 : 1]);
    const auto end = dates->dates.end() - after;
    dates->dates = {end - own, end};
  }
  return std::move(parts[judged.part == "test" ? 2 : 1]);
}

}  // namespace unfold
