#include "app/fields/template_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "data/examples/templates.h"
#include "model/network/linear.h"
#include "unfold/base/error.h"
#include "unfold/base/options/options.h"
#include "unfold/model/network/spec.h"

namespace unfold {

bool is_of_crf(const std::string& model) { return model == "crf" || model.starts_with("crf:"); }

bool names_template(const std::string& model) {
  if (!is_of_crf(model)) return false;
  const Spec spec = parse_spec(model);
  return std::ranges::any_of(spec.values, [](const auto& value) { return value.first == "template"; });
}

void take_template(const std::vector<std::string>& columns, TrainSettings& s) {
  Spec spec = parse_spec(s.model);
  const auto given = std::ranges::find(spec.values, "template", [](const auto& value) { return value.first; });
  if (given == spec.values.end()) return;
  if (s.read)
    throw UsageError(
        "--read cannot be combined with the template of --model crf: both define the inputs; leave out one of them");
  const TemplateFile file = read_templates(Input::open(given->second), columns);
  if (!file.bigrams && file.steps.empty())
    throw DataError(
        fmt::format("{}: there is no line B, so labels would be independent; add it, or leave out the template and use "
                    "--read {} --predict FIELD=softmax",
                    given->second, fmt::join(file.reads, ",")));
  spec.values.erase(given);
  StepReads steps{.steps = file.steps, .alone = {}};
  for (const std::string& name : file.steps)
    if (std::ranges::find(file.reads, name) == file.reads.end()) steps.alone.push_back(name);
  if (!file.steps.empty()) spec.values.emplace_back("steps", steps.option());
  s.read = fmt::format("{}", fmt::join(file.reads, ","));
  s.model = to_string(spec);
}

bool has_entry(const ExampleColumn& column) {
  for (Index e = 0; e < column.entries(); ++e)
    if (column.present(e)) return true;
  return false;
}

bool is_annotation(const Examples& examples, const std::string& field) {
  constexpr std::array kAnnotations = {"id", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"};
  const auto exists = [&](const char* name) { return examples.find(name) != nullptr; };
  return std::ranges::find(kAnnotations, field) != kAnnotations.end() && exists("form") &&
         std::ranges::all_of(kAnnotations, exists);
}

std::vector<std::string> default_templates(const Examples& examples, const std::vector<std::string>& predicted) {
  std::vector<std::string> reads;
  const auto is_predicted = [&](const std::string& name) {
    return std::ranges::find(predicted, name) != predicted.end();
  };
  const bool new_text = !is_predicted("form");
  for (const ExampleColumn& column : examples.columns) {
    if (column.once || !column.is_text() || is_predicted(column.name) || !has_entry(column)) continue;
    if (new_text && is_annotation(examples, column.name)) continue;
    for (const char* around : {"{0}[-2]", "{0}[-1]", "{0}[0]", "{0}[1]", "{0}[2]", "{0}[-1]|{0}[0]", "{0}[0]|{0}[1]"})
      reads.push_back(fmt::format(fmt::runtime(around), column.name));
  }
  return reads;
}

void take_steps(const std::string& model, std::vector<std::string>& reads, const std::vector<std::string*>& losses) {
  const StepReads steps = StepReads::parse(parse_model_spec(model).options.as<LinearOptions>().steps);
  if (steps.steps.empty()) return;
  for (const std::string& name : steps.steps)
    if (std::ranges::find(reads, name) == reads.end()) reads.push_back(name);
  for (std::string* loss : losses) {
    Spec spec = parse_spec(loss->empty() ? "crf" : *loss);
    const auto given = std::ranges::find(spec.values, "steps", [](const auto& value) { return value.first; });
    if (spec.name != "crf" || (given != spec.values.end() && given->second != "read"))
      throw UsageError(fmt::format(
          "--model {}: transitions have weights, but the loss {} has no transition scores; use crf", model, *loss));
    if (given == spec.values.end()) spec.values.emplace_back("steps", "read");
    *loss = to_string(spec);
  }
}

}  // namespace unfold
