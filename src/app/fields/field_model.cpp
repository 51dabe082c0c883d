#include "app/fields/field_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "app/fields/density_data.h"
#include "app/fields/field_reading.h"
#include "app/fields/missing_columns.h"
#include "app/fields/predicted_list.h"
#include "app/schema/table_fields.h"
#include "base/formats/trusted_json.h"
#include "data/examples/derived.h"
#include "data/examples/templates.h"
#include "data/readers/example_reader.h"
#include "data/schema/stored_schema.h"
#include "model/decoding/label_decoder.h"
#include "model/network/density_model.h"
#include "model/network/transduce.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/loss/registry.h"

namespace unfold {

namespace {

/// Returns the text of a setting in the card; std::nullopt if the card does not contain it.
template <class T>
std::optional<std::string> stored_text(const nlohmann::json& stored, T TrainSettings::*setting) {
  const auto found = stored.find(name_of(setting));
  if (found == stored.end()) return std::nullopt;
  return found->template get<std::string>();
}

TrainSettings settings_of_card(const Model& model) {
  TrainSettings settings;
  const nlohmann::json& stored = model.configuration();
  settings.format = model.data().source;
  settings.symbols = stored_text(stored, &TrainSettings::symbols).value_or(kAnyText);
  for (const auto member :
       {&TrainSettings::sequences, &TrainSettings::order, &TrainSettings::rows, &TrainSettings::types,
        &TrainSettings::missing, &TrainSettings::default_missing, &TrainSettings::decimal, &TrainSettings::thousands,
        &TrainSettings::header, &TrainSettings::comment})
    settings.*member = stored_text(stored, member);
  settings.trees = stored_text(stored, &TrainSettings::trees);
  if (const auto window = stored.find(name_of(&TrainSettings::window)); window != stored.end())
    settings.window = whole_number<Index>(*window).value_or(settings.window);
  if (const auto ahead = stored.find(name_of(&TrainSettings::ahead)); ahead != stored.end())
    settings.ahead = whole_number<Index>(*ahead);
  settings.refit = stored_text(stored, &TrainSettings::refit);
  if (const auto name = stored_text(stored, &TrainSettings::model); name && names_density(*name)) {
    settings.model = *name;
    settings.predict = stored_text(stored, &TrainSettings::predict);
  }
  settings.ends = stored_text(stored, &TrainSettings::ends);
  if (!settings.ends) return settings;
  settings.read = stored_text(stored, &TrainSettings::read).value_or("");
  settings.predict = stored_text(stored, &TrainSettings::predict).value_or("");
  return settings;
}

}  // namespace

TrainSettings stored_settings(const Model& model) {
  try {
    TrainSettings settings = settings_of_card(model);
    (void)reader_options(settings);  // throws for names that training would have rejected
    if (has_fields(settings)) (void)readers().get(*settings.format);
    return settings;
  } catch (const nlohmann::json::exception& error) {
    throw ModelError(fmt::format("the model card: configuration: {}", json_fault(error)));
  } catch (const UsageError& error) {
    throw ModelError(fmt::format("the model card: configuration: {}", error.what()));
  }
}

bool predicts_whole_sequences(const Model& model) {
  return model.configuration().contains(name_of(&TrainSettings::ends));
}

std::optional<LengthModel> length_model_of(const Model& model) {
  const nlohmann::json& stored = model.configuration();
  if (!stored.contains(kLengthKey)) return std::nullopt;
  return LengthModel::from_json(stored[kLengthKey]);
}

namespace {

bool looks_like_number(const std::string& text) {
  double x = 0;
  return std::from_chars(text.data(), text.data() + text.size(), x).ptr == text.data() + text.size();
}

}  // namespace

ReaderOptions reader_options_for(const Model& model, const SchemaOptions& stated) {
  ReaderOptions options = reader_options(stored_settings(model));
  options.weights.clear();  // only training has weights
  if (!options.rows.field.empty()) {
    set_expected_columns(vector_parts(model), vector_classes(model), options);
    for (const auto& [column, classes] : options.rows.classes)
      if (!std::ranges::all_of(classes, looks_like_number)) options.texts.push_back(column);
  }
  request_types(model.data(), options);
  if (model.configuration().contains(kSchemaKey))
    apply_stored_schema(model.configuration()[kSchemaKey], options.schema);
  restate(stated, options);
  if (options.rows.field.empty()) request_columns(model.data(), options.schema);
  return options;
}

std::vector<std::string> fields_read_by(const Model& model) {
  std::vector<std::string> known, inputs;
  known.reserve(model.data().fields.size());
  std::set<std::string> predicted;
  for (const FieldSpecification& field : model.data().fields) known.push_back(field.name);
  const std::string list = stored_text(model.configuration(), &TrainSettings::predict).value_or("");
  for (const std::string& text : split_predicted(list, known)) predicted.insert(parse_predicted(text, known).field);
  for (std::string& name : known)
    if (!predicted.contains(name)) inputs.push_back(std::move(name));
  return inputs;
}

namespace {

/// Returns the fields of the training data from which the inputs are derived, without duplicates.
std::vector<std::string> input_columns_of(const Model& model) {
  std::vector<std::string> columns;
  const auto add = [&](std::string name) {
    while (const std::optional<DerivedField> derived = parse_derived(name)) name = derived->field;
    if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
  };
  for (const std::string& input : fields_read_by(model)) {
    const std::vector<TemplatePart> parts = parse_template(input);
    if (parts.empty()) add(input);
    for (const TemplatePart& part : parts) add(part.field);
  }
  return columns;
}

/// The words of a text without annotations, one per line, have no column names. They are the input of a model that
/// reads one column.
void name_words(const Model& model, Examples& examples) {
  if (model.data().source != "columns" || examples.columns.size() != 1 || examples.columns[0].name != "1") return;
  const std::vector<std::string> inputs = input_columns_of(model);
  const bool named = inputs.size() == 1 && inputs[0].find_first_not_of("0123456789") != std::string::npos;
  if (!named) return;
  examples.columns[0].name = inputs[0];
  examples.remarks.push_back(
      fmt::format("{} has one column without a name, which is read as {}", examples.source, inputs[0]));
}

}  // namespace

Examples read_for(const Model& model, const std::vector<std::string>& files, Reporter* reporter,
                  const SchemaOptions& stated) {
  Examples examples = read_fields(files, reader_options_for(model, stated));
  name_words(model, examples);
  std::vector<std::string> missing;
  if (has_rows(model.data().source) && model.configuration().contains(name_of(&TrainSettings::predict)))
    missing = add_missing_columns(model, fields_read_by(model), examples);
  if (reporter == nullptr) return examples;
  report_reader_notes(examples, *reporter);
  for (const std::string& warning : missing) reporter->warn(warning);
  return examples;
}

bool decodes_labels(const Model& model, const NetworkLayout& layout) {
  const std::vector<LabelRead> own = label_reads(layout.reads, predicted_fields(layout));
  if (own.empty() || reads_source(model.data()) || predicts_whole_sequences(model)) return false;
  const auto is_label = [&](const LabelRead& read) {
    return model.data().field(read.read.field).type == FieldSpecification::Type::symbols;
  };
  return std::ranges::any_of(own, is_label) && stored_settings(model).ahead == 0;
}

bool reads_row_by_row(const Model& model, const NetworkLayout& layout) {
  const auto waits = [&](const HeadSpecification& head) {
    const bool whole = !head.loss.empty() && choose_loss(head.loss).make<float>()->as<RowLoss<float>>() == nullptr;
    return whole || model.data().field(head.field).once;
  };
  const auto looks_around = [](const std::string& read) { return !parse_template(parse_read(read).field).empty(); };
  return has_rows(model.data().source) && !model.need<NetworkHolder>("predict").spec().both_directions &&
         std::ranges::none_of(layout.heads, waits) && std::ranges::none_of(layout.reads, looks_around) &&
         std::ranges::none_of(model.data().fields, &FieldSpecification::spelt);
}

void check_child_count(const ModelSpec& spec, const ExampleSet& examples) {
  const Index told = examples.has_trees() && spec.cell->reads_trees() ? spec.cell->children(spec.options) : 0;
  if (told == 0) return;
  const Index most = examples.most_children();
  if (most > told)
    throw DataError(
        fmt::format("{}: a node has {} children, but {} supports {}; train {}:{},children={}, or child-sum-lstm:{}, "
                    "which supports any number",
                    examples.source(), most, to_string(spec), told, spec.cell->name, spec.units, most, spec.units));
}

std::vector<std::string> predicted_fields(const NetworkLayout& layout) {
  std::vector<std::string> names;
  names.reserve(layout.heads.size());
  for (const HeadSpecification& head : layout.heads) names.push_back(head.field);
  return names;
}

void throw_without_fields(const Model& model, const std::string& name) {
  const bool task = !task_of(model).empty();
  throw UsageError(fmt::format("{}: {} reads {}, which has no fields{}", name, model.spec_text(), model.data().source,
                               task ? "; use it with eval or info" : "; score, sample and complete use such a model"));
}

}  // namespace unfold
