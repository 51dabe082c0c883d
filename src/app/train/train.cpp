#include "app/train/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "app/common/baseline_comparison.h"
#include "app/evaluate/reading.h"
#include "app/fasta/fasta_data.h"
#include "app/fields/density_data.h"
#include "app/fields/example_split.h"
#include "app/fields/field_data.h"
#include "app/fields/field_model.h"
#include "app/fields/sequence_choice.h"
#include "app/fields/template_data.h"
#include "app/logs/log_data.h"
#include "app/schema/field_checks.h"
#include "app/schema/table_fields.h"
#include "app/settings/default_model.h"
#include "app/settings/line_lists.h"
#include "app/train/divergence.h"
#include "app/train/objectives.h"
#include "app/train/refit.h"
#include "app/train/ridge_training.h"
#include "app/train/series_training.h"
#include "app/train/step_time_estimate.h"
#include "app/train/streaming_training.h"
#include "app/train/train_in_memory.h"
#include "app/train/train_processes.h"
#include "app/train/train_restarts.h"
#include "app/train/trainer_options.h"
#include "app/train/training_data.h"
#include "app/train/training_device.h"
#include "app/train/training_requirements.h"
#include "app/train/warm_start.h"
#include "base/interruptible.h"
#include "base/threads/available_memory.h"
#include "data/readers/memory_data.h"
#include "data/schema/stored_schema.h"
#include "data/text/labels.h"
#include "model/decoding/objective.h"
#include "model/density/density_selection.h"
#include "model/density/mixture_fit.h"
#include "model/network/density_model.h"
#include "model/network/hmm_fit.h"
#include "model/network/initialization/frequency_init.h"
#include "model/network/initialization/gaussian_init.h"
#include "model/network/initialization/naive_bayes_init.h"
#include "model/network/linear.h"
#include "model/network/order_agnostic.h"
#include "model/network/train_with_objective.h"
#include "model/registry/run_folder.h"
#include "model/series/kernel_thresholds.h"
#include "model/series/pooled_readout.h"
#include "train/event_log.h"
#include "unfold/base/threads/team.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/model/network/train.h"
#include "unfold/optim/optimizer.h"
#include "unfold/train/sources/example_sources.h"

namespace unfold {
namespace {

/// Number of examples for evaluating a trained model of a task.
constexpr Index kTestExamples = 1000;
/// The distribution that is fitted if none is chosen.
constexpr const char* kSimplestDensity = "gaussian-mixture:1";
/// Rate at which rare symbols are replaced by the unknown symbol (ExampleBatchOptions).
constexpr double kUnknownRate = 0.25;

std::vector<Index> lengths_of(const ExampleSet& examples) {
  std::vector<Index> lengths;
  lengths.reserve(at(examples.count()));
  for (Index e = 0; e < examples.count(); ++e) lengths.push_back(examples.length(e));
  return lengths;
}

/// Whether a corpus of lines contains empty ones, which consist of their end.
bool has_empty_lines(const Corpus& corpus) {
  for (Index s = 0; s < corpus.sequences(); ++s)
    if (corpus.length(s) == 0 ||
        (corpus.length(s) == 1 && corpus.read(s, {0, 1}).front() == corpus.alphabet().line_end()))
      return true;
  return false;
}

/// One call of train.
class Training {
 public:
  Training(const TrainRequest& request, bool without_folder, Reporter& reporter)
      : request_(request),
        without_folder_(without_folder),
        s_(request_.settings),
        run_(request_.run),
        given_(request_.given),
        folder_(request_.out),
        reporter_(reporter) {}

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  TrainOutcome run();
  /// Without a run folder: the contents of the model file. REQUIRES run().
  std::string take_model() { return std::move(model_bytes_); }

 private:
  void check_out() const;
  bool settle_memory();
  void settle();
  void check_folder() const;
  template <class T>
  TrainOutcome run_on_task();
  void settle_fields();
  std::array<ExampleSet, 3> split_of(const Examples& examples, const FieldChoice& choice) const;
  TrainOutcome run_on_fields();
  bool list_features(const ExampleSet& training);
  template <class T>
  TrainOutcome run_on_examples(const std::array<ExampleSet, 3>& parts);
  TrainOutcome run_fitted(const Material& material, const TrainingData& data);
  template <class T>
  TrainOutcome run_recurrent(const Material& material, const TrainingData& data);
  template <class T>
  TrainOutcome run_followed();
  template <class T>
  void decide_sequences(const LanguageModel<T>& model, const Split& training);
  template <class T>
  Index best_restart(const TrainingData& data, TrainerOptions options, const RestartOptions& restarts);

  template <class T>
  std::string initialize(NetworkModel<T>& model, const ExampleSet& training, Team& team) const;
  template <class T>
  TrainingResult train_on(NetworkModel<T>& model, const ExampleSet& training, const ExampleSet& validation,
                          const ExampleBatchOptions& batches, TrainOptions options, Team& team) const;
  template <class T>
  void refit(NetworkModel<T>& model, const std::array<ExampleSet, 3>& parts, const ExampleBatchOptions& batches,
             TrainOptions options, TrainOutcome& outcome, Team& team) const;
  template <class T>
  TrainingResult fit(NetworkModel<T>& model, BatchReader& reader, const ReadoutOptions& options, Team& team) const;
  std::optional<HmmFit> settle_states(const ExampleSet& training, Team& team);
  void choose_density(const ExampleSet& training, Team& team);
  std::optional<MixtureFit> fit_mixture_model(const ExampleSet& training, Team& team);

  Config kept(Keep least) const { return configuration(s_, run_, least); }
  nlohmann::json card_configuration() const;
  nlohmann::json card_configuration(const Material& material) const;
  Examples read_further(const std::string& file, const DataSpecification& data) const;
  int threads() const { return threads_of_process(run_.threads, processes()); }
  Processes& processes() const { return request_.processes != nullptr ? *request_.processes : single_process(); }
  bool writes() const { return !without_folder_ && processes().first(); }
  std::string model_file() const { return without_folder_ ? std::string() : folder_.model(); }
  TrainOptions train_options() const;
  void begin_folder(bool resume) const;
  void add_text_baselines(const Material& material, TrainOutcome& outcome) const;
  void add_field_baselines(const ExampleSet& training, const ExampleSet& validation, TrainOutcome& outcome) const;
  void tell(const SymbolModel& model, const Material& material) const;
  template <class T>
  void compare_text(LanguageModel<T>& model, const Parameters<T>& initial, const Material& material,
                    const TrainingResult& result, Team& team) const;
  template <class T>
  void compare_fields(NetworkModel<T>& model, const Parameters<T>& initial, const std::array<ExampleSet, 3>& parts,
                      const std::optional<FieldFigures>& validated, Team& team) const;
  [[noreturn]] void interrupted_with_checkpoint() const;
  TrainOutcome outcome(const SymbolModel& model, const Material& material, const TrainingResult& result) const;

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  TrainRequest request_;
  bool without_folder_;
  mutable std::string model_bytes_ = {};
  TrainSettings& s_;
  RunSettings& run_;
  Given& given_;
  RunFolder folder_;
  Reporter& reporter_;
  Examples examples_ = {};  // for data with fields
  FieldPlan fields_ = {};
  std::optional<LogTraining> log_;  // settings for logs
  std::unique_ptr<InitialModel> known_;
  TrainingDevice device_;
  bool goes_on_ = false;             // whether the run continues with the settings of an earlier one
  Given stored_ = {};                // names of these settings
  std::string chosen_model_ = {};    // the SPEC of the best restart, with its graph; empty: as in the settings
  bool begins_ = true;               // whether the run does not start from a checkpoint
  bool selects_series_ = false;      // whether the model of labeled series is selected automatically
  bool default_budget_ = false;      // whether running text is trained without a stated budget
  bool chooses_density_ = false;     // whether the model of a table is selected by cross-validation
  std::set<std::string_view> open_;  // settings still to be derived from the data
};

/// Rejects requests that conflict with a run folder or its absence.
void Training::check_out() const {
  if (without_folder_) {
    if (request_.resume) throw UsageError("--resume requires the run folder to be continued: add --out");
    if (s_.restarts > 1) throw UsageError("--restarts requires a run folder for its candidates: add --out");
  } else if (request_.out.empty()) {
    throw UsageError(
        "train needs --out RUN, the folder for the model, its checkpoint and its log; see `unfold train --help`");
  }
  if (request_.resume && request_.overwrite) throw UsageError("--resume and --overwrite cannot be combined");
}

/// Gives data in memory the format of the files that would contain the same. Returns whether data is in memory.
bool Training::settle_memory() {
  const MemoryData* memory = s_.data.empty() ? nullptr : MemoryFiles::find(s_.data.front());
  if (memory == nullptr) {
    if (!s_.data.empty() && s_.data.front() == kDataInMemory)
      throw UsageError(fmt::format("the run in {} was trained on data in memory; pass the same data to continue it",
                                   folder_.path()));
    return false;
  }
  if (memory->format.empty()) return true;
  if (given_.contains(&TrainSettings::format) && s_.format != memory->format)
    throw UsageError(fmt::format("--format {}: the data in memory has fields as in the format {}; leave --format out",
                                 *s_.format, memory->format));
  s_.format = memory->format;
  return true;
}

/// Brings the settings into their final form, before any data is read.
void Training::settle() {
  check_out();
  if (writes()) folder_.lock();
  goes_on_ = request_.resume && folder_.has_config();
  if (goes_on_) {
    const Config stored = read_config(folder_.config());
    for (const ConfigEntry& entry : stored.entries()) stored_.insert(entry.key);
    apply_stored(stored, given_, s_, run_);
  }
  if (s_.data.empty() && !s_.task)
    throw UsageError(request_.resume ? folder_.path() + " contains no run to resume: config.toml is missing or empty"
                                     : "train needs DATA: text files, each one sequence");
  if (request_.resume && is_fitted_model(s_.model)) throw UsageError(not_by_gradients("resume", s_.model));
  if (goes_on_) given_.resumed = true;
  const bool in_memory = settle_memory();
  if (s_.format || (!goes_on_ && !in_memory)) reporter_.note_if(resolve_format(s_, given_));
  reporter_.note_if(resolve_device(s_, run_, given_));
  begins_ = !request_.resume || !folder_.has_checkpoint();
  if (s_.copy_matching_parameters && begins_ && !has_fields(s_))
    known_ = std::make_unique<InitialModel>(*s_.copy_matching_parameters, s_, given_);
  if (has_fields(s_)) settle_fields();
  default_budget_ = !goes_on_ && !s_.epochs && !s_.steps && !s_.minutes && kind_of(s_) == Kind::text;
  make_canonical(s_, run_, given_);
  if (goes_on_) return;
  if (!s_.whole_sequences && chooses_sequences(s_, given_)) open_ = {name_of(&TrainSettings::whole_sequences)};
  const bool chooses_model = uses_default_model(s_, given_) || chooses_density_;
  if (chooses_model || selects_series_) open_.insert(name_of(&TrainSettings::model));
  if (chooses_model) open_.insert(name_of(&TrainSettings::optimizer));
  if (chooses_density_) open_.insert({name_of(&TrainSettings::batch), name_of(&TrainSettings::epochs)});
  if (default_budget_)
    for (const std::string_view name : {name_of(&TrainSettings::model), name_of(&TrainSettings::optimizer),
                                        name_of(&TrainSettings::batch), name_of(&TrainSettings::epochs),
                                        name_of(&TrainSettings::validate_every), name_of(&TrainSettings::early_stop)})
      if (!given_.contains(name)) open_.insert(name);
}

void Training::check_folder() const {
  if (without_folder_ || !folder_.holds_run() || request_.overwrite) return;
  std::string difference;
  if (folder_.has_config()) {
    const Config there = read_config(folder_.config());
    Config here = kept(Keep::fixed);
    for (const std::string_view name : open_)
      if (const ConfigEntry* decided = there.find(name)) here.set(decided->key, decided->value);
    if (const ConfigEntry* other = there.find(name_of(&TrainSettings::precision));
        request_.resume && other != nullptr && may_keep_precision(there, s_, run_))
      here.set(other->key, other->value);
    difference = first_difference(comparable(there, request_.resume),
                                  comparable(without_defaults_unknown_to(there, here), request_.resume));
  }
  if (!difference.empty())
    throw UsageError(fmt::format(
        "{} contains a run with a different configuration: {}; {}choose a different --out, or use --overwrite to "
        "replace it",
        folder_.path(), difference,
        request_.resume ? "leave out that option to continue, " : "continue it unchanged with only `--resume`, "));
  if (!request_.resume)
    throw UsageError(
        fmt::format("{} already contains a run; use --resume to continue it, --overwrite to replace it, or choose a "
                    "different --out",
                    folder_.path()));
}

nlohmann::json Training::card_configuration() const {
  nlohmann::json json = to_json(kept(Keep::model));
  if (!chosen_model_.empty()) json["model"] = chosen_model_;
  if (log_) json["log"] = log_->to_json();
  if (!device_.is_cpu()) json["device"] = device_.name();
  return json;
}

nlohmann::json Training::card_configuration(const Material& material) const {
  nlohmann::json json = card_configuration();
  const Symbol after = s_.predict_after ? material.corpus.alphabet().parse(*s_.predict_after) : kNoSymbol;
  json[kStatisticsKey][kSymbol] = to_json(text_statistics(material.corpus, material.training, after));
  if (s_.lines && !has_empty_lines(material.corpus)) json[kEmptyLinesKey] = false;
  return json;
}

TrainOptions Training::train_options() const {
  TrainOptions options{.trainer = trainer_options(s_, run_), .sampled_softmax = s_.sampled_softmax};
  TrainerOptions& t = options.trainer;
  t.offload = device_.offload();
  t.processes = request_.processes;
  if (!without_folder_) t.checkpoint = folder_.checkpoint();
  t.resume = request_.resume && folder_.has_checkpoint();
  t.data = fingerprint_of_data(s_);
  t.begins = [this, resume = t.resume] { begin_folder(resume); };
  if (writes()) t.log = folder_.log();
  if (writes()) options.model_file = model_file();
  options.sampling.seed = t.seed;
  return options;
}

TrainOutcome Training::run() {
  settle();
  check_folder();
  require_same_training(processes(), s_, run_, request_.resume && folder_.has_checkpoint());
  if (request_.resume && !folder_.has_checkpoint())
    reporter_.remark(fmt::format("{} contains no checkpoint yet: training starts from the beginning", folder_.path()));
  device_ = TrainingDevice(s_, run_, request_.device,
                           reporter_);  // before anything is written, because there may be no such device
  if (s_.task) return *s_.precision == "double" ? run_on_task<double>() : run_on_task<float>();
  if (s_.follow) return *s_.precision == "double" ? run_followed<double>() : run_followed<float>();
  if (has_fields(s_)) return run_on_fields();
  if (s_.format == kLogFormat) log_.emplace(s_);
  const Material material = load_training_corpora(s_, log_ ? &*log_ : nullptr, known_.get(), reporter_, processes());
  const TrainingData data{.corpus = material.corpus,
                          .training = material.training,
                          .validation = &material.validation,
                          .validation_corpus = &material.validation_corpus(),
                          .processes = request_.processes};
  if (s_.model == "crf" || s_.model.starts_with("crf:"))
    throw UsageError("model crf labels the positions of data with fields, such as columns; use ngram for running text");
  if (is_fitted_model(s_.model)) return run_fitted(material, data);
  return *s_.precision == "double" ? run_recurrent<double>(material, data) : run_recurrent<float>(material, data);
}

/// Chooses whole sequences or windows by default. The choice is stored like a given option.
template <class T>
void Training::decide_sequences(const LanguageModel<T>& model, const Split& training) {
  if (!open_.contains(name_of(&TrainSettings::whole_sequences))) return;
  std::size_t needed = whole_sequence_bytes(*model.plan(), model.alphabet().size(), training, s_.batch, sizeof(T));
  if (run_.memory_limit) needed = std::min(needed, parse_bytes(*run_.memory_limit));
  needed *= static_cast<std::size_t>(std::min<Index>(s_.restarts, threads()));  // restarts run in parallel
  const SequenceChoice choice = choose_sequences(s_, needed, available_memory());
  s_.whole_sequences = choice.whole;
  reporter_.remark(choice.remark);
}

template <class T>
TrainOutcome Training::run_recurrent(const Material& material, const TrainingData& data) {
  const Symbol after = s_.predict_after ? material.corpus.alphabet().parse(*s_.predict_after) : kNoSymbol;
  const auto seed = static_cast<std::uint64_t>(s_.seed);
  if (default_budget_ && is_small_text(s_, material.training.symbols()))
    reporter_.remark(set_small_text_defaults(s_, given_, material.training.symbols()));
  if (!goes_on_ && uses_default_model(s_, given_))
    reporter_.note_if(choose_default_model(s_, given_, material.training.symbols()));
  ModelSpec spec = parse_model_spec(s_.model);
  if (s_.restarts > 1 && !begins_) spec = restart_of_checkpoint(folder_.checkpoint(), spec, s_.restarts);
  LanguageModel<T> model = make_candidate<T>(spec, data, after, seed, 0);
  if (known_) known_->copy_parameters_to(model);
  if (readout_of(model.spec()))
    throw UsageError("a ridge readout predicts numbers, not symbols; use esn:" + std::to_string(model.spec().units) +
                     ",readout=trained, which is trained by gradients");
  require_options_used(model.spec(), DataSpecification::text(model.alphabet()), NetworkLayout::language_model());
  check_training_support(model.network(), model.spec(), s_, run_);
  device_.require(model.network());
  decide_sequences(model, material.training);
  TrainOptions options = train_options();
  options.trainer.batches.predict_after = after;
  tell(model, material);
  if (device_.is_cpu()) reporter_.note_if(step_time_note(model, s_, material.training, threads()));
  options.trainer.spent_seconds = seconds();
  const RestartOptions restarts{.count = s_.restarts, .parallel_for_each = sum_over(threads(), processes())};
  if (s_.restarts > 1 && !options.trainer.resume) {
    std::exchange(options.trainer.begins, {})();
    const Index best = best_restart<T>(data, options.trainer, restarts);
    model = make_candidate<T>(parse_model_spec(s_.model), data, after, seed, best);
    options.trainer.resume = true;
  }
  if (s_.restarts > 1) chosen_model_ = to_string(model.spec());
  if (s_.restarts > 1) set_budget_after_restarts(options.trainer, restarts);
  model.configuration() = card_configuration(material);
  Team team(threads());
  options.trainer.stop = reporter_.stop();
  const Parameters<T> initial = model.parameters();
  try {
    const TrainingResult result = unfold::train(model, data, options, team, reporter_.observer(options.trainer.steps));
    compare_text(model, initial, material, result, team);
    return outcome(model, material, result);
  } catch (const InterruptedError&) {
    interrupted_with_checkpoint();
  }
}

/// Returns the result of `measure` while a model temporarily has different parameters.
template <class Model, class T>
auto with_parameters(Model& model, const Parameters<T>& other, const auto& measure) {
  const Parameters<T> own = model.parameters();
  std::ranges::copy(other.flat(), model.parameters().flat().begin());
  auto result = measure();
  std::ranges::copy(own.flat(), model.parameters().flat().begin());
  return result;
}

template <class T>
void Training::compare_text(LanguageModel<T>& model, const Parameters<T>& initial, const Material& material,
                            const TrainingResult& result, Team& team) const {
  const Symbol after = predict_after(model);
  const Corpus& corpus = result.validated ? material.validation_corpus() : material.corpus;
  const Split part = result.validated ? material.validation : beginning_of(material.training, kMeasuredPositions);
  const auto measure = [&] {
    constexpr Index kSideBySide = 64;
    return model.evaluate(corpus, part, team, {.segments = kSideBySide, .predict_after = after}).nats_per_symbol();
  };
  const double nats = result.validated ? result.best_nats_per_symbol : measure();
  check_divergence(
      {text_figure(nats, material.corpus, material.training, corpus, part, after)},
      [&] { return std::vector{with_parameters(model, initial, measure)}; }, s_, folder_.path(), reporter_);
}

template <class T>
TrainOutcome Training::run_followed() {
  LanguageModel<T> model = model_of_stream<T>(s_, run_);
  device_.require(model.network());
  const TrainOptions options = train_options();
  model.configuration() = card_configuration();
  TrainOutcome result{
      .run = folder_.path(), .model_file = model_file(), .settings = s_, .parameters = model.parameter_count()};
  try {
    result.result = follow_stream(model, s_, options, threads(), reporter_);
    // A stream cannot be read again, so the last step is compared with the uniform distribution.
    const double uniform = std::log(static_cast<double>(model.alphabet().size()));
    if (result.result.steps > 0)
      check_divergence(
          {{.name = "nats per byte", .result = result.result.last_loss, .constant = uniform}},
          [&] { return std::vector{uniform}; }, s_, folder_.path(), reporter_);
    if (without_folder_) model_bytes_ = model.bytes();
    return result;
  } catch (const InterruptedError&) {
    interrupted_with_checkpoint();
  }
}

/// Trains the candidates of restarts for half of the budget; the best is then resumed.
template <class T>
Index Training::best_restart(const TrainingData& data, TrainerOptions options, const RestartOptions& restarts) {
  reporter_.remark(fmt::format("{} restarts for half of the budget", s_.restarts));
  options.stop = reporter_.stop();
  const RestartWork work{
      .folder = folder_.path(), .threads = threads(), .can_resume = request_.resume, .processes = request_.processes};
  try {
    const Index best = choose_restart<T>(parse_model_spec(s_.model), data, options, restarts, work, reporter_);
    reporter_.remark(fmt::format("restart {} is continued", best + 1));
    return best;
  } catch (const InterruptedError&) {
    throw InterruptedError(fmt::format(
        "interrupted during the restarts; finished restarts are kept: continue with `unfold train --out {} --resume`",
        folder_.path()));
  }
}

TrainOutcome Training::run_fitted(const Material& material, const TrainingData& data) {
  const std::unique_ptr<FittedModel> model = make_fitted_model(s_.model, material.corpus.alphabet());
  const Symbol after = s_.predict_after ? model->alphabet().parse(*s_.predict_after) : kNoSymbol;
  tell(*model, material);
  model->configuration() = card_configuration(material);
  Team team(threads());
  std::optional<EventLog> log;
  begin_folder(false);
  if (writes()) log.emplace(folder_.log());
  const FitOptions options{.seed = static_cast<std::uint64_t>(s_.seed),
                           .stop = reporter_.stop(),
                           .memory_limit = run_.memory_limit ? parse_bytes(*run_.memory_limit) : 0,
                           .processes = request_.processes,
                           .progress = [&](const std::string& what, double fraction) {
                             reporter_.progress({.what = what, .done = fraction});
                           }};
  try {
    std::optional<NothingToSave> fitting;
    if (processes().alone()) fitting.emplace();
    return outcome(*model, material,
                   unfold::train(*model, data, options, team, model_file(), log ? &*log : nullptr, after));
  } catch (const InterruptedError&) {
    throw InterruptedError(
        fmt::format("interrupted while fitting {}; no state was saved: start again with --overwrite", s_.model));
  }
}

/// Fits the readout of a reservoir and writes the model.
template <class T>
TrainingResult Training::fit(NetworkModel<T>& model, BatchReader& reader, const ReadoutOptions& options,
                             Team& team) const {
  TrainingResult result = fit_ridge(model, reader, options, team, reporter_);
  begin_folder(false);
  if (!model_file().empty()) model.save(model_file());
  return result;
}

/// Fits a hidden Markov model of vectors, whose number of states may be selected from the data; empty for other models.
std::optional<HmmFit> Training::settle_states(const ExampleSet& training, Team& team) {
  const ModelSpec spec = parse_model_spec(s_.model);
  if (!is_hidden_markov(spec)) return std::nullopt;
  if (request_.resume || s_.shards || s_.objective)
    throw UsageError(fmt::format(
        "model {} is fitted by expectation-maximization: leave out --resume, --shards and --objective", s_.model));
  std::optional<NothingToSave> fitting;
  if (processes().alone()) fitting.emplace();
  HmmFit fitted = fit_states(spec, training, static_cast<std::uint64_t>(s_.seed), reporter_.stop(), team);
  reporter_.remark(fitted.remark());
  s_.model = fields_.layout.heads.front().loss = fitted.model;
  return fitted;
}

/// Chooses a model and its settings for a table if only the format is specified.
void Training::choose_density(const ExampleSet& training, Team& team) {
  if (!chooses_density_) return;
  const ExampleColumn& vectors = examples_.column(kVector);
  const std::vector<std::size_t> varying = varying_columns(vectors);
  if (varying.empty()) return;  // the simplest one, as it is set
  std::optional<ExampleSet> compared;
  if (varying.size() < at(vectors.width)) {
    reporter_.remark(fmt::format("{} of {} columns have one value: models are compared on the others",
                                 at(vectors.width) - varying.size(), vectors.width));
    Examples examples = examples_;
    FieldChoice choice = fields_.choice;
    keep_columns(varying, examples, choice);
    compared = split_of(examples, choice).front();
  }
  const DensitySelection found = select_density(
      compared ? *compared : training,
      {.bits = has_only_bits(vectors),
       .seed = static_cast<std::uint64_t>(s_.seed),
       .stop = reporter_.stop(),
       .progress = [&](const std::string& model) { reporter_.progress({.what = "cross-validation of " + model}); }},
      team);
  reporter_.remark(found.remark());
  s_.model = fields_.layout.heads.front().loss = found.candidates.front().model;
  if (is_fitted_mixture(s_.model)) return;
  if (!given_.contains(&TrainSettings::epochs)) s_.epochs.reset();
  set_density_defaults(examples_, given_, s_);
  s_.optimizer = canonical_optimizer(s_.optimizer);
}

/// Fits a mixture unless it is trained by gradients; empty for other models.
std::optional<MixtureFit> Training::fit_mixture_model(const ExampleSet& training, Team& team) {
  if (!is_fitted_mixture(s_.model)) return std::nullopt;
  if (request_.resume)
    throw UsageError(fmt::format("model {} is fitted by expectation-maximization: leave out --resume", s_.model));
  const ModelSpec spec = parse_model_spec(s_.model);
  std::optional<NothingToSave> fitting;
  if (processes().alone()) fitting.emplace();
  MixtureFit fitted = fit_mixture(spec, training, static_cast<std::uint64_t>(s_.seed), reporter_.stop(), team);
  reporter_.remark(fitted.remark());
  return fitted;
}

template <class T>
TrainOutcome Training::run_on_task() {
  const TrainOptions text = train_options();
  TaskTrainOptions options{.trainer = text.trainer,
                           .task = {.batch = s_.batch, .validation = s_.validate_on, .curriculum = s_.curriculum},
                           .model_file = text.model_file};
  options.trainer.goal_error = s_.goal_error.value_or(-1);
  options.trainer.best_by_error = s_.best_by == "sequences";
  // Before anything is written: refuses files that are missing, and a curriculum for examples of one length.
  const std::unique_ptr<Task> task = make_task(*s_.task, s_.data.empty() ? std::string() : s_.data.front());
  if (s_.curriculum > 0) task->shortened(task->shortest());
  Team team(threads());
  NetworkModel<T> model(s_.model, task_specification(*s_.task, *task, parse_model_spec(s_.model)), task_layout());
  require_options_used(model.spec(), model.data(), model.layout());
  check_training_support(model.network(), model.spec(), s_, run_);
  device_.require(model.network(), model.data());
  if (readout_of(model.spec())) check_one_pass_settings(s_, request_.resume);
  model.initialise(options.trainer.seed);
  model.configuration() = card_configuration();
  reporter_.remark(fmt::format("{} on {}: {} parameters; {}, {} steps each", s_.model, *s_.task,
                               model.parameters().size(), describe_shape(task->shape()), task->length()));
  options.trainer.stop = reporter_.stop();
  options.trainer.spent_seconds = seconds();
  options.trainer.validations_after =
      1 + static_cast<double>(kTestExamples) /
              static_cast<double>(std::max<Index>(1, task->at_most(TaskSplit::validation, s_.validate_on)));
  TrainOutcome result{
      .run = folder_.path(), .model_file = model_file(), .settings = s_, .parameters = model.parameters().size()};
  const Parameters<T> initial = model.parameters();
  if (has_random_kernels(model.spec()))
    throw UsageError(
        fmt::format("model {} reads files of series, not generated tasks; use another model, such as esn", s_.model));
  try {
    if (const auto readout = readout_of(model.spec())) {
      const Index all = task->examples(TaskSplit::training),
                  examples = s_.steps ? options.trainer.steps * s_.batch : all;
      const auto reader = task_reader(*task, TaskSplit::training, options.trainer.seed, examples, s_.batch);
      result.result = fit(model, *reader, *readout, team);
    } else {
      result.result = unfold::train(model, *task, options, team, reporter_.observer(options.trainer.steps));
    }
  } catch (const InterruptedError&) {
    interrupted_with_checkpoint();
  }
  const auto measure = [&](TaskSplit part, Index count) {
    return TaskMetrics{task_of(model), task_shape_of(model),
                       unfold::evaluate(model, *task, part, options.trainer.seed, count, team)};
  };
  result.task_valid = measure(TaskSplit::validation, options.task.validation);
  if (!readout_of(model.spec())) {
    const auto figure = [&](const TaskScore& score) {
      return task_figure(score, *task, options.trainer.seed, options.task.validation);
    };
    const BaselineFigure own = figure(result.task_valid->score);
    if (std::isfinite(own.constant))
      result.baselines.push_back({.of = {},
                                  .baseline = {.name = own.squared ? "mean" : "class frequencies",
                                               .measure = own.squared ? "mean_squared_error" : "nats_per_prediction",
                                               .value = own.constant},
                                  .result = own.result});
    report_baselines(result.baselines, "validation", reporter_);
    check_divergence(
        {own},
        [&] {
          return std::vector{with_parameters(model, initial, [&] {
            return figure(measure(TaskSplit::validation, options.task.validation).score).result;
          })};
        },
        s_, folder_.path(), reporter_);
  }
  result.task_test = measure(TaskSplit::test, kTestExamples);
  if (without_folder_) model_bytes_ = model.bytes();
  return result;
}

/// Reads data with fields and derives the remaining settings. A resumed run treats its stored settings as given, so
/// that repeated options lead to the same settings as before.
void Training::settle_fields() {
  if (is_fitted_model(s_.model))
    throw UsageError(
        fmt::format("data with fields ({}) require a model trained by gradients, not {}; --format text reads "
                    "the file as text",
                    *s_.format, s_.model));
  Given known = given_;
  known.insert(stored_.begin(), stored_.end());
  if (!known.contains(&TrainSettings::symbols)) s_.symbols = kAnyText;
  if (goes_on_ && given_.contains(&TrainSettings::model) && !given_.contains(&TrainSettings::read) &&
      names_template(s_.model))
    s_.read.reset();
  if (may_choose_density(s_, known)) {
    chooses_density_ = is_table_of_numbers(peek_fields(s_.data, reader_options(s_)));
    if (chooses_density_) s_.model = kSimplestDensity;  // a placeholder until the model is chosen
  }
  examples_ = read_training_fields(s_, reporter_);
  if (s_.symbols == kAnyText) s_.symbols = tokenization_of(examples_);
  settle_mixture(s_, known);
  fields_ = plan_fields(examples_, s_);
  selects_series_ = selects_series_model(fields_, examples_, known, s_);
  if (selects_series_) s_.model = kLabeledSeriesModel, known.add(&TrainSettings::model);
  const bool default_budget = !s_.epochs && !s_.steps && !s_.minutes;
  set_problem_defaults(fields_, examples_, known, s_);
  set_series_defaults(fields_, examples_, s_);
  if (is_refitted(fields_, examples_, known, s_, default_budget)) s_.refit = "yes";
  check_fields(fields_, examples_, s_);
}

/// Reads a further file with the column types that are known from the training data.
Examples Training::read_further(const std::string& file, const DataSpecification& data) const {
  ReaderOptions options = reader_options(s_);
  request_types(data, options);
  request_columns(data, options.schema);
  read_like(examples_, options);
  set_expected_columns(examples_, options);
  Examples examples = read_fields({file}, options, reporter_);
  for (const HeadSpecification& head : fields_.layout.heads) check_loss_domain(examples, head.field, head.loss);
  return examples;
}

/// The training, validation and test part of examples.
std::array<ExampleSet, 3> Training::split_of(const Examples& examples, const FieldChoice& choice) const {
  const ExampleSplit split(examples, s_.valid ? SplitShares{{100'000'000, 0, 0}} : parse_split(*s_.split),
                           fields_.problem, choice.predicts);
  const auto data = std::make_shared<const DataSpecification>(specify(split.training(examples), choice, *s_.format));
  const ExampleSet all(examples, data, choice.predicts, UnknownPolicy::skip);
  return split.parts(all, s_.window);
}

TrainOutcome Training::run_on_fields() {
  std::array<ExampleSet, 3> parts = split_of(examples_, fields_.choice);
  const std::shared_ptr<const DataSpecification>& data = parts[0].shared_data();
  if (s_.valid)
    parts[1] = {read_further(*s_.valid, *data), data, fields_.choice.predicts, parse_unknown_policy(s_.unknown)};
  report_unseen_values(parts[1], fields_.choice.predicts, "validation", reporter_);
  if (*s_.precision == "double") return run_on_examples<double>(parts);
  return run_on_examples<float>(parts);
}

/// For a model without layers, lists the pairs of inputs and labels that occur in training, which get weights. Returns
/// whether the model is of this kind.
bool Training::list_features(const ExampleSet& training) {
  const ModelSpec spec = parse_model_spec(s_.model);
  if (!is_linear(spec)) return false;
  const std::vector<std::string> reads = listed_reads(training.data(), fields_.layout.reads);
  for (HeadSpecification& head : fields_.layout.heads)
    if (!reads.empty() && training.data().field(head.field).type == FieldSpecification::Type::symbols)
      head.listing = list_pairs(training, reads, head.field, spec.options.as<LinearOptions>(), head.loss);
  return true;
}

/// Sets the initial parameters. Returns a remark, or an empty string.
template <class T>
std::string Training::initialize(NetworkModel<T>& model, const ExampleSet& training, Team& team) const {
  const auto seed = static_cast<std::uint64_t>(s_.seed);
  model.initialise(seed);
  initialize_from_counts(model, training, seed);
  initialize_from_means(model, training);
  if (begins_) initialize_from_gaussians(model, training, team);
  return s_.copy_matching_parameters && begins_ ? copy_matching_parameters(*s_.copy_matching_parameters, model) : "";
}

/// Trains by gradients.
template <class T>
TrainingResult Training::train_on(NetworkModel<T>& model, const ExampleSet& training, const ExampleSet& validation,
                                  const ExampleBatchOptions& batches, TrainOptions options, Team& team) const {
  TrainingSources<T> sources = example_sources<T>(training, validation, batches, options.trainer.seed);
  if (is_orderless(model.spec()))
    sources =
        orderless_sources(std::move(sources), fields_.choice.predicts.front(),
                          density_columns(model.spec(), training.data().field(kVector).size), options.trainer.seed);
  Circuit freely, finding;
  if (s_.feedback) sources.feedback = std::make_shared<const Network<T>>(feedback_network(model, freely));
  const Network<T> network = network_with_objective(model, s_, finding, team, sources);
  options.trainer.best_by_error = validation.count() > 0 && add_error_metric(model, s_, team, sources);
  return train_with_losses(network, model, std::move(sources), options.trainer, options.model_file, team,
                           reporter_.observer(options.trainer.steps));
}

/// Fits the model again to the training and validation part, and writes it.
template <class T>
void Training::refit(NetworkModel<T>& model, const std::array<ExampleSet, 3>& parts, const ExampleBatchOptions& batches,
                     TrainOptions options, TrainOutcome& outcome, Team& team) const {
  const ExampleSplit split(examples_, parse_split(*s_.split), fields_.problem, fields_.choice.predicts);
  const ExampleSet all = split.training_and_validation(
      ExampleSet(examples_, parts[0].shared_data(), fields_.choice.predicts, UnknownPolicy::skip));
  const auto seed = static_cast<std::uint64_t>(s_.seed);
  const ModelSpec spec = parse_model_spec(s_.model);
  std::string how;
  if (is_hidden_markov(spec)) {
    train_states(fit_states(spec, all, seed, reporter_.stop(), team), model, "");
  } else if (is_fitted_mixture(s_.model)) {
    train_mixture(fit_mixture(spec, all, seed, reporter_.stop(), team), model, "");
  } else if (const auto readout = readout_of(spec); readout && predicts_once(model)) {
    fit_series(model, all, *readout, seed, team, reporter_);
  } else if (readout) {
    ExampleBatchOptions once = batches;
    once.unknown_rate = once.word_dropout = 0;
    once.shift = 0;
    fit_ridge(model, *example_reader(all, once), *readout, team, reporter_);
  } else {
    initialize(model, all, team);
    TrainerOptions& o = options.trainer;
    o.steps = refit_steps(outcome.result.best_step, parts[0].positions(), all.positions());
    o.epochs = o.minutes = 0;
    o.goal_error = -1;
    o.validate_every = o.patience = 0;
    o.checkpoint = o.log = {};
    o.resume = false;
    o.begins = {};
    options.model_file = {};
    how = fmt::format(" for {} steps", o.steps);
    train_on(model, all, all.subset({}), batches, options, team);
  }
  // A single sequence is divided by positions.
  const bool single = all.count() == 1;
  const Index count = single ? all.positions() : all.count();
  const Index held_out = count - (single ? parts[0].positions() : parts[0].count());
  outcome.refitted_examples = count;
  model.history().push_back({{"refit", count}, {"held out before", held_out}});
  if (writes()) model.save(model_file());
  reporter_.remark(
      fmt::format("validated on {} of {} {}, then fitted again to all of them{}; --refit no keeps the first model",
                  held_out, count, single ? "positions" : "examples", how));
}

template <class T>
TrainOutcome Training::run_on_examples(const std::array<ExampleSet, 3>& parts) {
  Team team(threads());
  choose_density(parts[0], team);
  TrainOptions options = train_options();
  options.trainer.model = fmt::format("{} of {}: {} from {}", s_.model, *s_.format, *s_.predict, *s_.read);
  options.trainer.stop = reporter_.stop();
  const auto seed = static_cast<std::uint64_t>(s_.seed);
  if (selects_series_) s_.model = select_series_model<T>(parts[0], fields_.layout, s_, team, reporter_);
  s_.model = with_training_length(s_.model, parts[0]);
  const bool linear = list_features(parts[0]);
  const ExampleBatchOptions batches{.reads = fields_.layout.reads,
                                    .predicts = fields_.choice.predicts,
                                    .batch = s_.batch,
                                    .window = s_.whole_sequences ? 0 : s_.window,
                                    .patches = patches_of(parse_model_spec(s_.model)),
                                    .unknown_rate = needs_full_batch(s_.optimizer) || linear ? 0 : kUnknownRate,
                                    .word_dropout = s_.word_dropout,
                                    .shift = s_.shift,
                                    .in_order = needs_full_batch(s_.optimizer)};
  const std::optional<HmmFit> states = settle_states(parts[0], team);
  const std::optional<MixtureFit> mixture = fit_mixture_model(parts[0], team);
  NetworkModel<T> model(s_.model, parts[0].data(), fields_.layout);
  require_options_used(model.spec(), model.data(), model.layout());
  check_training_support(model.network(), model.spec(), s_, run_);
  device_.require(model.network(), model.data());
  const bool by_gradients = !states && !mixture && !readout_of(model.spec());
  // Other models do not run steps of one batch.
  const bool in_steps = !states && !mixture && !has_random_kernels(model.spec());
  if (device_.is_cpu() && in_steps)
    require_training_memory(*model.plan(), parts[0], s_, batches.window, sizeof(T), run_);
  if (!by_gradients) {
    if (given_.contains(&TrainSettings::best_by))  // for pairs there is always validation data
      throw UsageError(fmt::format("--best-by needs validation, but {} has none", s_.model));
    check_one_pass_settings(s_, request_.resume);
  }
  for (const ExampleSet& part : parts) check_child_count(model.spec(), part);
  if (const std::string remark = initialize(model, parts[0], team); !remark.empty()) reporter_.remark(remark);
  model.configuration() = card_configuration();
  for (const std::string& field : predicted_fields(model.layout()))
    model.configuration()[kStatisticsKey][field] = to_json(field_statistics(parts[0], field));
  if (examples_.schema != nullptr && !is_density(model.spec()))
    if (nlohmann::json schema = stored_schema(*examples_.schema); !schema.is_null())
      model.configuration()[kSchemaKey] = std::move(schema);
  if (s_.ends && std::ranges::find(LengthModel::kinds(), *s_.ends) != LengthModel::kinds().end())
    model.configuration()[kLengthKey] = LengthModel::fit(*s_.ends, lengths_of(parts[0])).to_json();
  if (is_density(model.spec())) {
    model.configuration()[kColumnsKey] = examples_.column(kVector).parts;
    if (const ColumnClasses classes = classes_of(examples_.column(kVector)); !classes.empty())
      model.configuration()[kClassesKey] = classes;
  }
  reporter_.remark(
      fmt::format("{} reads {} and predicts {}: {} parameters; {} training examples with {} positions, {} validation "
                  "examples with {}",
                  s_.model, *s_.read, *s_.predict, model.parameters().size(), parts[0].count(), parts[0].positions(),
                  parts[1].count(), parts[1].positions()));
  options.trainer.spent_seconds = seconds();
  if (parts[1].count() > 0)
    options.trainer.validations_after =
        1 + static_cast<double>(parts[2].positions()) / static_cast<double>(parts[1].positions());
  TrainOutcome result{.run = folder_.path(),
                      .model_file = model_file(),
                      .settings = s_,
                      .parameters = model.parameters().size(),
                      .has_test = parts[2].count() > 0};
  const Parameters<T> initial = model.parameters();
  try {
    if (states) {
      begin_folder(false);
      result.result = train_states(*states, model, model_file());
      result.result.seconds = seconds();
    } else if (mixture) {
      begin_folder(false);
      result.result = train_mixture(*mixture, model, model_file());
      result.result.seconds = seconds();
    } else if (const auto readout = readout_of(model.spec()); readout && predicts_once(model)) {
      SeriesFit fitted = fit_series(model, parts[0], *readout, seed, team, reporter_);
      begin_folder(false);
      if (writes()) model.save(folder_.model());
      result.result = fitted.result;
      if (parts[1].count() == 0) result.field_valid = std::move(fitted.left_out);
    } else if (readout) {
      ExampleBatchOptions once = batches;
      once.unknown_rate = once.word_dropout = 0;
      once.shift = 0;
      result.result = fit(model, *example_reader(parts[0], once), *readout, team);
    } else {
      result.result = train_on(model, parts[0], parts[1], batches, options, team);
    }
  } catch (const InterruptedError&) {
    interrupted_with_checkpoint();
  }
  if (parts[1].count() > 0) result.field_valid = evaluate_fields(model, parts[1], team);
  // What is predicted from all other examples is compared on the training part.
  add_field_baselines(parts[0], parts[1].count() > 0 ? parts[1] : parts[0], result);
  if (by_gradients) compare_fields(model, initial, parts, result.field_valid, team);
  if (s_.refit == "yes" && parts[1].count() > 0) refit(model, parts, batches, options, result, team);
  if (s_.test) {
    const ExampleSet test(read_further(*s_.test, parts[0].data()), parts[0].shared_data(), fields_.choice.predicts,
                          UnknownPolicy::skip);
    result.field_test = evaluate_fields(model, test, team);
  }
  if (parts[2].count() > 0 && !s_.test) result.field_test = evaluate_fields(model, parts[2], team);
  if (without_folder_) model_bytes_ = model.bytes();
  return result;
}

void Training::add_text_baselines(const Material& material, TrainOutcome& outcome) const {
  if (!outcome.valid) return;
  Team team(threads());
  const Corpus& measured = material.validation_corpus();
  const Symbol after = s_.predict_after ? material.corpus.alphabet().parse(*s_.predict_after) : kNoSymbol;
  std::vector<Baseline> baselines =
      text_baselines(text_statistics(material.corpus, material.training, after), measured, material.validation, after);
  if (auto ngram = ngram_baseline(material.corpus, material.training, measured, material.validation, after, team))
    baselines.push_back(std::move(*ngram));
  for (Baseline& each : baselines)
    outcome.baselines.push_back({.of = {}, .baseline = std::move(each), .result = outcome.valid->nats_per_symbol});
  report_baselines(outcome.baselines, "validation", reporter_);
}

void Training::add_field_baselines(const ExampleSet& training, const ExampleSet& validation,
                                   TrainOutcome& outcome) const {
  if (!outcome.field_valid) return;
  outcome.baselines = compared_baselines(
      *outcome.field_valid, [&](const std::string& field) { return field_statistics(training, field); }, validation,
      s_.ahead.value_or(0));
  report_baselines(outcome.baselines, "validation", reporter_);
}

template <class T>
void Training::compare_fields(NetworkModel<T>& model, const Parameters<T>& initial,
                              const std::array<ExampleSet, 3>& parts, const std::optional<FieldFigures>& validated,
                              Team& team) const {
  if (s_.objective && !is_likelihood(*s_.objective)) return;  // the training objective is not the nats
  std::optional<ExampleSet> beginning;
  if (!validated) beginning = beginning_of(parts[0], kMeasuredPositions);
  const ExampleSet& measured = beginning ? *beginning : parts[1];
  const auto figures = [&](const FieldFigures& found) { return field_figures(model, found, parts[0], measured); };
  const auto measure = [&] { return figures(evaluate_fields(model, measured, team)); };
  check_divergence(
      validated ? figures(*validated) : measure(),
      [&] {
        std::vector<double> results;
        for (const BaselineFigure& figure : with_parameters(model, initial, measure)) results.push_back(figure.result);
        return results;
      },
      s_, folder_.path(), reporter_);
}

/// Called when all checks have passed: removes the files of an earlier run.
void Training::begin_folder(bool resume) const {
  if (!writes()) return;
  folder_.create();
  if (!resume) check_folder();  // another process may have been faster
  if (!resume) folder_.clear();
  folder_.write_config(kept(Keep::run));
}

/// Prints what is about to be done.
void Training::tell(const SymbolModel& model, const Material& material) const {
  reporter_.remark(fmt::format("{}: {}{} symbols in the alphabet, {} for training{}", s_.model,
                               is_fitted_model(s_.model) ? "" : fmt::format("{} parameters, ", model.parameter_count()),
                               model.alphabet().size(), material.training.symbols(),
                               material.validation.empty()
                                   ? ", none for validation: the last model is kept"
                                   : fmt::format(", {} for validation", material.validation.symbols())));
}

void Training::interrupted_with_checkpoint() const {
  if (without_folder_) throw InterruptedError("interrupted; nothing was saved, because there is no run folder");
  throw InterruptedError(
      fmt::format("interrupted; the checkpoint is {}: continue with `unfold train --out {} --resume`",
                  folder_.checkpoint(), folder_.path()));
}

TrainOutcome Training::outcome(const SymbolModel& model, const Material& material, const TrainingResult& result) const {
  TrainOutcome outcome{.run = folder_.path(),
                       .model_file = model_file(),
                       .settings = s_,
                       .parameters = model.parameter_count(),
                       .result = result,
                       .has_test = material.has_test};
  if (!chosen_model_.empty()) outcome.settings.model = chosen_model_;
  if (without_folder_) model_bytes_ = model.bytes();
  if (!result.validated) return outcome;
  outcome.valid = Figures{.nats_per_symbol = result.best_nats_per_symbol, .symbols = result.validation_symbols};
  add_text_baselines(material, outcome);
  if (result.validation_share == 1)
    outcome.valid->bytes = material.validation.bytes(material.validation_corpus());
  else
    reporter_.remark(fmt::format(
        "validation read only about {:.1f} % of its part to stay within the budget; `unfold eval` evaluates all of it",
        100 * result.validation_share));
  return outcome;
}

}  // namespace

namespace {

/// Returns a note if the validation history suggests a different budget; otherwise empty.
std::string budget_note(const TrainingResult& result) {
  constexpr Index kFewest = 20;
  if (!result.validated || result.steps < kFewest || result.reason == "fitted") return {};
  if (result.best_step == result.steps && result.reason != "goal" && result.reason != "converged")
    return "validation was still improving at the end: train longer (--epochs, --steps or --minutes) for a better "
           "model";
  if (2 * result.best_step < result.steps)
    return fmt::format("validation became worse after step {} of {}; the model of that step is kept", result.best_step,
                       result.steps);
  return {};
}

}  // namespace

TrainOutcome train(const TrainRequest& request, Reporter& reporter) {
  TrainOutcome outcome = Training(request, false, reporter).run();
  reporter.note_if(budget_note(outcome.result));
  return outcome;
}

TrainedModel train_in_memory(const TrainRequest& request, Reporter& reporter) {
  Training training(request, true, reporter);
  TrainedModel trained{.outcome = training.run(), .model = {}};
  reporter.note_if(budget_note(trained.outcome.result));
  trained.model = training.take_model();
  return trained;
}

TrainOutcome train(const TrainRequest& request) {
  Reporter silent;
  return train(request, silent);
}

}  // namespace unfold
