#include "app/train/fields_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

#include "app/fields/defaults/log_scale.h"
#include "app/fields/defaults/problem_defaults.h"
#include "app/fields/density_data.h"
#include "app/fields/example_split.h"
#include "app/fields/field_plan.h"
#include "app/fields/field_reading.h"
#include "app/fields/label_notes.h"
#include "app/fields/template_data.h"
#include "app/schema/field_checks.h"
#include "app/schema/table_fields.h"
#include "app/train/fields_training.h"
#include "app/train/stages/event_training.h"
#include "app/train/stages/forecast_training.h"
#include "app/train/stages/refit.h"
#include "app/train/stages/series_training.h"
#include "base/options/shell_argument.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/config.h"

namespace unfold {
namespace {

/// The distribution that is fitted if none is chosen.
constexpr const char* kSimplestDensity = "gaussian-mixture:1";

/// Returns the fields that an earlier part of the run read.
std::optional<std::string> stored_read(const RunFolder& folder) {
  const Config config = read_config(folder.config());
  const ConfigEntry* read = config.find(name_of(&TrainSettings::read));
  const auto* text = read == nullptr ? nullptr : std::get_if<std::string>(&read->value);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

}  // namespace

/// A resumed run treats its stored settings as given; repeated options therefore lead to the same settings as before.
void FieldsJob::settle() {
  TrainSettings& s = context_.settings();
  if (is_fitted_model(s.model))
    throw UsageError(
        fmt::format("data with fields ({}) requires a model trained by gradients, not {}; --format text reads "
                    "the file as text",
                    *s.format, s.model));
  Given known = context_.given();
  known.insert(context_.stored().begin(), context_.stored().end());
  if (!known.contains(&TrainSettings::symbols)) s.symbols = kAnyText;
  if (context_.continues() && context_.given().contains(&TrainSettings::model) &&
      !context_.given().contains(&TrainSettings::read) && names_template(s.model))
    s.read.reset();
  if (may_choose_density(s, known)) {
    ReaderOptions options = reader_options(s);
    options.schema.rows = RowMeaning::sequence;
    options.weights.clear();  // the rows are not examples here
    chooses_density_ = is_table_of_numbers(peek_fields(s.data, options));
    if (chooses_density_) s.model = kSimplestDensity;  // a placeholder until the model is chosen
  }
  examples_ = read_training_fields(s, context_.reporter());
  if (s.symbols == kAnyText) s.symbols = tokenization_of(examples_);
  settle_mixture(s, known);
  const TrainSettings unplanned = s;
  plan_ = plan_fields(examples_, s);
  context_.reporter().note_if(note_on_minutes(plan_, examples_, unplanned));
  if (context_.given().contains(&TrainSettings::read)) read_words_by_default(known);
  settle_log_scale(plan_, examples_, s, context_.reporter());
  for (const std::string& note : label_notes(examples_, plan_.choice.predicts)) context_.reporter().remark(note);
  selects_series_ = selects_series_model(plan_, examples_, known, s);
  if (selects_series_) s.model = kLabeledSeriesModel, known.add(&TrainSettings::model);
  selects_forecast_ =
      !context_.run().device && context_.processes().alone() && selects_forecast_model(plan_, examples_, known, s);
  selects_reads_ = !context_.run().device && context_.processes().alone() && !s.valid &&
                   selects_event_reads(plan_, examples_, known, s);
  const bool default_budget = !s.epochs && !s.steps && !s.minutes;
  set_problem_defaults(plan_, examples_, known, s);
  set_series_defaults(plan_, examples_, s);
  if (is_refitted(plan_, examples_, known, s, default_budget)) s.refit = "yes";
  check_fields(plan_, examples_, s);
}

/// Replaces texts in --read by what the default model reads of them, also if the run continues one that did.
void FieldsJob::read_words_by_default(const Given& known) {
  TrainSettings& s = context_.settings();
  const bool continues = context_.continues();
  if (context_.given().contains(&TrainSettings::model) || (known.contains(&TrainSettings::model) && !continues)) return;
  TrainSettings settled = s;
  settled.model = TrainSettings().model;
  const std::optional<std::string> reads = reads_of_texts(plan_, examples_, settled);
  if (!reads) return;
  settled.read = *reads;
  FieldPlan plan = plan_fields(examples_, settled);
  if (continues && settled.read != stored_read(context_.folder())) return;
  context_.reporter().remark(
      fmt::format("--read {} stands for {}, what the default model for texts reads; with --model, the words are "
                  "read as they are",
                  shell_argument(*s.read), *reads));
  s.read = settled.read;
  plan_ = std::move(plan);
}

std::set<std::string_view> FieldsJob::open_settings() const {
  std::set<std::string_view> open;
  if (chooses_density_)
    open = {name_of(&TrainSettings::model), name_of(&TrainSettings::optimizer), name_of(&TrainSettings::batch),
            name_of(&TrainSettings::epochs)};
  if (selects_series_ || selects_forecast_) open.insert(name_of(&TrainSettings::model));
  if (selects_forecast_) open.insert({name_of(&TrainSettings::read), name_of(&TrainSettings::epochs)});
  if (selects_reads_) open.insert(name_of(&TrainSettings::read));
  return open;
}

/// Selects the model for numeric series and the fields that it reads, and stores them in the settings like given
/// options.
template <class T>
void FieldsJob::choose_forecast_model() {
  TrainSettings& s = context_.settings();
  Team team(context_.threads());
  const ForecastSelection found = select_forecast<T>(examples_, plan_, s, team, context_.reporter());
  if (found.candidates.empty()) return;
  context_.set_selection(to_json(found));
  const ForecastCandidate& chosen = found.chosen();
  s.model = chosen.model;
  if (chosen.epochs > 0) s.epochs = chosen.epochs;
  read_fields_of(chosen.reads);
}

/// Stores the selected reads in the settings like given options.
void FieldsJob::read_fields_of(const std::vector<std::string>& reads) {
  if (reads == plan_.layout.reads) return;
  context_.settings().read = fields_of_reads(reads);
  plan_ = plan_fields(examples_, context_.settings());
}

TrainOutcome FieldsJob::run() {
  const TrainSettings& s = context_.settings();
  if (selects_forecast_ && *s.precision == "double") choose_forecast_model<double>();
  if (selects_forecast_ && *s.precision != "double") choose_forecast_model<float>();
  if (selects_reads_) {
    Team team(context_.threads());
    const std::array<ExampleSet, 3> parts = split_examples(examples_, plan_.choice, plan_.problem, s);
    const auto select = *s.precision == "double" ? &select_event_reads<double> : &select_event_reads<float>;
    read_fields_of(select(parts, plan_, s, kUnknownRate, team, context_.reporter()));
  }
  std::array<ExampleSet, 3> parts = split_examples(examples_, plan_.choice, plan_.problem, s);
  const std::shared_ptr<const DataSpecification>& data = parts[0].shared_data();
  if (s.valid)
    parts[1] = {read_further(*s.valid, *data, /*weighted=*/true), data, plan_.choice.predicts,
                parse_unknown_policy(s.unknown)};
  report_unseen_values(parts[1], plan_.choice.predicts, "validation", context_.reporter());
  return *s.precision == "double" ? train<double>(parts) : train<float>(parts);
}

/// Reads a further file with the column types that are known from the training data. `weighted`: with the weights of
/// examples, if the training data has any.
Examples FieldsJob::read_further(const std::string& file, const DataSpecification& data, bool weighted) const {
  ReaderOptions options = reader_options(context_.settings());
  request_types(data, options);
  request_columns(data, options.schema);
  read_like(examples_, options);
  set_expected_columns(examples_, options);
  if (!weighted) options.weights.clear();
  Examples examples = read_fields({file}, options, context_.reporter());
  for (const HeadSpecification& head : plan_.layout.heads) check_loss_domain(examples, head.field, head.loss);
  return examples;
}

template <class T>
TrainOutcome FieldsJob::train(const std::array<ExampleSet, 3>& parts) {
  const TrainSettings& s = context_.settings();
  FieldsTraining<T> training(context_, examples_, plan_, parts,
                             {.selects_series = selects_series_, .chooses_density = chooses_density_});
  training.choose_model();
  training.train();
  if (!s.test) return training.finish(parts[2].count() > 0 ? &parts[2] : nullptr);
  const ExampleSet test(read_further(*s.test, parts[0].data(), /*weighted=*/false), parts[0].shared_data(),
                        plan_.choice.predicts, UnknownPolicy::skip);
  return training.finish(&test);
}

}  // namespace unfold
