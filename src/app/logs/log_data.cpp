#include "app/logs/log_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/formats/json.h"
#include "base/formats/text_encoding.h"
#include "data/text/labels.h"
#include "model/registry/registry.h"

namespace unfold {
namespace {

constexpr const char* kLogKey = "log";

LogRules rules_of(const TrainSettings& settings) {
  return settings.log_rules ? LogRules::read(Input::open(*settings.log_rules)) : LogRules();
}

Index count_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  const auto number = found == json.end() ? std::nullopt : whole_number<Index>(*found);
  if (!number || *number < 1) throw ModelError(fmt::format("the model card: log.{} is not a number above 0", key));
  return *number;
}

/// How many lines there are of each label, for people: "-: 904, KERNDTLB: 60".
std::string count_labels(const std::vector<std::string>& labels) {
  std::map<std::string, Index> counts;
  for (const std::string& label : labels) ++counts[label];
  std::string text;
  for (const auto& [label, count] : counts) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", label, count);
  return text;
}

/// Of UTF-16 a model would learn zeros between letters.
void check_encoding(const std::vector<Input>& inputs) {
  for (const Input& input : inputs) reject_utf16(input.name(), input.bytes());
}

}  // namespace

nlohmann::json to_json(const LogCard& card) {
  return {{"rules", card.rules.text()}, {"label-column", card.label_column},   {"lines", card.lines},
          {"shapes", card.shapes},      {"unknown-words", card.unknown_words}, {"values", card.values.to_json()}};
}

std::optional<LogCard> log_card(const SymbolModel& model) {
  const auto found = model.configuration().find(kLogKey);
  if (found == model.configuration().end()) return std::nullopt;
  const nlohmann::json& json = *found;
  if (!json.is_object() || !json.contains("rules") || !json["rules"].is_string() || !json.contains("label-column") ||
      !json["label-column"].is_boolean())
    throw ModelError("the model card: `log` does not specify how the log was read");
  if (model.alphabet().kind() != SymbolKind::words || model.alphabet().unknown() == kNoSymbol)
    throw ModelError("the model card: a log requires an alphabet of words with <unk>");
  try {
    return LogCard{.rules = LogRules::parse(json["rules"].get<std::string>(), "rules in the model card"),
                   .label_column = json["label-column"].get<bool>(),
                   .lines = count_of(json, "lines"),
                   .shapes = count_of(json, "shapes"),
                   .unknown_words = count_of(json, "unknown-words"),
                   .values = LogValues::from_json(json.value("values", nlohmann::json::object()))};
  } catch (const UsageError& error) {
    throw ModelError(error.what());
  }
}

LogTraining::LogTraining(const TrainSettings& settings) : card_{.rules = rules_of(settings)}, scanner_(card_.rules) {}

std::vector<Input> LogTraining::read_data(std::vector<Input> inputs, TrainSettings& s, Reporter& reporter) {
  check_encoding(inputs);
  if (!s.label_column && std::ranges::all_of(inputs, [](const Input& i) { return begins_with_labels(i.bytes()); })) {
    s.label_column = true;
    if (!s.only_label) s.only_label = std::string(kNormalLabel);
    std::vector<std::string> labels;
    for (const Input& input : inputs) {
      const std::vector<std::string> some = split_labels(input).labels;
      labels.insert(labels.end(), some.begin(), some.end());
    }
    reporter.remark(fmt::format("the first column contains labels ({}); training uses only lines with the label {}",
                                count_labels(labels), *s.only_label));
  }
  card_.label_column = s.label_column;
  inputs = unlabelled(std::move(inputs), s.label_column, s.only_label);
  std::vector<Input> result;
  for (const Input& input : inputs) {
    LogTemplates shapes = shapes_of(input.bytes(), scanner_, [&](const LogLine& line) {
      for (const MaskedValue& value : line.masked) card_.values.count(value);
    });
    input.require_whole();
    card_.lines += shapes.lines;
    card_.shapes += shapes.different;
    if (!is_fitted_model(s.model))
      card_.unknown_words = std::max(card_.unknown_words, make_rare_words_unknown(shapes.text));
    result.push_back(Input::from_bytes(input.name(), std::move(shapes.text)));
  }
  return result;
}

std::vector<Input> LogTraining::read_more(const std::vector<Input>& inputs, const TrainSettings& s) const {
  check_encoding(inputs);
  std::vector<Input> result;
  for (const Input& input : unlabelled(inputs, s.label_column, s.only_label))
    result.push_back(Input::from_bytes(input.name(), shapes_of(input.bytes(), scanner_).text));
  return result;
}

std::vector<Input> log_shapes(const LogCard& card, const std::vector<Input>& inputs,
                              const std::optional<std::string>& only) {
  check_encoding(inputs);
  const LogScanner scanner(card.rules);
  std::vector<Input> result;
  for (const Input& input : unlabelled(inputs, card.label_column, only))
    result.push_back(Input::from_bytes(input.name(), shapes_of(input.bytes(), scanner).text));
  return result;
}

}  // namespace unfold
