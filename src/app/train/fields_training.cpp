#include "app/train/fields_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "app/common/baseline_comparison.h"
#include "app/fields/defaults/event_defaults.h"
#include "app/fields/density_data.h"
#include "app/fields/evaluation/decoded_labels.h"
#include "app/fields/example_split.h"
#include "app/fields/field_model.h"
#include "app/fields/field_plan.h"
#include "app/fields/missing_columns.h"
#include "app/train/setup/objectives.h"
#include "app/train/setup/trainer_options.h"
#include "app/train/setup/training_requirements.h"
#include "app/train/setup/warm_start.h"
#include "app/train/stages/divergence.h"
#include "app/train/stages/refit.h"
#include "app/train/stages/ridge_training.h"
#include "app/train/stages/series_training.h"
#include "app/train/stages/squared_error_note.h"
#include "app/train/stages/without_columns.h"
#include "base/interruptible.h"
#include "data/examples/transformations/weight_column.h"
#include "data/schema/describe_schema.h"
#include "data/schema/stored_schema.h"
#include "data/schema/table_schema.h"
#include "data/text/example_weights.h"
#include "data/text/labels.h"
#include "loss/weighted_loss.h"
#include "model/decoding/objective.h"
#include "model/density/density_selection.h"
#include "model/network/density_model.h"
#include "model/network/fitting/readout.h"
#include "model/network/initialization/bigram_init.h"
#include "model/network/initialization/frequency_init.h"
#include "model/network/initialization/gaussian_init.h"
#include "model/network/initialization/logistic_init.h"
#include "model/network/linear.h"
#include "model/network/order_agnostic.h"
#include "model/network/train_with_objective.h"
#include "model/selection/exact_baseline.h"
#include "model/series/kernel_thresholds.h"
#include "model/series/pooled_readout.h"
#include "unfold/base/error.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

/// Names the columns that new data should have, if columns in addition to the text of each row are read without --read.
std::string note_on_inputs(const Examples& examples) {
  constexpr std::size_t kMostNames = 20, kMostNameBytes = 60;
  if (examples.schema == nullptr || examples.schema->text() == nullptr) return {};
  std::vector<std::string> names;
  for (const ColumnSchema& column : examples.schema->columns)
    if (column.role == ColumnRole::read && column.role_reason != "set by --read" && names.size() <= kMostNames)
      names.push_back(names.size() < kMostNames ? escape_cell(column.name, kMostNameBytes) : "...");
  if (names.size() < 2) return {};
  return fmt::format(
      "note: new data should have the columns {}; to train without a column that it will not have, name the other "
      "columns with --read",
      fmt::join(names, ", "));
}

std::vector<Index> lengths_of(const ExampleSet& examples) {
  std::vector<Index> lengths;
  lengths.reserve(at(examples.count()));
  for (Index e = 0; e < examples.count(); ++e) lengths.push_back(examples.length(e));
  return lengths;
}

/// Returns the options for one pass over all examples without random changes.
ExampleBatchOptions one_pass(ExampleBatchOptions batches) {
  batches.unknown_rate = batches.word_dropout = 0;
  batches.shift = 0;
  return batches;
}

/// Throws UsageError for models that do not support weights of examples.
template <class T>
void require_weights_supported(const NetworkModel<T>& model, bool on_cpu) {
  const bool has_classes = std::ranges::any_of(
      model.network().heads, [](const Head<T>& head) { return head.loss->template as<Categorical<T>>() != nullptr; });
  if (readout_of(model.spec()) && !predicts_once(model) && has_classes)
    refuse_weights(fmt::format("the readout of {} for classes at every position", model.spec_text()));
  for (const Head<T>& head : model.network().heads)
    if (!head.loss->parameter_indices().empty() && head.loss->template as<WeightedLoss<T>>() == nullptr)
      refuse_weights(fmt::format("the loss {}", head.loss->name()));
  if (!on_cpu) refuse_weights("a device (--device)");
}

}  // namespace

std::array<ExampleSet, 3> split_examples(const Examples& examples, const FieldChoice& choice, Problem problem,
                                         const TrainSettings& s) {
  const ExampleSplit split(examples, s.valid ? SplitShares{{100'000'000, 0, 0}} : parse_split(*s.split), problem,
                           choice.predicts);
  DataSpecification own = specify(split.training(examples), choice, *s.format);
  const auto data = std::make_shared<const DataSpecification>(
      s.copy_matching_parameters ? initial_specification(*s.copy_matching_parameters, std::move(own)) : std::move(own));
  const ExampleSet all(examples, data, choice.predicts, UnknownPolicy::skip);
  std::array<ExampleSet, 3> parts = split.parts(all, s.window);
  if (s.copy_matching_parameters) require_known_labels(*s.copy_matching_parameters, parts[0], choice.predicts);
  return parts;
}

template <class T>
FieldsTraining<T>::FieldsTraining(TrainingContext& context, const Examples& examples, FieldPlan& plan,
                                  const std::array<ExampleSet, 3>& parts, ModelChoices choices)
    : context_(context), examples_(examples), plan_(plan), parts_(parts), choices_(choices), team_(context.threads()) {}

template <class T>
void FieldsTraining<T>::choose_model() {
  TrainSettings& s = context_.settings();
  if (choices_.chooses_density) choose_density();
  options_ = context_.train_options();
  options_.trainer.model = fmt::format("{} of {}: {} from {}", s.model, *s.format, *s.predict, *s.read);
  options_.trainer.stop = context_.reporter().stop();
  if (choices_.selects_series) {
    SelectedSeriesModel<T> selected = select_series_model<T>(parts_[0], plan_.layout, s, team_, context_.reporter());
    s.model = std::move(selected.model);
    left_out_ = std::move(selected.outputs);
  }
  s.model = with_training_length(s.model, parts_[0]);
  batches_ = batch_options(list_features());
  states_ = fit_states_of(parts_[0]);
  mixture_ = fit_mixture_of(parts_[0]);
}

/// Chooses a model and its settings for a table if only the format is specified.
template <class T>
void FieldsTraining<T>::choose_density() {
  TrainSettings& s = context_.settings();
  Reporter& reporter = context_.reporter();
  const ExampleColumn& vectors = examples_.column(kVector);
  const std::vector<std::size_t> varying = varying_columns(vectors);
  if (varying.empty()) return;  // the simplest one, as specified
  std::optional<ExampleSet> compared;
  if (varying.size() < at(vectors.width)) {
    reporter.remark(fmt::format("{} of {} columns have only one value; models are compared on the others",
                                at(vectors.width) - varying.size(), vectors.width));
    Examples examples = examples_;
    FieldChoice choice = plan_.choice;
    keep_columns(varying, examples, choice);
    compared = split_examples(examples, choice, plan_.problem, s).front();
  }
  const DensitySelection found = select_density(
      compared ? *compared : parts_[0],
      {.bits = has_only_bits(vectors),
       .seed = seed(),
       .stop = reporter.stop(),
       .progress = [&](const std::string& model) { reporter.progress({.what = "cross-validation of " + model}); }},
      team_);
  reporter.remark(found.remark());
  s.model = plan_.layout.heads.front().loss = found.candidates.front().model;
  if (is_fitted_mixture(s.model)) return;
  if (!context_.given().contains(&TrainSettings::epochs)) s.epochs.reset();
  set_density_defaults(examples_, context_.given(), s);
  s.optimizer = canonical_optimizer(s.optimizer);
}

/// Fits a hidden Markov model for vectors, whose number of states may be selected from the data; empty for other
/// models.
template <class T>
std::optional<HmmFit> FieldsTraining<T>::fit_states_of(const ExampleSet& training) {
  TrainSettings& s = context_.settings();
  const ModelSpec spec = parse_model_spec(s.model);
  if (!is_hidden_markov(spec)) return std::nullopt;
  if (context_.resume() || s.shards || s.objective)
    throw UsageError(fmt::format(
        "model {} is fitted by expectation-maximization: leave out --resume, --shards and --objective", s.model));
  std::optional<NothingToSave> fitting;
  if (context_.processes().alone()) fitting.emplace();
  HmmFit fitted = fit_states(spec, training, seed(), context_.reporter().stop(), team_);
  context_.reporter().remark(fitted.remark());
  s.model = plan_.layout.heads.front().loss = fitted.model;
  return fitted;
}

/// Fits a mixture unless it is trained by gradients; empty for other models.
template <class T>
std::optional<MixtureFit> FieldsTraining<T>::fit_mixture_of(const ExampleSet& training) {
  const TrainSettings& s = settings();
  if (!is_fitted_mixture(s.model)) return std::nullopt;
  if (context_.resume())
    throw UsageError(fmt::format("model {} is fitted by expectation-maximization: leave out --resume", s.model));
  std::optional<NothingToSave> fitting;
  if (context_.processes().alone()) fitting.emplace();
  MixtureFit fitted = fit_mixture(parse_model_spec(s.model), training, seed(), context_.reporter().stop(), team_);
  context_.reporter().remark(fitted.remark());
  return fitted;
}

/// For a model without layers, lists the pairs of inputs and labels that occur in training, which get weights. Returns
/// whether the model is of this kind.
template <class T>
bool FieldsTraining<T>::list_features() {
  const ExampleSet& training = parts_[0];
  const ModelSpec spec = parse_model_spec(settings().model);
  if (!is_linear(spec)) return false;
  const std::vector<std::string> reads = listed_reads(training.data(), plan_.layout.reads);
  for (HeadSpecification& head : plan_.layout.heads)
    if (!reads.empty() && training.data().field(head.field).type == FieldSpecification::Type::symbols)
      head.listing = list_pairs(training, reads, head.field, spec.options.as<LinearOptions>(), head.loss);
  return true;
}

template <class T>
ExampleBatchOptions FieldsTraining<T>::batch_options(bool lists_features) const {
  const TrainSettings& s = settings();
  const bool full = needs_full_batch(s.optimizer);
  return {.reads = plan_.layout.reads,
          .predicts = plan_.choice.predicts,
          .batch = s.batch,
          .window = s.whole_sequences ? 0 : s.window,
          .curriculum = curriculum_of(s),
          .patches = patches_of(parse_model_spec(s.model)),
          .unknown_rate = full || lists_features ? 0 : kUnknownRate,
          .word_dropout = s.word_dropout,
          .shift = s.shift,
          .in_order = full};
}

/// Performs all checks that are possible before anything is written.
template <class T>
void FieldsTraining<T>::check(const NetworkModel<T>& model) const {
  TrainSettings& s = context_.settings();
  require_options_used(model.spec(), model.data(), model.layout());
  check_training_support(model.network(), model.spec(), s, context_.run());
  if (parts_[0].has(kExampleWeights)) require_weights_supported(model, context_.device().is_cpu());
  context_.device().require(model.network(), model.data());
  // Other models do not train in steps of one batch.
  const bool in_steps = !is_fitted() && !has_random_kernels(model.spec());
  if (context_.device().is_cpu() && in_steps)
    require_training_memory(*model.plan(), parts_[0], s, batches_.window, sizeof(T), context_.run());
  if (is_fitted() || readout_of(model.spec())) {
    if (context_.given().contains(&TrainSettings::best_by))  // pairs always have validation data
      throw UsageError(fmt::format("--best-by needs validation, but {} has none", s.model));
    check_one_pass_settings(s, context_.resume());
  }
  for (const ExampleSet& part : parts_) check_child_count(model.spec(), part);
  if (!reads_earlier_labels(plan_, examples_, s)) return;
  require_decodable(model, parts_[0]);
  if (s.best_by == "labels")
    throw UsageError(
        "--best-by labels would count errors with the true earlier labels as inputs; use --best-by sequences, which "
        "counts sequences whose labels are all found by greedy search, or leave it out");
}

/// Sets the initial parameters; `begins`: also those that a checkpoint would replace. Returns a note, or an empty
/// string.
template <class T>
std::string FieldsTraining<T>::initialize(NetworkModel<T>& model, const ExampleSet& training, bool begins) {
  const TrainSettings& s = settings();
  model.initialize(seed());
  starts_from_regression_ = initialize_from_regression(model, training, seed());
  initialize_from_bigrams(model, training);
  initialize_from_means(model, training);
  if (begins) initialize_from_gaussians(model, training, team_);
  return s.copy_matching_parameters && begins ? copy_matching_parameters(*s.copy_matching_parameters, model) : "";
}

/// Stores the description of the training data with the model.
template <class T>
void FieldsTraining<T>::describe(NetworkModel<T>& model) const {
  const TrainSettings& s = settings();
  nlohmann::json card = context_.card_configuration();
  for (const std::string& field : predicted_fields(model.layout()))
    card[kStatisticsKey][field] = to_json(field_statistics(parts_[0], field));
  if (examples_.schema != nullptr && !is_density(model.spec()))
    if (nlohmann::json schema = stored_schema(*examples_.schema); !schema.is_null())
      card[kSchemaKey] = std::move(schema);
  if (s.ends && std::ranges::find(LengthModel::kinds(), *s.ends) != LengthModel::kinds().end())
    card[kLengthKey] = LengthModel::fit(*s.ends, lengths_of(parts_[0]), weights_with_mean_one(parts_[0])).to_json();
  if (is_density(model.spec())) {
    card[kColumnsKey] = examples_.column(kVector).parts;
    if (const ColumnClasses classes = classes_of(examples_.column(kVector)); !classes.empty())
      card[kClassesKey] = classes;
  }
  model.configuration() = std::move(card);
  if (!context_.selection().is_null()) model.history().push_back({{"selection", context_.selection()}});
}

template <class T>
void FieldsTraining<T>::report_start(const NetworkModel<T>& model) const {
  const TrainSettings& s = settings();
  context_.reporter().remark(
      fmt::format("{} reads {} and predicts {}: {} parameters; {} training examples with {} positions, {} validation "
                  "examples with {}",
                  s.model, *s.read, *s.predict, model.parameters().size(), parts_[0].count(), parts_[0].positions(),
                  parts_[1].count(), parts_[1].positions()));
  if (const std::string note = note_on_inputs(examples_); !note.empty()) context_.reporter().remark(note);
  for (const std::string& field : predicted_fields(model.layout()))
    if (is_constant(field_statistics(parts_[0], field)))
      context_.reporter().remark(
          fmt::format("note: {} has only one value in the training data, which every prediction should equal", field));
}

template <class T>
void FieldsTraining<T>::train() {
  model_.emplace(settings().model, parts_[0].data(), plan_.layout);
  NetworkModel<T>& model = *model_;
  check(model);
  context_.reporter().note_if(initialize(model, parts_[0], context_.begins()));
  describe(model);
  report_start(model);
  options_.trainer.spent_seconds = context_.seconds();
  if (parts_[1].count() > 0)
    options_.trainer.validations_after =
        1 + static_cast<double>(parts_[2].positions()) / static_cast<double>(parts_[1].positions());
  outcome_ = context_.outcome(model.parameters().size());
  outcome_.has_test = parts_[2].count() > 0;
  const Parameters<T> initial = model.parameters();
  try {
    outcome_.result = fit(model, outcome_);
  } catch (const InterruptedError&) {
    context_.interrupted_with_checkpoint();
  }
  if (parts_[1].count() > 0) outcome_.field_valid = evaluate_fields(model, parts_[1], team_);
  add_baselines(outcome_);
  measure_without_columns(model);
  if (!is_fitted() && !readout_of(model.spec())) check_result(model, initial, outcome_.field_valid);
}

/// Validates the model without each column that is read in addition to a text, and stores the result in the model card.
template <class T>
void FieldsTraining<T>::measure_without_columns(NetworkModel<T>& model) {
  const TrainSettings& s = settings();
  const std::vector<std::string> columns = columns_beside_text(examples_);
  if (columns.empty() || s.valid || !s.split || parts_[1].count() == 0 || !outcome_.field_valid) return;
  const ExampleSplit split(examples_, parse_split(*s.split), plan_.problem, plan_.choice.predicts);
  nlohmann::json found = metrics_without(columns, model, split.validation(examples_), *outcome_.field_valid, team_);
  if (found.empty()) return;
  for (const std::string& sentence : describe_metrics_without(found)) context_.reporter().remark(sentence);
  model.configuration()[kWithoutColumnKey] = std::move(found);
  context_.save(model);
}

template <class T>
TrainOutcome FieldsTraining<T>::finish(const ExampleSet* test) {
  try {
    if (settings().refit == "yes" && parts_[1].count() > 0) refit(*model_, outcome_);
  } catch (const InterruptedError&) {
    if (is_fitted() || readout_of(model_->spec())) throw;
    context_.interrupted_with_checkpoint();
  }
  if (test != nullptr) outcome_.field_test = evaluate_fields(*model_, *test, team_);
  context_.keep(*model_);
  return std::move(outcome_);
}

/// Fits the model by the method for its kind, and writes it.
template <class T>
TrainingResult FieldsTraining<T>::fit(NetworkModel<T>& model, TrainOutcome& outcome) {
  if (is_fitted()) {
    context_.begin_folder(false);
    TrainingResult result = states_ ? train_states(*states_, model, context_.model_file())
                                    : train_mixture(*mixture_, model, context_.model_file());
    result.seconds = context_.seconds();
    return result;
  }
  const auto readout = readout_of(model.spec());
  if (!readout) {
    TrainingResult result = train_by_gradients(model, parts_[0], parts_[1], options_);
    if (parts_[1].count() == 0 && !left_out_.empty())
      outcome.field_valid = left_out_figures(model, parts_[0], left_out_, team_);
    return result;
  }
  if (!predicts_once(model)) {
    TrainingResult result = fit_by_ridge(model, parts_[0]);
    context_.begin_folder(false);
    context_.save(model);
    return result;
  }
  SeriesFit fitted = fit_series(model, parts_[0], *readout, seed(), team_, context_.reporter());
  context_.begin_folder(false);
  context_.save(model);
  if (parts_[1].count() == 0) outcome.field_valid = std::move(fitted.left_out);
  return fitted.result;
}

template <class T>
TrainingResult FieldsTraining<T>::fit_by_ridge(NetworkModel<T>& model, const ExampleSet& training) {
  const auto readers = [&] { return example_reader(training, one_pass(batches_)); };
  return fit_ridge(model, readers, *readout_of(model.spec()), team_, context_.reporter());
}

template <class T>
TrainingResult FieldsTraining<T>::train_by_gradients(NetworkModel<T>& model, const ExampleSet& training,
                                                     const ExampleSet& validation, TrainOptions options) {
  const TrainSettings& s = settings();
  TrainerOptions& trainer = options.trainer;
  trainer.validate_start = starts_from_regression_;
  TrainingSources<T> sources = example_sources<T>(training, validation, batches_, trainer.seed);
  if (is_orderless(model.spec()))
    sources = orderless_sources(std::move(sources), plan_.choice.predicts.front(),
                                density_columns(model.spec(), training.data().field(kVector).size), trainer.seed);
  Circuit freely, finding;
  if (trainer.feedback.on()) sources.feedback = std::make_shared<const Network<T>>(feedback_network(model, freely));
  const Network<T> network = network_with_objective(model, s, finding, team_, sources);
  trainer.best_by_error = validation.count() > 0 && add_error_metric(model, s, team_, sources);
  return train_with_losses(network, model, std::move(sources), trainer, options.model_file, team_,
                           context_.reporter().observer(trainer.steps));
}

/// Adds baselines of the validation part; leave-one-out predictions are compared on the training part.
template <class T>
void FieldsTraining<T>::add_baselines(TrainOutcome& outcome) const {
  if (!outcome.field_valid) return;
  outcome.baselines = compared_baselines(
      *outcome.field_valid, [&](const std::string& field) { return field_statistics(parts_[0], field); },
      parts_[1].count() > 0 ? parts_[1] : parts_[0], settings().ahead.value_or(0));
  if (parts_[1].count() > 0 && predicts_events(plan_, examples_)) add_event_baselines(outcome);
  report_baselines(outcome.baselines, "validation", context_.reporter());
  if (plan_.problem == Problem::classifying)
    for (const std::string& note :
         squared_error_notes(*outcome.field_valid, parts_[0], parts_[1].count() > 0 ? parts_[1] : parts_[0]))
      context_.reporter().remark(note);
  const auto is_unbeaten = [](const ComparedBaseline& each) {
    return each.baseline.name == "persistence" && !is_better(each.result, each.baseline) &&
           !are_both_exact(each.result, each.baseline);
  };
  if (std::ranges::any_of(outcome.baselines, is_unbeaten))
    context_.reporter().remark(
        "the last value is a better prediction than the model; `unfold forecast DATA --horizon H` compares other "
        "methods, including persistence");
}

/// Adds bigrams and trigrams of events.
template <class T>
void FieldsTraining<T>::add_event_baselines(TrainOutcome& outcome) const {
  for (const HeadFigures& head : outcome.field_valid->heads)
    for (Baseline& each :
         event_baselines(parts_[0], parts_[1], head.field, std::max<Index>(1, settings().ahead.value_or(1))))
      outcome.baselines.push_back({.of = head.field, .baseline = std::move(each), .result = head.nats_each()});
}

/// Compares the result with a constant prediction and with the initial network.
template <class T>
void FieldsTraining<T>::check_result(NetworkModel<T>& model, const Parameters<T>& initial,
                                     const std::optional<FieldFigures>& validated) {
  const TrainSettings& s = settings();
  // The training objective is not the mean of the nats of the examples.
  if ((s.objective && !is_likelihood(*s.objective)) || parts_[0].has(kExampleWeights)) return;
  std::optional<ExampleSet> beginning;
  if (!validated) beginning = beginning_of(parts_[0], kMeasuredPositions);
  const ExampleSet& measured = beginning ? *beginning : parts_[1];
  const auto figures = [&](const FieldFigures& found) { return field_figures(model, found, parts_[0], measured); };
  const auto measure = [&] { return figures(evaluate_fields(model, measured, team_)); };
  check_divergence(
      validated ? figures(*validated) : measure(),
      [&] {
        std::vector<double> results;
        for (const BaselineFigure& figure : with_parameters(model, initial, measure)) results.push_back(figure.result);
        return results;
      },
      s, context_.folder().path(), context_.reporter());
}

/// Fits the model again to the training and validation part, and writes it.
template <class T>
void FieldsTraining<T>::refit(NetworkModel<T>& model, TrainOutcome& outcome) {
  const ExampleSplit split(examples_, parse_split(*settings().split), plan_.problem, plan_.choice.predicts);
  const ExampleSet all = split.training_and_validation(
      ExampleSet(examples_, parts_[0].shared_data(), plan_.choice.predicts, UnknownPolicy::skip));
  const std::string how = fit_again(model, all, outcome.result.best_step);
  // A single sequence is divided by positions.
  const bool single = all.count() == 1;
  const Index count = single ? all.positions() : all.count();
  const Index held_out = count - (single ? parts_[0].positions() : parts_[0].count());
  outcome.refitted_examples = count;
  model.history().push_back({{"refit", count}, {"held out before", held_out}});
  context_.save(model);
  context_.reporter().remark(
      fmt::format("validated on {} of {} {}, then fitted again to all of them{}; --refit no keeps the first model",
                  held_out, count, single ? "positions" : "examples", how));
}

/// Fits the model to all examples without writing it. Returns the number of steps as text for a message; empty if there
/// were none.
template <class T>
std::string FieldsTraining<T>::fit_again(NetworkModel<T>& model, const ExampleSet& all, Index best_step) {
  const ModelSpec spec = parse_model_spec(settings().model);
  const auto readout = readout_of(spec);
  if (states_) {
    train_states(fit_states(spec, all, seed(), context_.reporter().stop(), team_), model, "");
  } else if (mixture_) {
    train_mixture(fit_mixture(spec, all, seed(), context_.reporter().stop(), team_), model, "");
  } else if (readout && predicts_once(model)) {
    fit_series(model, all, *readout, seed(), team_, context_.reporter());
  } else if (readout) {
    fit_by_ridge(model, all);
  } else {
    initialize(model, all, /*begins=*/true);
    if (best_step == 0) return {};
    TrainOptions options = options_;
    TrainerOptions& o = options.trainer;
    o.steps = refit_steps(best_step, parts_[0].positions(), all.positions());
    o.epochs = o.minutes = 0;
    o.goal_error = -1;
    o.validate_every = o.patience = 0;
    o.checkpoint = o.log = {};
    o.resume = false;
    o.begins = {};
    options.model_file = {};
    train_by_gradients(model, all, all.subset({}), options);
    return fmt::format(" for {} steps", o.steps);
  }
  return {};
}

template class FieldsTraining<float>;
template class FieldsTraining<double>;

}  // namespace unfold
